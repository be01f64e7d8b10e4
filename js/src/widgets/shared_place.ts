/** A place in a diagnosis by the names that linked views know. */
import type { SharedSelection } from "../model/shared_selection";

interface Place {
  question: string;
  rollout: string;
  token: number;
  node: number;
  teacher: string;
}

/** What a change says to linked views: whoever moves names the whole place, a switch of teacher only the teacher. */
export function sharedPlace(change: Partial<Place>, whole: Place): Partial<SharedSelection> {
  const said: Partial<SharedSelection> = {};
  if (change.teacher !== undefined) said.teacher = change.teacher;
  const place = ["question", "rollout", "token", "node"] as const;
  if (place.every((name) => change[name] === undefined)) return said;
  return {
    ...said,
    question: whole.question || null,
    rollout: whole.rollout || null,
    token: whole.token >= 0 ? whole.token : null,
    node: whole.node >= 0 ? whole.node : null,
  };
}
