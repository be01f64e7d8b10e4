/** The selected node explains itself: its alignment, how sure that is, what it stands on, or why there is none. */
import { standing } from "../../core/node_mark";
import { keepFocus, type Maker, maker, setText } from "../dom";
import { heading } from "../segmented";
import { changed } from "../state";
import { makeCell } from "../text/cell";
import { candidateTable } from "./candidates";
import { nodeFacts } from "./facts";
import { gradientTable } from "./gradients";
import { simplexFigure } from "./simplex";
import type { AlignmentActions, AlignmentPart, AlignmentState } from "./state";

/** Row of the node that is selected; -1 for none. */
export const selectedRow = (state: AlignmentState): number =>
  state.node < 0 ? -1 : state.data.row(state.question, state.node);

/** What a verdict means, in words. */
export function verdictWords(state: AlignmentState, row: number): string {
  const { data, teacher, places } = state;
  const who = places.teachers[teacher].name;
  const score = data.score(row, teacher);
  switch (standing(score)) {
    case "silent":
      return `No signal: on the support no outcome differs from another, or ${who} gives nothing to compare. There is no alignment here.`;
    case "outside":
      return `Points outside the support: the tried tokens hold less than 0.9 of the student's or ${who}'s probability, so no number here is one to average.`;
    case "few":
      return "Not enough visits: fewer than two candidates were tried often enough. More rollouts would change this.";
    case "open":
      return "Open: the interval holds 0, so the sign is not settled.";
    default:
      return score.alignment > 0
        ? `${who} points along the ideal gradient here.`
        : `${who} points against the ideal gradient here.`;
  }
}

function identity(h: Maker, state: AlignmentState): HTMLElement | null {
  const { record, places, token } = state;
  if (!record || token < 0) return null;
  const [text, kind] = places.shown(places.tokenIds(record)[token]);
  return h(
    "div",
    { class: "opd-identity" },
    makeCell(h, text, kind),
    h("span", { class: "opd-quiet" }, "taken by this rollout"),
  );
}

/** A reader counts tokens from 1; a node stands at the one after its prefix. */
function titleOf(state: AlignmentState, row: number): string {
  const { data, node, token, record } = state;
  if (row >= 0) return `Node ${node} · token ${data.count("depth", row) + 1}`;
  return token < 0 ? "Node" : `Token ${token + 1} of ${record?.length ?? 0}`;
}

export function alignmentNode(root: HTMLElement, actions: AlignmentActions): AlignmentPart {
  const h = maker(root);
  const title = heading(root);
  const body = h("div", { class: "opd-panel-body" });
  root.append(title, body);
  let last: AlignmentState | null = null;
  let all = false;

  function draw(state: AlignmentState): void {
    const row = selectedRow(state);
    const { token } = state;
    setText(title, titleOf(state, row));
    if (row < 0 || state.teacher < 0) {
      const words =
        token < 0
          ? "No node selected. Click a coloured token, or press n for the largest alignment."
          : "This token was never scored: no other token was tried here. Press v for the next node.";
      body.replaceChildren(
        ...[identity(h, state), h("p", { class: "opd-quiet opd-hint" }, words)].filter((part) => part !== null),
      );
      return;
    }
    const toggle = (): void => {
      all = !all;
      if (last) draw(last);
    };
    const parts = [
      identity(h, state),
      h("p", { class: "opd-a-verdict" }, verdictWords(state, row)),
      nodeFacts(root, state, row),
      candidateTable(root, state, row, all, toggle),
      simplexFigure(root, state, row),
      gradientTable(root, state, row, actions),
    ];
    keepFocus(body, () => body.replaceChildren(...parts.filter((part) => part !== null)));
  }

  return {
    update(state) {
      if (changed(last, state, "data", "places", "question", "record", "token", "node", "teacher")) draw(state);
      last = state;
    },
    destroy() {
      title.remove();
      body.remove();
    },
  };
}
