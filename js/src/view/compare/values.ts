/** What every row says of the selected token, in figures: colours alone say too little, and a screen reader nothing. */

import { maker, refill, setText } from "../dom";
import { selectedCell } from "../series";
import type { CompareState } from "./state";
import { type ShownTrack, trackClass, trackWords } from "./tracks";

export interface CompareValues {
  update(state: CompareState, tracks: readonly ShownTrack[]): void;
  destroy(): void;
}

export function compareValues(root: HTMLElement): CompareValues {
  const h = maker(root);
  const head = h("span", { class: "opd-quiet" });
  const list = h("dl", { class: "opd-compare-values-list" });
  const box = h("div", { class: "opd-compare-values", role: "group", "aria-label": "Selected token" }, head, list);
  root.append(box);
  return {
    update(state, tracks) {
      const cell = selectedCell(state);
      list.hidden = cell < 0;
      if (cell < 0) {
        setText(head, "no token selected: click one, or use the arrow keys");
        return;
      }
      const token = h("bdi", { class: "opd-compare-token" }, state.record.cells.texts[cell]);
      refill(head, `token ${state.token + 1} of ${state.record.length} `, token);
      list.replaceChildren(
        ...tracks.map((shown) => {
          const sample = h("span", {
            class: `opd-cell opd-compare-sample ${trackClass(state, shown, cell)}`,
            "aria-hidden": "true",
          });
          const value = h("dd", { "data-value": shown.id }, trackWords(state, shown, cell));
          return h(
            "div",
            { class: shown.apart ? "opd-compare-apart" : null },
            h("dt", { title: shown.title }, sample, h("bdi", {}, shown.name)),
            value,
          );
        }),
      );
    },
    destroy: () => box.remove(),
  };
}
