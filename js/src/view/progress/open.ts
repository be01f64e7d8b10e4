/** What is open: how many questions are in work, and the nodes about which least is known. */

import { count } from "../../core/duration";
import { plural } from "../../core/format";
import { isolated } from "../../core/plain_text";
import type { OpenNode } from "../../model/progress_contract";
import { maker, setAttribute, setText } from "../dom";
import { cosineWhisker, intervalText } from "../whisker";
import type { ProgressActions, ProgressPart, ProgressState } from "./state";

function openRow(root: HTMLElement, choose: (node: OpenNode) => void, signal: AbortSignal) {
  const h = maker(root);
  const drawing = h("span", { class: "opd-open-mark" });
  const title = h("span", { class: "opd-open-title" });
  const where = h("span", { class: "opd-quiet opd-open-where" });
  const before = h("bdi", { class: "opd-open-before" });
  const ends = h("span", { class: "opd-figure" });
  const button = h(
    "button",
    { type: "button", class: "opd-open-node" },
    title,
    where,
    before,
    h("span", { class: "opd-open-range" }, drawing, ends),
  );
  const row = h("li", {}, button);
  let shown: OpenNode | null = null;
  button.addEventListener("click", () => shown && choose(shown), { signal });
  return {
    row,
    update(node: OpenNode, { chosen }: ProgressState): void {
      shown = node;
      setText(title, node.title);
      setText(
        where,
        `${isolated(node.teacher)}, ${node.depth === 0 ? "first token" : `after ${plural(node.depth, "token")}`}`,
      );
      setText(before, node.depth === 0 ? "" : `${node.cut ? "…" : ""}${node.before}`);
      setText(ends, intervalText(node.low, node.high));
      drawing.replaceChildren(cosineWhisker(root, node.low, node.middle, node.high));
      setAttribute(button, "aria-pressed", String(chosen.question === node.question && chosen.node === node.node));
    },
  };
}

export function progressOpen(root: HTMLElement, actions: ProgressActions): ProgressPart {
  const h = maker(root);
  const life = new AbortController();
  const choose = ({ question, node, teacher }: OpenNode): void => actions.select({ question, node, teacher });
  const questions = h("p", { class: "opd-open-questions" });
  const hint = h("p", { class: "opd-quiet" });
  const list = h("ol", { class: "opd-open-list" });
  const box = h(
    "section",
    { class: "opd-run-open", "aria-label": "Open" },
    h("h2", { class: "opd-heading" }, "open"),
    questions,
    hint,
    list,
  );
  root.append(box);
  const rows: ReturnType<typeof openRow>[] = [];
  return {
    update(state) {
      const { waiting, working, done } = state.run.questions;
      const { widest } = state.run;
      setText(questions, `questions: ${count(waiting)} not begun · ${count(working)} in work · ${count(done)} done`);
      setText(hint, widest.length ? "the widest intervals, each node under the teacher for whom it is widest" : "");
      hint.hidden = widest.length === 0;
      while (rows.length > widest.length) rows.pop()?.row.remove();
      widest.forEach((node, i) => {
        if (!rows[i]) {
          rows[i] = openRow(root, choose, life.signal);
          list.append(rows[i].row);
        }
        rows[i].update(node, state);
      });
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
