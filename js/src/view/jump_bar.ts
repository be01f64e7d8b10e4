/** Under the strip: where the selection stands among the largest values, and the way to the next. */
import { jump } from "../core/extremes";
import { maker, setText } from "./dom";
import { jumpOrder, selectedCell, series } from "./series";
import { type Actions, changed, type View, type ViewState } from "./state";

export function jumpTo(state: ViewState, direction: 1 | -1, actions: Actions): void {
  const cell = jump(jumpOrder(state), series(state).leader(selectedCell(state)), direction);
  if (cell >= 0) actions.select({ token: state.record.cells.starts[cell] });
}

const ordinal = (n: number): string => {
  const tail = n % 100 > 10 && n % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return n === 1 ? "largest" : `${n}${tail} largest`;
};

/** Why the selected token has no place among the others. */
function unranked(state: ViewState, cell: number): string {
  const { values, masked, incomparable } = series(state);
  if (incomparable(cell)) return `not comparable with ${state.teacher}: not ranked`;
  if (masked(cell)) return "not the student’s own token: not ranked";
  return Number.isNaN(values[cell]) ? "this token was not scored" : "inside the noise band: not ranked";
}

export function jumpBar(root: HTMLElement, actions: Actions): View {
  const h = maker(root);
  const life = new AbortController();
  let last: ViewState | null = null;
  let order: number[] = [];
  const button = (key: string, label: string): HTMLButtonElement =>
    h(
      "button",
      { type: "button", class: "opd-button", "aria-keyshortcuts": key },
      label,
      h("kbd", { class: "opd-key" }, key),
    );
  const back = button("p", "larger");
  const next = button("n", "next largest");
  const text = h("span", { class: "opd-quiet opd-jump-text" });
  const bar = h("div", { class: "opd-jump" }, next, back, text);
  root.append(bar);
  back.addEventListener("click", () => last && jumpTo(last, -1, actions), { signal: life.signal });
  next.addEventListener("click", () => last && jumpTo(last, 1, actions), { signal: life.signal });

  return {
    update(state) {
      if (changed(last, state, "data", "record", "teacher", "signal")) order = jumpOrder(state);
      last = state;
      const cell = series(state).leader(selectedCell(state));
      const rank = order.indexOf(cell);
      next.disabled = order.length === 0 || rank === order.length - 1;
      back.disabled = rank <= 0;
      const lacks = state.data.values(state.rollout, state.signal, state.teacher) === null;
      if (lacks) setText(text, `${state.teacher} has no ${state.scale.label}`);
      else if (order.length === 0) setText(text, `no ${state.scale.label} above the noise here`);
      else if (cell < 0) setText(text, "no token selected: click one, or use the arrow keys");
      else if (rank < 0) setText(text, unranked(state, cell));
      else setText(text, `${ordinal(rank + 1)} |${state.scale.label}| of ${order.length}`);
    },
    destroy() {
      life.abort();
      bar.remove();
    },
  };
}
