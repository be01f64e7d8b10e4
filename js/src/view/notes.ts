/** Lines the reader must see before believing a colour (unlike engines, a retokenised text). */
import { maker } from "./dom";
import type { View, ViewState } from "./state";

export function notes<State>(
  root: HTMLElement,
  label: string,
  of: (state: State) => readonly string[],
): { update(state: State): void; destroy(): void } {
  const h = maker(root);
  const box = h("ul", { class: "opd-notes", "aria-label": label, hidden: true });
  root.append(box);
  let shown = "";
  return {
    update(state) {
      const lines = of(state);
      const now = JSON.stringify(lines);
      if (now === shown) return;
      shown = now;
      box.replaceChildren(...lines.map((line) => h("li", {}, line)));
      box.hidden = lines.length === 0;
    },
    destroy: () => box.remove(),
  };
}

export const scoresNotes = (root: HTMLElement): View =>
  notes<ViewState>(root, "Notes on the data", ({ data }) => data.meta.notes);
