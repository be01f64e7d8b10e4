/** One question's tree with what is known at its runs: who passes, how they end, and success. */
import { Runs, upwards } from "./runs";

/** How a rollout ends, by its number in `ending`. */
export const ENDINGS = ["correct", "incorrect", "truncated", "unverified"] as const;
export type Ending = (typeof ENDINGS)[number];
export type Visits = "initial" | "all";

/** What the success at a run is: the diagnosis's own at a node or behind a candidate, a share of rollouts, or nothing. */
export type Told = "node" | "candidate" | "share" | "nothing";

export interface TreeArrays {
  parent: Int32Array;
  depth: Int32Array;
  /** The tokens that lead to each place from its parent, place after place, as indices into the texts. */
  tokens: Uint16Array | Uint32Array;
  /** Place where each rollout ends, and where it becomes the student's own. */
  leaf: Int32Array;
  begin: Int32Array;
  ending: Uint8Array;
  /** K places with an estimate of the diagnosis, whether it is a node's, and means, lower and upper ends: [3, K]. */
  estimatePlace: Int32Array;
  estimateAtNode: Uint8Array;
  estimates: Float32Array;
  /** Place of each node; -1 where no rollout passes. */
  nodePlace: Int32Array;
  /** Alignment of M nodes with T teachers, and the ends of its interval: [3, M, T]. NaN where the verdict is not "". */
  alignments: Float32Array;
  /** [M, T], as indices into the verdicts. */
  verdict: Uint8Array;
}

export interface Success {
  mean: number;
  /** NaN for a share. */
  low: number;
  high: number;
  told: Told;
  /** For a share: of so many rollouts so many are correct. */
  correct: number;
  own: number;
}

export class QuestionTree {
  readonly runs: Runs;
  /** Node at each place; -1 for none. */
  readonly nodeAt: Int32Array;
  /** First token of each place in `tokens`. */
  private readonly start: Int32Array;
  private readonly estimateAt: Int32Array;
  private readonly every = new Map<Visits, Uint32Array>();
  private readonly by = new Map<Visits, Uint32Array[]>();
  private readonly own: Uint32Array;
  private readonly ownCorrect: Uint32Array;
  private endingOf: Uint8Array | null = null;
  private rank: Int32Array | null = null;
  private last: Int32Array | null = null;

  /** `texts`: how to show each token, and its kind of cell. */
  constructor(
    readonly arrays: TreeArrays,
    readonly texts: readonly (readonly [string, string])[],
  ) {
    const { parent, depth, leaf, nodePlace, estimatePlace } = arrays;
    const places = parent.length;
    this.start = new Int32Array(places + 1);
    for (let p = 1; p < places; p++) this.start[p + 1] = this.start[p] + depth[p] - depth[parent[p]];
    this.nodeAt = indexed(places, nodePlace);
    this.estimateAt = indexed(places, estimatePlace);
    const stops = new Uint8Array(places);
    for (const place of leaf) stops[place] = 1;
    for (const place of nodePlace) if (place >= 0) stops[place] = 1;
    this.runs = new Runs(arrays, stops);
    const [correct, unverified] = [ENDINGS.indexOf("correct"), ENDINGS.indexOf("unverified")];
    this.own = this.passing((r) => arrays.ending[r] !== unverified, true);
    this.ownCorrect = this.passing((r) => arrays.ending[r] === correct, true);
    this.runs.order(this.visits("initial"), this.visits("all"));
  }

  get rollouts(): number {
    return this.arrays.leaf.length;
  }

  /** How many of some rollouts pass each run. `own`: only those that are the student's own from there on. */
  private passing(which: (rollout: number) => boolean, own = false): Uint32Array {
    const { parent, leaf, begin } = this.arrays;
    const at = new Uint32Array(parent.length);
    const begun = new Uint32Array(own ? parent.length : 0);
    for (let r = 0; r < leaf.length; r++) {
      if (!which(r)) continue;
      at[leaf[r]]++;
      if (own) begun[begin[r]]++;
    }
    if (own) for (let p = parent.length - 1; p > 0; p--) at[parent[p]] += at[p] - begun[p];
    else upwards(parent, at);
    const found = new Uint32Array(this.runs.count);
    for (let run = 0; run < found.length; run++) found[run] = at[this.runs.end[run]];
    return found;
  }

  private among(visits: Visits): (rollout: number) => boolean {
    const { begin } = this.arrays;
    return visits === "all" ? () => true : (rollout) => begin[rollout] === 0;
  }

  /** Rollouts that pass each run. */
  visits(visits: Visits): Uint32Array {
    let known = this.every.get(visits);
    if (!known) {
      known = this.passing(this.among(visits));
      this.every.set(visits, known);
    }
    return known;
  }

  /** Rollouts that pass a run, by how they end. */
  ended(run: number, visits: Visits): number[] {
    let known = this.by.get(visits);
    if (!known) {
      const { ending } = this.arrays;
      const among = this.among(visits);
      known = ENDINGS.map((_, e) => this.passing((r) => ending[r] === e && among(r)));
      this.by.set(visits, known);
    }
    return known.map((counts) => counts[run]);
  }

  /** How responses end that end with a run, each ending once; empty where none ends there. */
  endings(run: number): Ending[] {
    const { leaf, ending } = this.arrays;
    if (this.endingOf === null) {
      this.endingOf = new Uint8Array(this.runs.count);
      for (let r = 0; r < leaf.length; r++) this.endingOf[this.runs.of[leaf[r]]] |= 1 << ending[r];
    }
    const mask = this.endingOf[run];
    return ENDINGS.filter((_, e) => (mask & (1 << e)) !== 0);
  }

  /** The diagnosis's own estimate at the first place of a run that has one; else a share of rollouts. */
  success(run: number): Success {
    const { parent, estimates, estimateAtNode, estimatePlace } = this.arrays;
    let found = -1;
    for (let p = this.runs.end[run]; p >= 0 && this.runs.of[p] === run; p = parent[p])
      if (this.estimateAt[p] >= 0) found = this.estimateAt[p];
    if (found >= 0) return this.estimate(found, estimates, estimatePlace.length, estimateAtNode[found] !== 0);
    const [own, correct] = [this.own[run], this.ownCorrect[run]];
    const none = { low: Number.NaN, high: Number.NaN, correct, own };
    return own > 0 ? { mean: correct / own, told: "share", ...none } : { mean: Number.NaN, told: "nothing", ...none };
  }

  private estimate(k: number, estimates: Float32Array, count: number, node: boolean): Success {
    const [mean, low, high] = [estimates[k], estimates[count + k], estimates[2 * count + k]];
    return { mean, low, high, told: node ? "node" : "candidate", correct: 0, own: 0 };
  }

  /** Success at the node that a run ends with, where that is another number than the run's; null where there is none. */
  nodeSuccess(run: number): Success | null {
    const { estimates, estimateAtNode, estimatePlace } = this.arrays;
    const k = this.estimateAt[this.runs.end[run]];
    if (k < 0 || estimateAtNode[k] === 0) return null;
    return this.estimate(k, estimates, estimatePlace.length, true);
  }

  /** The node that a run ends with; -1 for none. */
  node(run: number): number {
    return this.nodeAt[this.runs.end[run]];
  }

  /** A node's alignment with a teacher (of `teachers`), the ends of its interval, and the number of its verdict. */
  alignment(
    node: number,
    teacher: number,
    teachers: number,
  ): { at: number; low: number; high: number; verdict: number } {
    const { alignments, verdict, nodePlace } = this.arrays;
    const i = node * teachers + teacher;
    const size = nodePlace.length * teachers;
    return { at: alignments[i], low: alignments[size + i], high: alignments[2 * size + i], verdict: verdict[i] };
  }

  /** The places of a run, the first one first. */
  private placesOf(run: number): number[] {
    const found: number[] = [];
    for (let p = this.runs.end[run]; p >= 0 && this.runs.of[p] === run; p = this.arrays.parent[p]) found.push(p);
    return found.reverse();
  }

  /** The tokens of a run, as indices into the texts. */
  tokens(run: number): number[] {
    const found: number[] = [];
    for (const place of this.placesOf(run))
      for (let i = this.start[place]; i < this.start[place + 1]; i++) found.push(this.arrays.tokens[i]);
    return found;
  }

  /** A run's text, each token as `texts` has it. */
  textOf(run: number, texts: readonly string[]): string {
    const { tokens } = this.arrays;
    let text = "";
    for (const place of this.placesOf(run))
      for (let i = this.start[place]; i < this.start[place + 1]; i++) text += texts[tokens[i]];
    return text;
  }

  /** How many tokens lead to the end of a run, and how many of them are before it. */
  span(run: number): [number, number] {
    const { depth } = this.arrays;
    const above = this.runs.parent[run];
    return [above < 0 ? 0 : depth[this.runs.end[above]], depth[this.runs.end[run]]];
  }

  /** Whether the student drew a rollout freely, from its first token on. */
  isInitial(rollout: number): boolean {
    return rollout >= 0 && this.arrays.begin[rollout] === 0;
  }

  /** How many tokens a rollout has; 0 for none. */
  lengthOf(rollout: number): number {
    return rollout < 0 ? 0 : this.arrays.depth[this.arrays.leaf[rollout]];
  }

  /** Whether a rollout passes a run. */
  passes(rollout: number, run: number): boolean {
    if (!this.rank || !this.last) this.number();
    const rank = this.rank as Int32Array;
    const at = rank[this.runs.of[this.arrays.leaf[rollout]]];
    return at >= rank[run] && at <= (this.last as Int32Array)[run];
  }

  /** A run's number when everything is open. */
  ranks(): Int32Array {
    if (!this.rank) this.number();
    return this.rank as Int32Array;
  }

  private number(): void {
    const { count, parent } = this.runs;
    const rank = new Int32Array(count);
    this.runs.preorder().forEach((run, n) => {
      rank[run] = n;
    });
    const last = rank.slice();
    for (let run = count - 1; run > 0; run--) last[parent[run]] = Math.max(last[parent[run]], last[run]);
    this.rank = rank;
    this.last = last;
  }

  /** A rollout that passes a run: the preferred one if it does, else the first initial one, else the first. -1 for none. */
  rolloutAt(run: number, preferred: number): number {
    if (preferred >= 0 && this.passes(preferred, run)) return preferred;
    let found = -1;
    for (let r = 0; r < this.rollouts; r++) {
      if (!this.passes(r, run)) continue;
      if (this.arrays.begin[r] === 0) return r;
      if (found < 0) found = r;
    }
    return found;
  }

  /** The run of a rollout's path that holds a token; -1 where the rollout is shorter. */
  runAt(rollout: number, token: number): number {
    let run = this.runs.of[this.arrays.leaf[rollout]];
    if (token < 0 || token >= this.span(run)[1]) return -1;
    while (this.span(run)[0] > token) run = this.runs.parent[run];
    return run;
  }

  /** The run that ends with a node; -1 where no rollout passes it. */
  runOfNode(node: number): number {
    const place = this.arrays.nodePlace[node] ?? -1;
    return place < 0 ? -1 : this.runs.of[place];
  }
}

function indexed(size: number, places: Int32Array): Int32Array {
  const found = new Int32Array(size).fill(-1);
  for (let i = 0; i < places.length; i++) if (places[i] >= 0) found[places[i]] = i;
  return found;
}
