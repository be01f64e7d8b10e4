/** The whole: a bar of switches, the rollouts, the text with all teachers under it and the means, and the selected node. */

import { speaker } from "../announce";
import { diagnosisTeacherSwitch, questionSwitch } from "../diagnosis_switches";
import { maker } from "../dom";
import { help } from "../help";
import { notes } from "../notes";
import { ALIGNMENT_KEYS, ALIGNMENT_MARKS, alignmentKeys } from "./keys";
import { alignmentLegend } from "./legend";
import { alignmentList } from "./list";
import { alignmentNode } from "./node";
import { alignmentRows } from "./rows";
import type { AlignmentActions, AlignmentPart, AlignmentState } from "./state";
import { alignmentSummary } from "./summary";
import { alignmentText, alignmentTitle, tokenSentence } from "./text";

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
    notes<AlignmentState>(main, "Notes", ({ places }) => places.meta.notes),
    alignmentTitle(main),
    alignmentText(main, actions),
    alignmentRows(main, actions),
    alignmentSummary(main, actions),
    alignmentNode(panel, actions),
    speaker<AlignmentState>(frame, ["question", "shown", "token", "teacher"], (state) =>
      tokenSentence(state, state.token),
    ),
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
