/** Lines the reader must see before believing a colour (unlike engines, a retokenised text). */
import { maker } from "./dom";
import type { View } from "./state";

export function notes(root: HTMLElement): View {
  const h = maker(root);
  const box = h("ul", { class: "opd-notes", "aria-label": "Notes on the data" });
  root.append(box);
  let shown = "";
  return {
    update({ data }) {
      const now = JSON.stringify(data.meta.notes);
      if (now === shown) return;
      shown = now;
      box.replaceChildren(...data.meta.notes.map((note) => h("li", {}, note)));
      box.hidden = data.meta.notes.length === 0;
    },
    destroy: () => box.remove(),
  };
}
