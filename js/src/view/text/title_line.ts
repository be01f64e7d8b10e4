/** Above the text: which question, which rollout, how it ended, and whatever is not as it should be. */
import { own } from "../../core/own";
import type { RolloutMeta } from "../../model/contract";
import { maker } from "../dom";
import { outcomeMark } from "../outcome";
import { changed, type View, type ViewState } from "../state";

const SOURCES: Record<string, [string, string]> = {
  retokenised: [
    "retokenised",
    "The token ids were not recorded: the text was tokenised again and may differ from what was sampled.",
  ],
  strings: ["tokens from strings", "The token ids were not recorded: tokens come from their printed strings."],
};
const ENDS: Record<string, [string, string]> = {
  truncated: ["truncated", "The response ran into the length limit."],
  aborted: ["aborted", "Generation was stopped from outside."],
};

function badges(record: RolloutMeta): [string, string][] {
  const out: [string, string][] = [];
  const end = own(ENDS, record.status);
  if (end) out.push(end);
  if (record.text_source !== "exact_ids") {
    out.push(own(SOURCES, record.text_source) ?? [record.text_source, "Not the ids that were sampled."]);
  }
  return out;
}

export function titleLine(root: HTMLElement): View {
  const h = maker(root);
  const box = h("div", { class: "opd-title" });
  root.append(box);
  let last: ViewState | null = null;
  return {
    update(state) {
      if (changed(last, state, "record", "rollout")) {
        const { record } = state;
        const facts = [`rollout ${state.rollout + 1}`, record.outcome, `${record.length} tokens`];
        if (record.step !== null) facts.push(`step ${record.step}`);
        if (record.reward !== null) facts.push(`reward ${record.reward}`);
        box.replaceChildren(
          outcomeMark(h, record.outcome),
          h("bdi", { class: "opd-title-question" }, record.title),
          h("span", { class: "opd-quiet" }, facts.join(" · ")),
          ...badges(record).map(([text, title]) => h("span", { class: "opd-badge", title }, text)),
        );
      }
      last = state;
    },
    destroy: () => box.remove(),
  };
}
