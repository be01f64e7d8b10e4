/** The rollout's text, every token coloured. A switch of teacher or signal swaps classes of the cells in sight; the text stays. */
import { companions, selectedCell, series } from "../series";
import { type Actions, changed, type View, type ViewState } from "../state";
import { type TokenText, tokenText } from "./token_text";

export interface TokenStripView extends View {
  readonly text: TokenText;
}

export function tokenStrip(root: HTMLElement, actions: Actions, scrolled: () => void = () => {}): TokenStripView {
  const life = new AbortController();
  let last: ViewState | null = null;
  const text = tokenText({
    root,
    label: "Tokens",
    signal: life.signal,
    scrolled,
    pick: (cell) => last && actions.select({ token: last.record.cells.starts[cell] }),
  });

  return {
    text,
    update(state) {
      const other = changed(last, state, "record");
      if (other) text.show(state.record.cells);
      if (other || changed(last, state, "data", "teacher", "signal")) {
        const { colour, masked } = series(state);
        text.paint((cell) => (masked(cell) ? `opd-masked ${colour(cell)}` : colour(cell)));
      }
      last = state;
      text.select(selectedCell(state), companions(state));
    },
    destroy() {
      life.abort();
      text.destroy();
    },
  };
}
