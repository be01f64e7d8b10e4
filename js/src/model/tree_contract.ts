/**
 * What a view of generation trees is given beside `places`. Questions, teachers and texts are there, in the same order.
 *
 * Python's half is `opd_widgets/widgets/wire/tree.py`.
 */
import type { Visits } from "../core/tree/question";
import type { DiagnosisSelection } from "./diagnosis_contract";

export interface TreeQuestionMeta {
  /** N places, P tokens on the ways between them, R rollouts, M nodes, K places with an estimate of success. */
  places: number;
  tokens: number;
  rollouts: number;
  nodes: number;
  estimates: number;
}

export interface TreeQuestionTrait {
  /** int32 [N]: the place before, -1 at the root, which is place 0; parents stand before their children. */
  parent: DataView;
  /** int32 [N]: how many tokens lead to a place. */
  depth: DataView;
  /** uint16 or uint32 [P], indices into `ids`: the tokens that lead to each place from its parent, place after place. */
  tokens: DataView;
  /** int32 [R]: place where a rollout ends, and where it becomes the student's own (0: it is an initial one). */
  leaf: DataView;
  begin: DataView;
  /** uint8 [R]: index into `endings`. */
  ending: DataView;
  /** int32 [K]. */
  estimate_place: DataView;
  /** uint8 [K]: 1 for V at a node, 0 for P_succ of a candidate. */
  estimate_at_node: DataView;
  /** float32 [3, K]: posterior mean, lower and upper end of its interval. */
  estimates: DataView;
  /** int32 [M]: -1 where no rollout passes. */
  node_place: DataView;
  /** float32 [3, M, T]: alignment, lower and upper end; NaN where the verdict is not "". */
  alignments: DataView;
  /** uint8 [M, T]: index into `verdicts`. */
  verdict: DataView;
}

export interface TreeMeta {
  version: 1;
  questions: TreeQuestionMeta[];
  /** Token ids in use. */
  ids: number[];
  /** 2 or 4: bytes of an index into them. */
  token_bytes: number;
  /** "" and why there is no alignment. */
  verdicts: string[];
  endings: string[];
  /** What the intervals hold, such as 0.9. */
  level: number;
}

/** The `tree` trait. */
export interface TreeTrait {
  meta: TreeMeta;
  questions: TreeQuestionTrait[];
}

/** The selection traits of the tree, written from both sides. */
export interface TreeSelection extends DiagnosisSelection {
  visits: Visits;
  colour: "mean" | "success";
}
