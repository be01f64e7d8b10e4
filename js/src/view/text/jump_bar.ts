/** Under the strip: where the selection stands among the largest values, and the way to the next. */

import { jump, rank } from "../../core/extremes";
import { isolated } from "../../core/plain_text";
import { isDisabled, maker, setDisabled, setText } from "../dom";
import { selectedCell, series, sizes } from "../series";
import type { Actions, View, ViewState } from "../state";
import { hasVerdicts, nextVerdict, verdictTo } from "./verdicts";

export function jumpTo(state: ViewState, direction: 1 | -1, actions: Actions): void {
  const cell = jump(sizes(state), series(state).leader(selectedCell(state)), direction);
  if (cell >= 0) actions.select({ token: state.record.cells.starts[cell] });
}

const ordinal = (n: number): string => {
  const tail = n % 100 > 10 && n % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return n === 1 ? "largest" : `${n}${tail} largest`;
};

/** Why the selected token has no place among the others. */
function unranked(state: ViewState, cell: number): string {
  const { value, masked, incomparable } = series(state);
  if (incomparable(cell)) return `not comparable with ${isolated(state.teacher)}: not ranked`;
  if (masked(cell)) return "not the student’s own token: not ranked";
  const { data, rollout, signal, teacher, token } = state;
  return `${Number.isNaN(value(cell)) ? data.lack(rollout, signal, teacher, token) : "inside the noise band"}: not ranked`;
}

export interface JumpBar extends View {
  /** The line of controls; other ways through the text stand in it too. */
  readonly node: HTMLElement;
}

export function jumpBar(root: HTMLElement, actions: Actions): JumpBar {
  const h = maker(root);
  const life = new AbortController();
  let last: ViewState | null = null;
  const button = (key: string, label: string, title?: string): HTMLButtonElement =>
    h(
      "button",
      { type: "button", class: "opd-button", "aria-keyshortcuts": key, title },
      label,
      h("kbd", { class: "opd-key" }, key),
    );
  const back = button("p", "larger");
  const next = button("n", "next largest");
  const text = h("span", { class: "opd-quiet opd-jump-text" });
  const verdict = button("v", "next verdict", "the next token that a diagnosis has judged; Shift+V: the previous");
  const bar = h("div", { class: "opd-jump" }, next, back, verdict);
  const line = h("div", { class: "opd-jump-line" }, bar, text);
  root.append(line);
  const pressed = (node: HTMLElement, act: typeof jumpTo, way: 1 | -1): void =>
    node.addEventListener("click", () => last && !isDisabled(node) && act(last, way, actions), { signal: life.signal });
  pressed(back, jumpTo, -1);
  pressed(next, jumpTo, 1);
  pressed(verdict, verdictTo, 1);

  return {
    node: bar,
    update(state) {
      last = state;
      const cell = series(state).leader(selectedCell(state));
      const place = rank(sizes(state), cell);
      setDisabled(next, place.count === 0 || place.rank === place.count - 1);
      setDisabled(back, place.rank <= 0);
      verdict.hidden = !hasVerdicts(state);
      setDisabled(verdict, nextVerdict(state, 1) < 0);
      const lacks = state.data.values(state.rollout, state.signal, state.teacher) === null;
      if (lacks) setText(text, `${isolated(state.teacher)} has no ${state.scale.label}`);
      else if (place.count === 0) setText(text, `no ${state.scale.label} above the noise here`);
      else if (cell < 0) setText(text, "no token selected: click one, or use the arrow keys");
      else if (place.rank < 0) setText(text, unranked(state, cell));
      else setText(text, `${ordinal(place.rank + 1)} |${state.scale.label}| of ${place.count}`);
    },
    destroy() {
      life.abort();
      line.remove();
    },
  };
}
