/** What the parts of the AlignmentView are given, and what several of them ask of it. */
import { markClass, type NodeScore } from "../../core/node_mark";
import type { AlignmentData } from "../../model/alignment_data";
import type { Cells } from "../../model/contract";
import type { QuestionPlace, RolloutPlace } from "../../model/diagnosis_contract";
import { kept } from "../cache";
import type { DiagnosisActions, DiagnosisState } from "../diagnosis_switches";

export interface AlignmentState extends DiagnosisState {
  data: AlignmentData;
  /** Of the selected question and rollout; the first rollout where none is selected. */
  place: QuestionPlace;
  shown: number;
  record: RolloutPlace | null;
}

export type AlignmentActions = DiagnosisActions;

export interface AlignmentPart {
  update(state: AlignmentState): void;
  destroy(): void;
}

/** The text where there is no rollout. */
export const NO_CELLS: Cells = { starts: [], texts: [], kinds: "" };

/** The score of the node at a token of the shown rollout; null where there is no node. */
export function scoreAt(state: AlignmentState, token: number, teacher = state.teacher): NodeScore | null {
  const { record, places, data, question } = state;
  const node = record ? (places.nodesOf(record)[token] ?? -1) : -1;
  return node < 0 || teacher < 0 ? null : data.score(data.row(question, node), teacher);
}

/** The class of each token of the shown rollout under a teacher. */
export const classes =
  (state: AlignmentState, teacher = state.teacher) =>
  (token: number): string =>
    markClass(scoreAt(state, token, teacher));

/** One value a token of a rollout: NaN where there is no alignment. Kept, since it reads the whole rollout. */
export function alignments(state: AlignmentState, rollout: RolloutPlace, teacher = state.teacher): Float32Array {
  const { places, data, question } = state;
  return kept(data, "alignments", [rollout.offset, rollout.length, teacher], () => {
    const nodes = places.nodesOf(rollout);
    const out = new Float32Array(nodes.length).fill(Number.NaN);
    for (let i = 0; i < nodes.length; i++) {
      if (nodes[i] >= 0 && teacher >= 0) out[i] = data.node("alignment", data.row(question, nodes[i]), teacher);
    }
    return out;
  });
}
