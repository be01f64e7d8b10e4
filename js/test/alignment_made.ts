/** A small worked diagnosis: places, and the alignment at its nodes. */
import {
  type AlignmentTrait,
  CANDIDATE_BY_TEACHER,
  CANDIDATE_VALUES,
  NODE_COUNTS,
  NODE_VALUES,
  SUMMARY_COUNTS,
  SUMMARY_VALUES,
} from "../src/model/alignment_contract";
import type { DiagnosisSelection, PlacesTrait } from "../src/model/diagnosis_contract";

export const NOT = Number.NaN;
export const view = (array: ArrayBufferView): DataView =>
  new DataView(array.buffer, array.byteOffset, array.byteLength);
export const floats = (...values: number[]): DataView => view(new Float32Array(values));

/** Rollouts [0 1 2] and [0 2] of a question with nodes before token 0 and, after a 0, before token 1; and a question without any. */
export function places(): PlacesTrait {
  const rollout = (index: number, offset: number, length: number, outcome: "correct" | "incorrect") => {
    return { index, offset, length, outcome, status: "stop" };
  };
  return {
    meta: {
      version: 1,
      student: "s",
      teachers: [
        { name: "A", description: "" },
        { name: "B", description: "" },
      ],
      questions: [
        {
          id: "q",
          title: "<b>q</b>",
          nodes: 3,
          drawn: 9,
          rollouts: [rollout(0, 0, 3, "correct"), rollout(4, 3, 2, "incorrect")],
        },
        { id: "r", title: "r", nodes: 0, drawn: 1, rollouts: [rollout(0, 5, 1, "incorrect")] },
      ],
      vocab: { 0: ["<i>x</i>", "t"], 1: ["y", "t"], 2: ["z", "t"] },
      tokens: 6,
      notes: ["note <script>"],
    },
    token_ids: view(new Uint32Array([0, 1, 2, 0, 2, 1])),
    node_at: view(new Int32Array([0, 1, -1, 0, 1, -1])),
  };
}

/** Node 0 of two tokens: p_S = (3/4, 1/4), p_T = (1/2, 1/2), token 0 right and 1 wrong: the teacher pulls the wrong way. */
export function alignment(): AlignmentTrait {
  const g = 0.1875;
  const pull = g * Math.log(3);
  const by = (name: string, rows: number[]): number[] => {
    const known: Record<string, number[]> = {
      n_support: rows.map(() => 2),
      student_mass: rows.map(() => 1),
      teacher_mass: rows.map(() => 1),
      alignment: [-1, 1, NOT, NOT, NOT, NOT],
      alignment_low: [-1, -1, NOT, NOT, NOT, NOT],
      alignment_high: [-1, 1, NOT, NOT, NOT, NOT],
      p_positive: [0, 0.6, NOT, NOT, NOT, NOT],
    };
    return known[name] ?? rows.map(() => NOT);
  };
  const six = [0, 1, 2, 3, 4, 5];
  const candidates: Record<string, number[]> = {
    visits: [4, 1, 3, 2],
    success_mean: [1, 0, 0.5, 0.5],
    success_low: [0.9, 0, 0.1, 0.1],
    success_high: [1, 0.1, 0.9, 0.9],
    student_logprob: [0.75, 0.25, 0.5, 0.5].map(Math.log),
  };
  const under: Record<string, number[]> = {
    teacher_logprob: [0.5, 0.9, 0.5, 0.1, 0.5, 0.5, 0.5, 0.5].map(Math.log),
    ideal_gradient: [g, g, -g, -g, NOT, NOT, NOT, NOT],
    distillation_gradient: [-pull, pull, pull, -pull, 0, 0, 0, 0],
  };
  const summary: Record<string, number[]> = {
    mean_cosine: [-1, -1, -1, 1, 0.2, 0.4],
    mean_cosine_low: [-1, -1, -1, 0.5, -0.1, 0.2],
  };
  return {
    meta: {
      version: 1,
      level: 0.9,
      loss: "reverse_kl",
      estimator: "backup",
      min_visits: 1,
      outcomes: ["correct", "incorrect", "all"],
      verdicts: ["", "no signal", "points outside the support", "not enough visits"],
      intervals: Array(6).fill("questions and posterior"),
      questions: [
        { nodes: 3, candidates: 4 },
        { nodes: 0, candidates: 0 },
      ],
      nodes: 3,
      candidates: 4,
      teachers: 2,
    },
    node_values: floats(...NODE_VALUES.flatMap((name) => by(name, six))),
    node_counts: floats(...NODE_COUNTS.flatMap((name) => (name === "depth" ? [0, 1, 5] : [2, 2, 0]))),
    verdict: view(new Uint8Array([0, 0, 1, 2, 3, 3])),
    candidate_start: view(new Uint32Array([0, 2, 4, 4])),
    candidate_ids: view(new Uint32Array([0, 1, 1, 2])),
    candidate_values: floats(...CANDIDATE_VALUES.flatMap((name) => candidates[name])),
    candidate_by_teacher: floats(...CANDIDATE_BY_TEACHER.flatMap((name) => under[name])),
    in_support: view(new Uint8Array(8).fill(1)),
    summary: floats(...SUMMARY_VALUES.flatMap((name) => summary[name] ?? Array(6).fill(NOT))),
    summary_counts: floats(...SUMMARY_COUNTS.flatMap(() => [1, 2, 3, 4, 5, 6])),
  };
}

export const CHOSEN: DiagnosisSelection = { question: "q", rollout: "", token: -1, node: -1, teacher: "A" };

/** The same with one node, of one candidate a number of `gradient`: that of every teacher, and the ideal one. */
export function wideNode(gradient: readonly number[]): AlignmentTrait {
  const made = alignment();
  const n = gradient.length;
  const each = (value: number): number[] => Array(n).fill(value);
  const both = gradient.flatMap((value) => [value, value]);
  return {
    ...made,
    meta: { ...made.meta, candidates: n, questions: [{ nodes: 3, candidates: n }, made.meta.questions[1]] },
    candidate_start: view(new Uint32Array([0, n, n, n])),
    candidate_ids: view(new Uint32Array(n).map((_, i) => i % 3)),
    candidate_values: floats(...CANDIDATE_VALUES.flatMap(() => each(-2))),
    candidate_by_teacher: floats(...each(-2), ...each(-2), ...both, ...both),
    in_support: view(new Uint8Array(2 * n).fill(1)),
  };
}
