/**
 * The ideal gradient beside every teacher's, token by token of the support. Alignment compares directions, so every row is drawn at
 * length 1 on one scale, and its own length is said beside it.
 */

import { formatNumber, formatShort } from "../../core/format";
import { markClass } from "../../core/node_mark";
import { isolated } from "../../core/plain_text";
import { unit } from "../../core/simplex";
import { KEPT, type Maker, maker } from "../dom";
import { makeCell } from "../text/cell";
import type { AlignmentActions, AlignmentState } from "./state";

/** Percent of a cell that the longest bar takes. */
const REACH = 46;
/** Columns drawn; a wider node says how many there are. */
const MOST = 12;

/**
 * A cell with a bar to the left or right of its middle. The bar is the cell's ground, and the number its name: with nodes of their own a
 * table of a hundred cells would take most of the time of a switch.
 */
function cellOf(h: Maker, name: string, value: number, drawn: number): HTMLElement {
  const number = formatNumber(value, { signed: true, digits: 4, missing: "undefined" });
  const cell = h("td", { class: "opd-g", title: `${name}: ${number}`, "aria-label": number });
  const reach = Number.isNaN(drawn) ? 0 : Math.round(Math.max(-1, Math.min(1, drawn)) * 100 * REACH) / 100;
  const width = Math.abs(reach);
  // A ground's place in percent is of the room that it leaves.
  const at = (100 * Math.min(50, 50 + reach)) / (100 - width);
  cell.style.setProperty("--opd-bar-at", `${Math.round(100 * at) / 100}%`);
  cell.style.setProperty("--opd-bar-size", `${width}%`);
  return cell;
}

interface Line {
  name: string;
  values: number[];
  /** Of the gradient; NaN where the table has none. */
  length: number;
  teacher: number;
}

function lines(state: AlignmentState, row: number, support: readonly number[]): Line[] {
  const { data, places, teacher } = state;
  const ideal: Line = {
    name: "ideal",
    values: support.map((c) => data.under("ideal_gradient", c, teacher)),
    length: data.node("ideal_norm", row, teacher),
    teacher: -1,
  };
  const theirs = places.teachers.map(
    ({ name }, t): Line => ({
      name,
      values: support.map((c) => data.under("distillation_gradient", c, t)),
      length: data.node("distillation_norm", row, t),
      teacher: t,
    }),
  );
  return [ideal, ...theirs];
}

/** Null where fewer than two tokens make up the support: there is no gradient then. */
export function gradientTable(
  root: HTMLElement,
  state: AlignmentState,
  row: number,
  actions: AlignmentActions,
): HTMLElement | null {
  const h = maker(root);
  const { data, places, teacher } = state;
  const every = data.candidatesOf(row).filter((c) => data.inSupport(c, teacher));
  if (every.length < 2) return null;
  const support = every.slice(0, MOST);

  const body = lines(state, row, every).map(({ name, values, length, teacher: t }) => {
    // A row has its length over the whole support, also where not all of it is drawn.
    const drawn = unit(values);
    const cells = support.map((candidate, i) => {
      const [text] = places.shown(data.tokenId(candidate));
      return cellOf(h, `${isolated(name)} at ${isolated(text)}`, values[i], drawn[i]);
    });
    const score = t < 0 ? null : data.score(row, t);
    const cosine = score?.verdict === "" ? formatShort(score.alignment, { signed: true }) : "–";
    const chip = score ? h("span", { class: `opd-chip ${score.verdict === "" ? markClass(score) : ""}` }, cosine) : "";
    const look = { type: "button", class: "opd-link opd-a-choose opd-clamp", title: name, [KEPT]: `teacher ${t}` };
    const choose = t < 0 ? name : h("button", look, name);
    if (typeof choose !== "string") choose.addEventListener("click", () => actions.select({ teacher: name }));
    return h(
      "tr",
      { "aria-current": t === teacher ? "true" : null, "data-row": t < 0 ? "ideal" : name },
      h("th", { scope: "row" }, choose),
      ...cells,
      h("td", { class: "opd-figure" }, chip),
      h("td", { class: "opd-figure opd-quiet" }, formatNumber(length, { missing: "–", digits: 3 })),
    );
  });

  const tokens = support.map((c) => h("th", { scope: "col" }, makeCell(h, ...places.shown(data.tokenId(c)))));
  const head = h(
    "tr",
    {},
    h("td", {}),
    ...tokens,
    h("th", { scope: "col", class: "opd-figure", title: "alignment: posterior median of the cosine" }, "cos"),
    h("th", { scope: "col", class: "opd-figure", title: "Euclidean length of the gradient on the support" }, "length"),
  );
  const table = h(
    "table",
    { class: "opd-values opd-a-gradients" },
    h("caption", { class: "opd-heading" }, "Gradients on the support"),
    h("thead", {}, head),
    h("tbody", {}, ...body),
  );
  const cut = every.length > MOST ? ` The ${MOST} likeliest of ${every.length} tokens are drawn.` : "";
  const note = h(
    "p",
    { class: "opd-quiet opd-a-note" },
    `Right of the line: the token is made likelier. Every row is drawn at length 1, for alignment compares directions.${cut}`,
  );
  return h("div", { class: "opd-a-scroll" }, table, note);
}
