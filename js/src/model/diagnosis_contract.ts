/**
 * What every view of a diagnosis is given: its questions, rollouts and nodes, by which a selection is named.
 *
 * Python's half is `opd_widgets/widgets/wire/places.py`.
 */
import type { Outcome } from "./contract";

export interface RolloutPlace {
  /** Index among all rollouts of the question: its id is "question/index". */
  index: number;
  outcome: Outcome;
  /** "stop" or "truncated". */
  status: string;
  /** First token in `token_ids` and `node_at`, and number of response tokens. */
  offset: number;
  length: number;
}

export interface QuestionPlace {
  id: string;
  /** In short, one line. Hostile text: text nodes only. */
  title: string;
  /** Number of nodes. */
  nodes: number;
  /** Number of all its rollouts, targeted ones among them. */
  drawn: number;
  /** The initial rollouts. */
  rollouts: RolloutPlace[];
}

export interface PlacesMeta {
  version: 1;
  student: string;
  teachers: { name: string; description: string }[];
  questions: QuestionPlace[];
  /** Token id -> how to show it ([text, kind of cell]); every id in use is here. Hostile text: text nodes only. */
  vocab: Record<string, [string, string]>;
  /** N: tokens of all initial rollouts together. */
  tokens: number;
  /** What a reader must be told. */
  notes: string[];
}

/** The `places` trait. */
export interface PlacesTrait {
  meta: PlacesMeta;
  /** uint32 [N]. */
  token_ids: DataView;
  /** int32 [N]: index among its question's nodes of the node whose prefix stands before a token; -1 for none. */
  node_at: DataView;
}

/** The selection traits of a view of a diagnosis, written from both sides. */
export interface DiagnosisSelection {
  /** Id of the question. */
  question: string;
  /** "question/index"; "" for none. */
  rollout: string;
  /** Index of a response token; -1 for none. */
  token: number;
  /** Index among the question's nodes; -1 for none. */
  node: number;
  teacher: string;
}
