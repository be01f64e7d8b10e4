/** Which runs of a tree are open, and the rows that follow from it. */
import type { QuestionTree, Visits } from "./question";

/** So many rows more "open the most visited" brings at a time. */
export const MORE_ROWS = 24;

export class Outline {
  private readonly open: Uint8Array;
  /** Runs in the order of the rows. */
  rows: Int32Array;
  /** Row of each run; -1 where it is not in sight. */
  private readonly at: Int32Array;

  constructor(private readonly tree: QuestionTree) {
    this.open = new Uint8Array(tree.runs.count);
    this.at = new Int32Array(tree.runs.count).fill(-1);
    this.rows = new Int32Array(0);
    this.arrange();
  }

  private arrange(): void {
    const { runs } = this.tree;
    this.at.fill(-1);
    const rows: number[] = [];
    const stack = [0];
    while (stack.length > 0) {
      const run = stack.pop() as number;
      this.at[run] = rows.length;
      rows.push(run);
      if (this.open[run]) for (let i = runs.from[run + 1] - 1; i >= runs.from[run]; i--) stack.push(runs.child[i]);
    }
    this.rows = Int32Array.from(rows);
  }

  isOpen(run: number): boolean {
    return this.open[run] === 1;
  }

  canOpen(run: number): boolean {
    return this.tree.runs.childCount(run) > 0;
  }

  row(run: number): number {
    return run < 0 ? -1 : this.at[run];
  }

  set(run: number, open: boolean): void {
    if (!this.canOpen(run) || this.isOpen(run) === open) return;
    this.open[run] = open ? 1 : 0;
    this.arrange();
  }

  /** Opens what lies above a run, so that it has a row. */
  reveal(run: number): void {
    const { parent } = this.tree.runs;
    let changed = false;
    for (let above = run < 0 ? -1 : parent[run]; above >= 0; above = parent[above]) {
      if (this.open[above]) continue;
      this.open[above] = 1;
      changed = true;
    }
    if (changed) this.arrange();
  }

  /** Opens what is on fewer than so many levels, and closes the rest. */
  toDepth(levels: number): void {
    const { level, count } = this.tree.runs;
    for (let run = 0; run < count; run++) this.open[run] = level[run] < levels && this.canOpen(run) ? 1 : 0;
    this.arrange();
  }

  /** Opens the closed run in sight with the most visits, again and again, until there are so many rows more. */
  mostVisited(visits: Visits, more = MORE_ROWS): void {
    const { runs } = this.tree;
    const passing = this.tree.visits(visits);
    const closed = [...this.rows].filter((run) => this.canOpen(run) && !this.isOpen(run));
    let rows = this.rows.length;
    const wanted = rows + more;
    while (closed.length > 0 && rows < wanted) {
      let best = 0;
      for (let i = 1; i < closed.length; i++) if (passing[closed[i]] > passing[closed[best]]) best = i;
      const [run] = closed.splice(best, 1);
      this.open[run] = 1;
      for (const child of runs.children(run)) {
        rows++;
        this.open[child] = 0; // open from before: it takes its turn
        if (this.canOpen(child)) closed.push(child);
      }
    }
    this.arrange();
  }
}
