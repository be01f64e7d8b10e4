/**
 * What the AlignmentView is given beside the places: what the diagnosis found at each node, for each candidate and each teacher.
 *
 * Python's half is `opd_widgets/widgets/wire/alignment.py`. Names are those of the columns of `Diagnosis.nodes`, `Diagnosis.candidates`
 * and `Diagnosis.summary()`. M nodes and C candidates are those of all questions, one question after the other; T teachers.
 */

/** Float32, one a node and teacher, [M, T] each. */
export const NODE_VALUES = [
  "n_support",
  "student_mass",
  "teacher_mass",
  "alignment",
  "alignment_low",
  "alignment_high",
  "alignment_on_support",
  "p_positive",
  "ideal_norm",
  "distillation_norm",
  "teacher_advantage",
  "teacher_advantage_low",
  "teacher_advantage_high",
] as const;

/** Float32, one a node, [M] each. */
export const NODE_COUNTS = ["depth", "visits", "targeted", "success"] as const;

/** Float32, one a candidate, [C] each. */
export const CANDIDATE_VALUES = ["visits", "success_mean", "success_low", "success_high", "student_logprob"] as const;

/** Float32, one a candidate and teacher, [C, T] each. */
export const CANDIDATE_BY_TEACHER = ["teacher_logprob", "ideal_gradient", "distillation_gradient"] as const;

/** Float32, one a teacher and outcome, [T, O] each. */
export const SUMMARY_VALUES = [
  "mean_cosine",
  "mean_cosine_low",
  "mean_cosine_high",
  "share_positive",
  "share_positive_low",
  "share_positive_high",
] as const;

export const SUMMARY_COUNTS = ["n_questions", "n_nodes", "n_undefined", "n_outside", "n_few_visits"] as const;

export interface AlignmentMeta {
  version: 1;
  /** Probability that an interval is to hold. */
  level: number;
  loss: string;
  estimator: string;
  /** Visits that a candidate of the support needs. */
  min_visits: number;
  /** Columns of the summary. */
  outcomes: string[];
  /** What a number of the `verdict` buffer stands for; "" where there is an alignment. */
  verdicts: string[];
  /** What the summary's intervals hold, where there is one, [T * O]. */
  intervals: string[];
  /** Nodes and candidates of each question, in the order of the places' questions. */
  questions: { nodes: number; candidates: number }[];
  nodes: number;
  candidates: number;
  teachers: number;
}

/** The `alignment` trait. Buffers hold the arrays of the lists above one after the other, in their order. */
export interface AlignmentTrait {
  meta: AlignmentMeta;
  node_values: DataView;
  node_counts: DataView;
  /** uint8 [M, T], index into `verdicts`. */
  verdict: DataView;
  /** uint32 [M + 1]: the candidates of a node are those from its start to the next node's. */
  candidate_start: DataView;
  /** uint32 [C]. */
  candidate_ids: DataView;
  candidate_values: DataView;
  candidate_by_teacher: DataView;
  /** uint8 [C, T]. */
  in_support: DataView;
  /** float32, then `SUMMARY_COUNTS` likewise. */
  summary: DataView;
  summary_counts: DataView;
}
