/** A run in words: what it does, how far it is, what it will cost. */
import { count, duration } from "../../core/duration";
import { plural } from "../../core/format";
import { own } from "../../core/own";
import type { ProgressTrait } from "../../model/progress_contract";
import type { ShownRun } from "./state";

const PHASES: Record<ProgressTrait["phase"], string> = {
  probe: "a first probe",
  initial: "initial rollouts",
  "held out": "held-out rollouts",
  nodes: "student and teachers read the nodes",
  targeted: "targeted rollouts",
  end: "",
};

export function stateWords({ state, phase, stored, live, ended }: ShownRun): string {
  if (state === "done") return "finished";
  if (state === "failed") return "failed";
  if (state === "stopped") {
    const kept = stored && (live || ended) ? "; what was drawn is kept in its folder" : "";
    return `stopped${ended ? ": the kernel has ended" : ""}${kept}`;
  }
  if (state === "stopping") return "stopping after the batch in hand";
  if (state === "waiting") return "waiting for the background thread";
  const doing = own(PHASES, phase);
  return doing ? `running: ${doing}` : "running";
}

export function figures({ state, spent, budget, seconds, speed, left }: ProgressTrait): string {
  const said = [`${count(spent)} of ${count(budget)} tokens`];
  if (speed !== null) said.push(`${count(speed)} tokens/s`);
  if (left !== null && state === "running") said.push(`about ${duration(left)} left`);
  if (speed === null && seconds > 0) said.push(`ran ${duration(seconds)}`);
  return said.join(" · ");
}

export function costWords({ cost, budget }: ProgressTrait): string {
  if (!cost) return `It may spend ${count(budget)} generated tokens; the time is estimated from the first rollouts.`;
  const probe = `${plural(cost.probe_rollouts, "rollout")} of ${count(cost.probe_tokens)} tokens`;
  return (
    `Estimated from ${probe}: ${plural(cost.initial, "initial rollout")} of each of ${plural(cost.questions, "question")}, ` +
    `then some ${count(cost.targeted)} targeted ones; ${count(budget)} tokens, about ${duration(cost.seconds)} of generating. ` +
    "Reading nodes and deciding come on top."
  );
}

/** Said to a screen reader: a change of state, and each quarter of the budget; no more. */
export function spoken(run: ShownRun): string {
  if (run.state === "failed") return `Diagnosis failed: ${run.message}`;
  if (run.state !== "running") return `Diagnosis ${stateWords(run)}, ${figures(run)}`;
  const quarter = Math.min(3, Math.floor((4 * run.spent) / Math.max(1, run.budget)));
  return `Diagnosis running, ${quarter === 0 ? "begun" : `${25 * quarter} percent of the budget spent`}`;
}
