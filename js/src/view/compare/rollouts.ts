/** Rollouts of one question side by side, correct beside incorrect, with the beginning they share. */
import { type Prefix, prefixes, type Response } from "../../core/compare/prefix";
import { KEPT, keepFocus, type Maker, maker, setText } from "../dom";
import { outcomeMark } from "../outcome";
import { changed } from "../state";
import { type Column, compareColumn } from "./column";
import { firstShown, ofQuestion } from "./columns";
import type { CompareActions, CompareState, CompareView } from "./state";

/** Buttons for so many rollouts of a question; the others are reached by the keys j and k. */
const MOST = 64;

function chip(h: Maker, { data }: CompareState, rollout: number, pressed: boolean): HTMLButtonElement {
  const { outcome } = data.rollout(rollout);
  const name = `Show rollout ${rollout + 1}, ${outcome}`;
  const attributes = { type: "button", class: "opd-button opd-compare-toggle", [KEPT]: rollout, title: name };
  const said = { "aria-label": name, "aria-pressed": String(pressed) };
  return h("button", { ...attributes, ...said }, outcomeMark(h, outcome), ` ${rollout + 1}`);
}

function response({ data }: CompareState, rollout: number): Response {
  const { cells, length } = data.rollout(rollout);
  return { starts: cells.starts, texts: cells.texts, length, id: (token) => data.tokenId(rollout, token) };
}

/** What is shown of the key to the marks. */
function keyLine(h: Maker): HTMLElement {
  return h(
    "p",
    { class: "opd-quiet opd-compare-key", "aria-hidden": "true" },
    h("span", { class: "opd-compare-all" }, "shared by all"),
    h("span", { class: "opd-compare-some" }, "shared by some"),
    h("span", { class: "opd-compare-leaves" }, "leaves the others"),
  );
}

export function compareRollouts(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const pick = h("div", { class: "opd-compare-pick", role: "group", "aria-label": "Rollouts of this question" });
  const more = h("span", { class: "opd-quiet" });
  const grid = h("div", { class: "opd-compare-columns" });
  const key = keyLine(h);
  root.append(pick, more, key, grid);
  pick.addEventListener("click", (event) => {
    const beside = (event.target as Element).closest(`[${KEPT}]`)?.getAttribute(KEPT);
    if (beside) toggle(Number(beside));
  });
  let last: CompareState | null = null;
  let group: number[] = [];
  let shown: number[] = [];
  let columns: Column[] = [];
  let shared: Prefix[] = [];

  function toggle(rollout: number): void {
    if (!last) return;
    const without = shown.filter((i) => i !== rollout);
    if (!shown.includes(rollout)) shown = [...shown, rollout];
    else if (without.length > 0) shown = without;
    if (!shown.includes(last.rollout)) actions.select({ rollout: shown[0] });
    arrange(last);
    update(last, true);
  }

  function chips(state: CompareState): void {
    const buttons = group.slice(0, MOST).map((i) => chip(h, state, i, shown.includes(i)));
    keepFocus(pick, () => pick.replaceChildren(...buttons));
    const rest = group.length - buttons.length;
    const alone = group.length < 2 ? "the only rollout of its question: there is none to lay beside it" : "";
    more.hidden = rest === 0 && alone === "";
    setText(more, rest > 0 ? `and ${rest} more: keys j and k reach them` : alone);
  }

  /** Columns that stay are kept as they are, with where they are scrolled to. */
  function arrange(state: CompareState): void {
    for (const column of columns) if (!shown.includes(column.rollout)) column.destroy();
    const kept = new Map(columns.map((column) => [column.rollout, column]));
    columns = shown.map((i) => kept.get(i) ?? compareColumn(grid, actions, i, state));
    for (const [at, { node }] of columns.entries())
      if (grid.children[at] !== node) grid.insertBefore(node, grid.children[at] ?? null);
    shared = prefixes(shown.map((i) => response(state, i)));
    chips(state);
  }

  function update(state: CompareState, repaint: boolean): void {
    for (const [at, column] of columns.entries()) column.update(state, shared[at], repaint);
  }

  return {
    update(state) {
      const { rollouts } = state.data.meta;
      const other = last?.data.meta !== state.data.meta;
      const moved = other || !shown.includes(state.rollout);
      if (moved) {
        const before = group;
        group = ofQuestion(rollouts, state.rollout);
        const same = !other && before.join() === group.join();
        // Another rollout of the same question takes the last one's place: those that stay do not move.
        shown = same ? [...shown.slice(0, -1), state.rollout] : firstShown(rollouts, group, state.rollout);
        if (other) for (const column of columns.splice(0)) column.destroy();
        arrange(state);
      }
      const repaint = moved || changed(last, state, "data", "teacher", "signal", "scale");
      last = state;
      update(state, repaint);
    },
    destroy() {
      for (const column of columns) column.destroy();
      for (const node of [pick, more, key, grid]) node.remove();
    },
  };
}
