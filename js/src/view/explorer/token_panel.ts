/** The selected token explains itself: what it is, what both sides thought likely, every value it has. */
import { become } from "../become";
import { keepFocus, maker, setText } from "../dom";
import { heading } from "../segmented";
import { type Actions, changed, type View, type ViewState } from "../state";
import { cellParts, comparison, identity } from "./token_identity";
import { topTable } from "./top_table";
import { signalTable, teacherTable } from "./value_tables";

export function tokenPanel(root: HTMLElement, actions: Actions): View {
  const h = maker(root);
  const title = heading(root);
  const body = h("div", { class: "opd-panel-body" });
  root.append(title, body);
  let last: ViewState | null = null;
  let all = false;

  /** Pieces as they stand; the table of likeliest tokens is made anew only for other tokens, the tables of values change in place. */
  let shown: (HTMLElement | null)[] = [];

  function place(pieces: (HTMLElement | null)[]): void {
    const same = pieces.length === shown.length && pieces.every((piece, i) => (piece === null) === (shown[i] === null));
    keepFocus(body, () => {
      if (!same) body.replaceChildren(...pieces.filter((piece) => piece !== null));
      else for (const [i, piece] of pieces.entries()) if (piece && piece !== shown[i]) shown[i]?.replaceWith(piece);
    });
    shown = pieces;
  }

  const toggle = (): void => {
    all = !all;
    if (last) draw(last, true);
  };

  function topOf(state: ViewState): HTMLElement {
    const top = topTable(root, all, toggle)(state);
    // While a block is on its way its table's place is kept, so that what stands below does not jump twice.
    const waits = top.dataset.top === "fetching" || top.dataset.top === "busy";
    const before = waits ? body.querySelector<HTMLElement>(".opd-top-box")?.offsetHeight : 0;
    if (before) top.style.minHeight = `${before}px`;
    return top;
  }

  /** `otherTop`: the likeliest tokens are others, or shown in another way. */
  function draw(state: ViewState, otherTop: boolean): void {
    if (state.token < 0) {
      setText(title, "Token");
      place([
        h(
          "p",
          { class: "opd-quiet opd-hint" },
          "No token selected. Click one in the text, or press n for the largest value.",
        ),
      ]);
      return;
    }
    setText(title, `Token ${state.token + 1} of ${state.record.length}`);
    const changedTo = (next: HTMLElement | null, i: number): HTMLElement | null => {
      const old = shown.length > 1 ? shown[i] : null;
      if (!old || !next) return next;
      become(old, next);
      return old;
    };
    place([
      changedTo(identity(h, state), 0),
      comparison(h, state),
      cellParts(h, state, actions),
      otherTop || !shown[3] ? topOf(state) : shown[3],
      changedTo(teacherTable(root)(state), 4),
      changedTo(signalTable(root)(state), 5),
    ]);
  }

  return {
    update(state) {
      const otherTop = changed(last, state, "data", "record", "rollout", "token", "teacher", "tops");
      if (otherTop || changed(last, state, "signal")) draw(state, otherTop);
      last = state;
    },
    destroy() {
      title.remove();
      body.remove();
    },
  };
}
