/** Finding text in the paths of a tree. A match may begin in one run and end in a later one; it counts for the run in which it ends. */
import type { QuestionTree } from "./question";

/** Small letters, where that does not change how long a text is. */
const small = (text: string): string => {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
};

export class TreeSearch {
  private readonly texts: string[];
  private readonly needle: string;
  /** Runs with a match, from the top down as they stand when everything is open. */
  readonly found: Int32Array;
  private readonly has: Uint8Array;

  /** Capitals in what is sought ask for the same capitals. */
  constructor(
    private readonly tree: QuestionTree,
    sought: string,
  ) {
    const exact = small(sought) !== sought;
    this.needle = sought;
    this.texts = tree.texts.map(([text]) => (exact ? text : small(text)));
    this.has = new Uint8Array(tree.runs.count);
    this.found = sought === "" ? new Int32Array(0) : this.search();
  }

  private search(): Int32Array {
    const { runs } = this.tree;
    const keep = this.needle.length - 1;
    const tails: string[] = new Array(runs.count);
    const found: number[] = [];
    for (let run = 0; run < runs.count; run++) {
      const before = run === 0 ? "" : tails[runs.parent[run]];
      const whole = before + this.tree.textOf(run, this.texts);
      tails[run] = keep > 0 ? whole.slice(-keep) : "";
      // What the tail holds is shorter than what is sought, so every match ends in the run itself.
      if (whole.includes(this.needle)) found.push(run);
    }
    for (const run of found) this.has[run] = 1;
    const rank = this.tree.ranks();
    return Int32Array.from(found).sort((a, b) => rank[a] - rank[b]);
  }

  matches(run: number): boolean {
    return this.has[run] === 1;
  }

  /** Which tokens of a run are part of a match, and whether a match begins in the run before. */
  marks(run: number): Set<number> {
    const marked = new Set<number>();
    if (!this.matches(run)) return marked;
    const keep = this.needle.length - 1;
    let tail = "";
    for (let up = this.tree.runs.parent[run]; up >= 0 && tail.length < keep; up = this.tree.runs.parent[up])
      tail = this.tree.textOf(up, this.texts) + tail;
    tail = keep > 0 ? tail.slice(-keep) : "";
    const texts = this.tree.tokens(run).map((token) => this.texts[token]);
    const whole = tail + texts.join("");
    const ends: number[] = [];
    let at = tail.length;
    for (const text of texts) {
      at += text.length;
      ends.push(at);
    }
    for (let from = whole.indexOf(this.needle); from >= 0; from = whole.indexOf(this.needle, from + 1)) {
      const to = from + this.needle.length;
      for (let i = 0, start = tail.length; i < ends.length && start < to; start = ends[i++])
        if (ends[i] > from) marked.add(i);
    }
    return marked;
  }

  /** The match after a run, or before it; round the end. -1 where there is none. */
  next(run: number, step: 1 | -1): number {
    const { found } = this;
    if (found.length === 0) return -1;
    const rank = this.tree.ranks();
    const here = run < 0 ? (step > 0 ? -1 : this.tree.runs.count) : rank[run];
    if (step > 0) return found.find((one) => rank[one] > here) ?? found[0];
    return [...found].reverse().find((one) => rank[one] < here) ?? found[found.length - 1];
  }
}
