/** The whole: a bar of switches, the rollouts, the text with all teachers under it and the means, and the selected node. */

import { diagnosisTeacherSwitch, questionSwitch } from "../diagnosis_switches";
import { maker, setText } from "../dom";
import { help } from "../help";
import { ALIGNMENT_KEYS, ALIGNMENT_MARKS, alignmentKeys } from "./keys";
import { alignmentLegend } from "./legend";
import { alignmentList } from "./list";
import { alignmentNode } from "./node";
import { alignmentNotes } from "./notes";
import { alignmentRows } from "./rows";
import { type AlignmentActions, type AlignmentPart, type AlignmentState, changed } from "./state";
import { alignmentSummary } from "./summary";
import { alignmentText, alignmentTitle, tokenSentence } from "./text";

const REST_MS = 250;

/** Says the selected token's values to a screen reader, once the selection has come to rest. */
function announcer(root: HTMLElement): AlignmentPart {
  const node = maker(root)("div", { class: "opd-announce", "aria-live": "polite", "aria-atomic": "true" });
  root.append(node);
  let last: AlignmentState | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    update(state) {
      // Nothing is said on arrival: only what the reader did has an answer.
      const speak = last !== null && changed(last, state, "question", "shown", "token", "teacher");
      last = state;
      if (!speak) return;
      clearTimeout(timer);
      timer = setTimeout(() => last && setText(node, tokenSentence(last, last.token)), REST_MS);
    },
    destroy() {
      clearTimeout(timer);
      node.remove();
    },
  };
}

export function alignmentView(root: HTMLElement, actions: AlignmentActions): AlignmentPart {
  const h = maker(root);
  const life = new AbortController();
  const bar = h("div", { class: "opd-bar-top" });
  const list = h("section", { class: "opd-side", "aria-label": "Rollouts" });
  const inner = h("div", { class: "opd-side-inner" });
  list.append(inner);
  const main = h("section", { class: "opd-main", "aria-label": "Selected rollout" });
  const panel = h("section", { class: "opd-panel", "aria-label": "Selected node" });
  const body = h("div", { class: "opd-body" }, list, main, panel);
  const frame = h("div", { class: "opd-frame" }, bar, body);
  root.append(frame);
  let last: AlignmentState | null = null;

  const parts: AlignmentPart[] = [
    questionSwitch(bar, actions),
    diagnosisTeacherSwitch(bar, actions),
    alignmentLegend(bar),
    alignmentList(inner, actions),
    alignmentNotes(main),
    alignmentTitle(main),
    alignmentText(main, actions),
    alignmentRows(main, actions),
    alignmentSummary(main, actions),
    alignmentNode(panel, actions),
    announcer(frame),
  ];
  const guide = help(root, life.signal, ALIGNMENT_KEYS, ALIGNMENT_MARKS);
  bar.append(guide.button);
  bar.after(guide.panel);
  const enter = (field: string): void => frame.querySelector<HTMLElement>(field)?.focus();
  alignmentKeys(root, { state: () => last, actions, help: guide.toggle, enter }, life.signal);

  return {
    update(state) {
      last = state;
      for (const part of parts) part.update(state);
    },
    destroy() {
      life.abort();
      for (const part of parts) part.destroy();
      frame.remove();
    },
  };
}
