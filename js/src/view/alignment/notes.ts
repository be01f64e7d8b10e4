/** What a reader of the diagnosis must be told. */

import { maker } from "../dom";
import { type AlignmentPart, type AlignmentState, changed } from "./state";

export function alignmentNotes(root: HTMLElement): AlignmentPart {
  const h = maker(root);
  const list = h("ul", { class: "opd-notes", "aria-label": "Notes", hidden: true });
  root.append(list);
  let last: AlignmentState | null = null;
  return {
    update(state) {
      if (!changed(last, state, "places")) return;
      last = state;
      const { notes } = state.places.meta;
      list.hidden = notes.length === 0;
      list.replaceChildren(...notes.map((note) => h("li", {}, note)));
    },
    destroy: () => list.remove(),
  };
}
