/** Which rollouts of a question stand beside each other. */
import type { RolloutMeta } from "../../model/contract";

/** So many at first; the reader may show more. */
export const FIRST_SHOWN = 4;

/** Rollouts of the same question; one without a question stands alone. */
export function ofQuestion(rollouts: readonly RolloutMeta[], rollout: number): number[] {
  const { question } = rollouts[rollout];
  if (question === "") return [rollout];
  return rollouts.flatMap((other, i) => (other.question === question ? [i] : []));
}

/** Correct beside incorrect: by turns, as long as there are both, then the others, each in the order given. */
export function firstShown(rollouts: readonly RolloutMeta[], group: readonly number[], rollout: number): number[] {
  const of = (outcome: string): number[] => group.filter((i) => rollouts[i].outcome === outcome);
  const [right, wrong] = [of("correct"), of("incorrect")];
  const turns = Array.from({ length: Math.max(right.length, wrong.length) }, (_, i) => [right[i], wrong[i]]).flat();
  const known = turns.filter((i): i is number => i !== undefined);
  const rest = group.filter((i) => !known.includes(i));
  const shown = [...known, ...rest].slice(0, FIRST_SHOWN);
  if (!shown.includes(rollout)) shown[shown.length - 1] = rollout;
  return shown;
}
