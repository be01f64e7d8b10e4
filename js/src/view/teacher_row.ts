/** One teacher's row: the same cells as the strip, small, and what they come to. */
import { formatShort, plural } from "../core/format";
import { cellClass, fillText } from "./cell";
import { maker, setText } from "./dom";
import { series } from "./series";
import type { ViewState } from "./state";

/** Cells drawn at once; a longer rollout shows the part round the selection. */
const SPAN = 400;

export interface TeacherRow {
  teacher: string;
  node: HTMLElement;
  cells: HTMLSpanElement[];
  mean: HTMLElement;
  sum: HTMLElement;
  marked: HTMLElement | null;
}

/** First and one-past-last cell to draw; stays where it is while the selection is inside. */
export function windowFor(count: number, cell: number, before: [number, number] | null): [number, number] {
  if (before && (cell < 0 || (cell >= before[0] && cell < before[1]))) return before;
  const from = Math.max(0, Math.min(count - SPAN, Math.max(0, cell) - SPAN / 2));
  return [from, Math.min(count, from + SPAN)];
}

export function makeRow(
  root: HTMLElement,
  state: ViewState,
  teacher: string,
  [from, to]: [number, number],
): TeacherRow {
  const h = maker(root);
  const { cells } = state.record;
  const nodes: HTMLSpanElement[] = [];
  for (let i = from; i < to; i++) {
    const node = h("span", { class: "opd-cell", "data-cell": i });
    fillText(h, node, cells.texts[i]);
    nodes.push(node);
  }
  const mean = h("span", { class: "opd-trow-figure opd-trow-mean" });
  const sum = h("span", { class: "opd-trow-figure opd-trow-sum" });
  const text = h(
    "span",
    { class: "opd-trow-tokens", dir: "ltr", "aria-hidden": "true" },
    from > 0 && "… ",
    ...nodes,
    to < cells.starts.length && " …",
  );
  const node = h(
    "div",
    {
      class: "opd-trow",
      role: "radio",
      "data-teacher-row": teacher,
      title: state.data.teachers.find((t) => t.name === teacher)?.description,
    },
    h("span", { class: "opd-trow-name" }, teacher),
    text,
    h("span", { class: "opd-trow-figures" }, mean, sum),
  );
  return { teacher, node, cells: nodes, mean, sum, marked: null };
}

export function colourRow(row: TeacherRow, state: ViewState, from: number): void {
  const { masked, colour } = series(state, row.teacher);
  row.cells.forEach((node, i) => {
    const at = from + i;
    const base = cellClass(state.record.cells.kinds[at]) + (masked(at) ? " opd-masked" : "");
    const name = `${base} ${colour(at)}`;
    if (node.className !== name) node.className = name;
  });
  row.node.toggleAttribute("data-none", state.data.values(state.rollout, state.signal, row.teacher) === null);
  const figures = state.data.stats(state.rollout, state.signal, row.teacher);
  const signed = state.scale.scale === "diverging";
  const infinite = figures.below + figures.above;
  setText(row.mean, Number.isNaN(figures.mean) ? "–" : formatShort(figures.mean, { signed }));
  // A sum of ranks or of shares means nothing.
  const adds = state.scale.aggregate === "sum";
  setText(
    row.sum,
    !adds || Number.isNaN(figures.sum) ? "–" : formatShort(figures.sum, { signed, digits: 1 }) + (infinite ? "*" : ""),
  );
  const aside = infinite ? `; beside ${figures.below} of −∞ and ${figures.above} of +∞` : "";
  row.node.setAttribute(
    "aria-label",
    `${row.teacher}: mean ${row.mean.textContent}, sum ${row.sum.textContent}${aside}`,
  );
  const grouped = state.data.groups(state.rollout, state.signal, row.teacher) !== null;
  row.sum.title = `sum over ${plural(figures.finite, grouped ? "group" : "token")}${aside}`;
}
