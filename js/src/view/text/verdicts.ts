/** Tokens at which a diagnosis has said whether the teacher's advice points the right way: where the signal "alignment" has a value. */
import { nextFinite } from "../../core/extremes";
import type { Actions, ViewState } from "../state";

export const ALIGNMENT = "alignment";

/** The values, where the selected rollout has any under the selected teacher. */
function verdicts({ data, rollout, teacher }: ViewState): Float32Array | null {
  return data.signal(ALIGNMENT)?.available ? data.values(rollout, ALIGNMENT, teacher) : null;
}

export const hasVerdicts = (state: ViewState): boolean => verdicts(state) !== null;

/** The next token with a verdict in one direction; -1 where there is none. */
export function nextVerdict(state: ViewState, direction: 1 | -1): number {
  return nextFinite(verdicts(state) ?? [], state.token, direction);
}

export function verdictTo(state: ViewState, direction: 1 | -1, actions: Actions): void {
  const token = nextVerdict(state, direction);
  if (token >= 0) actions.select({ token });
}
