/** The numbers of the AlignmentView, by name. */
import type { NodeScore } from "../core/node_mark";
import {
  type AlignmentMeta,
  type AlignmentTrait,
  CANDIDATE_BY_TEACHER,
  CANDIDATE_VALUES,
  NODE_COUNTS,
  NODE_VALUES,
  SUMMARY_COUNTS,
  SUMMARY_VALUES,
} from "./alignment_contract";
import { float32, uint8, uint32 } from "./codec";

type Name<T extends readonly string[]> = T[number];

/** Arrays that lie one after the other in a buffer, by name. */
function table<T extends readonly string[]>(
  view: DataView,
  names: T,
  size: number,
  what: string,
): Map<Name<T>, Float32Array> {
  const all = float32(view, names.length * size, what);
  return new Map(names.map((name, i) => [name as Name<T>, all.subarray(i * size, (i + 1) * size)]));
}

const at = <K>(of: Map<K, Float32Array>, name: K, index: number): number => of.get(name)?.[index] ?? Number.NaN;

export class AlignmentData {
  readonly meta: AlignmentMeta;
  private readonly first: number[];
  private readonly nodes: Map<Name<typeof NODE_VALUES>, Float32Array>;
  private readonly counts: Map<Name<typeof NODE_COUNTS>, Float32Array>;
  private readonly verdicts: Uint8Array;
  private readonly starts: Uint32Array;
  private readonly ids: Uint32Array;
  private readonly candidates: Map<Name<typeof CANDIDATE_VALUES>, Float32Array>;
  private readonly byTeacher: Map<Name<typeof CANDIDATE_BY_TEACHER>, Float32Array>;
  private readonly support: Uint8Array;
  private readonly means: Map<Name<typeof SUMMARY_VALUES>, Float32Array>;
  private readonly kinds: Map<Name<typeof SUMMARY_COUNTS>, Float32Array>;

  constructor(trait: AlignmentTrait) {
    const { meta } = trait;
    const { nodes: m, candidates: c, teachers: t } = meta;
    const rows = meta.intervals.length;
    this.meta = meta;
    let sum = 0;
    this.first = meta.questions.map(({ nodes }) => {
      const start = sum;
      sum += nodes;
      return start;
    });
    this.nodes = table(trait.node_values, NODE_VALUES, m * t, "node_values");
    this.counts = table(trait.node_counts, NODE_COUNTS, m, "node_counts");
    this.verdicts = uint8(trait.verdict, m * t, "verdict");
    this.starts = uint32(trait.candidate_start, m + 1, "candidate_start");
    this.ids = uint32(trait.candidate_ids, c, "candidate_ids");
    this.candidates = table(trait.candidate_values, CANDIDATE_VALUES, c, "candidate_values");
    this.byTeacher = table(trait.candidate_by_teacher, CANDIDATE_BY_TEACHER, c * t, "candidate_by_teacher");
    this.support = uint8(trait.in_support, c * t, "in_support");
    this.means = table(trait.summary, SUMMARY_VALUES, rows, "summary");
    this.kinds = table(trait.summary_counts, SUMMARY_COUNTS, rows, "summary_counts");
  }

  /** A node's index among those of all questions. */
  row(question: number, node: number): number {
    return this.first[question] + node;
  }

  node(name: Name<typeof NODE_VALUES>, row: number, teacher: number): number {
    return at(this.nodes, name, row * this.meta.teachers + teacher);
  }

  count(name: Name<typeof NODE_COUNTS>, row: number): number {
    return at(this.counts, name, row);
  }

  verdict(row: number, teacher: number): string {
    return this.meta.verdicts[this.verdicts[row * this.meta.teachers + teacher]] ?? "no signal";
  }

  score(row: number, teacher: number): NodeScore {
    return {
      verdict: this.verdict(row, teacher),
      alignment: this.node("alignment", row, teacher),
      low: this.node("alignment_low", row, teacher),
      high: this.node("alignment_high", row, teacher),
    };
  }

  /** The candidates of a node, likeliest under the student first. */
  candidatesOf(row: number): number[] {
    const from = this.starts[row];
    return Array.from({ length: this.starts[row + 1] - from }, (_, i) => from + i);
  }

  tokenId(candidate: number): number {
    return this.ids[candidate];
  }

  candidate(name: Name<typeof CANDIDATE_VALUES>, candidate: number): number {
    return at(this.candidates, name, candidate);
  }

  under(name: Name<typeof CANDIDATE_BY_TEACHER>, candidate: number, teacher: number): number {
    return at(this.byTeacher, name, candidate * this.meta.teachers + teacher);
  }

  inSupport(candidate: number, teacher: number): boolean {
    return this.support[candidate * this.meta.teachers + teacher] === 1;
  }

  /** Whether there is a summary: none where no question has a node. */
  get summarised(): boolean {
    return this.meta.intervals.length > 0;
  }

  mean(name: Name<typeof SUMMARY_VALUES>, teacher: number, outcome: number): number {
    return at(this.means, name, teacher * this.meta.outcomes.length + outcome);
  }

  kind(name: Name<typeof SUMMARY_COUNTS>, teacher: number, outcome: number): number {
    return at(this.kinds, name, teacher * this.meta.outcomes.length + outcome);
  }

  /** What the intervals of the summary hold; "" where there is none. */
  get interval(): string {
    return this.meta.intervals.find((said) => said !== "") ?? "";
  }
}
