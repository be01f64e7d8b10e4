/** The selected token explains itself: what it is, what both sides thought likely, every value it has. */
import { maker, setText } from "./dom";
import { heading } from "./segmented";
import { type Actions, changed, type View, type ViewState } from "./state";
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

  function draw(state: ViewState): void {
    if (state.token < 0) {
      setText(title, "Token");
      body.replaceChildren(
        h(
          "p",
          { class: "opd-quiet opd-hint" },
          "No token selected. Click one in the text, or press n for the largest value.",
        ),
      );
      return;
    }
    setText(title, `Token ${state.token + 1} of ${state.record.length}`);
    const toggle = (): void => {
      all = !all;
      if (last) draw(last);
    };
    const pieces = [
      identity(h, state),
      comparison(h, state),
      cellParts(h, state, actions),
      topTable(root, all, toggle)(state),
      teacherTable(root)(state),
      signalTable(root)(state),
    ];
    body.replaceChildren(...pieces.filter((piece) => piece !== null));
  }

  return {
    update(state) {
      if (changed(last, state, "data", "record", "rollout", "token", "teacher", "signal")) draw(state);
      last = state;
    },
    destroy() {
      title.remove();
      body.remove();
    },
  };
}
