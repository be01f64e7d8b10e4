/** What the tokens went into: initial rollouts, reading at the nodes, targeted rollouts. */
import { count } from "../../core/duration";
import { plural } from "../../core/format";
import type { ProgressTrait, RolloutCount } from "../../model/progress_contract";
import { maker, setAttribute, setText } from "../dom";
import type { ProgressPart } from "./state";

const drawn = ({ rollouts, tokens, wanted }: RolloutCount): string =>
  `${count(rollouts)}${wanted ? ` of ${count(wanted)}` : ""} rollouts · ${count(tokens)} tokens`;

type Row = [name: string, phases: readonly string[], key: string, words: (run: ProgressTrait) => string];

const ROWS: Row[] = [
  ["initial rollouts", ["probe", "initial"], "initial", (run) => drawn(run.initial)],
  ["held out", ["held out"], "none", (run) => `${drawn(run.held_out)}, beside the budget`],
  [
    "nodes read",
    ["nodes"],
    "none",
    ({ questions: { waiting, working, done, read }, teachers }) =>
      `${read} of ${plural(waiting + working + done, "question")}${teachers.length ? ` · ${plural(teachers[0].nodes, "node")}` : ""}`,
  ],
  ["targeted rollouts", ["targeted"], "targeted", (run) => drawn(run.targeted)],
];

export function progressPhases(root: HTMLElement): ProgressPart {
  const h = maker(root);
  const box = h("dl", { class: "opd-run-phases" });
  const rows = ROWS.map(([name, phases, key, words]) => {
    const value = h("dd", {});
    const row = h("div", { "data-key": key }, h("dt", {}, h("span", { class: "opd-run-key" }), name), value);
    box.append(row);
    return { row, value, phases, words, name };
  });
  root.append(box);
  return {
    update({ run }) {
      for (const { row, value, phases, words, name } of rows) {
        row.hidden = name === "held out" && !run.held_out.wanted;
        setText(value, words(run));
        const now = phases.includes(run.phase) && (run.state === "running" || run.state === "stopping");
        setAttribute(row, "aria-current", now ? "step" : null);
      }
    },
    destroy: () => box.remove(),
  };
}
