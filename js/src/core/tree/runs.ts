/**
 * A generation tree in rows a reader can follow: places in one line without a choice make one run. A run ends where rollouts part, where
 * a response ends, or where a node of the diagnosis stands. Arrays, not objects: a question may have a hundred thousand places.
 */

export interface Places {
  /** The place before; -1 at the root, which is place 0. Parents stand before their children. */
  parent: Int32Array;
  /** How many tokens lead to a place. */
  depth: Int32Array;
}

/** Adds up over each place and all below it. `added`: one number a place; changed in place and returned. */
export function upwards<A extends Uint32Array | Float64Array>(parent: Int32Array, added: A): A {
  for (let place = parent.length - 1; place > 0; place--) added[parent[place]] += added[place];
  return added;
}

export class Runs {
  /** Number of runs; run 0 is the one that begins at the root. */
  readonly count: number;
  /** First and last place of each run. */
  readonly top: Int32Array;
  readonly end: Int32Array;
  /** The run before; -1 at run 0. Parents stand before their children. */
  readonly parent: Int32Array;
  /** How many runs lie above. */
  readonly level: Int32Array;
  /** Run of each place. */
  readonly of: Int32Array;
  /** Children of run r: `child[from[r]]` to `child[from[r + 1] - 1]`. */
  readonly from: Int32Array;
  readonly child: Int32Array;

  constructor({ parent }: Places, stops: Uint8Array) {
    const places = parent.length;
    const children = new Uint32Array(places);
    for (let place = 1; place < places; place++) children[parent[place]]++;
    const stop = (place: number): boolean => children[place] !== 1 || stops[place] !== 0;
    this.of = new Int32Array(places);
    const top = new Int32Array(places);
    const end = new Int32Array(places);
    const above = new Int32Array(places);
    const level = new Int32Array(places);
    let count = 0;
    for (let place = 0; place < places; place++) {
      const before = parent[place];
      if (before < 0 || stop(before)) {
        above[count] = before < 0 ? -1 : this.of[before];
        level[count] = before < 0 ? 0 : level[above[count]] + 1;
        top[count] = place;
        this.of[place] = count++;
      } else this.of[place] = this.of[before];
      end[this.of[place]] = place;
    }
    this.count = count;
    this.top = top.slice(0, count);
    this.end = end.slice(0, count);
    this.parent = above.slice(0, count);
    this.level = level.slice(0, count);
    this.from = new Int32Array(count + 1);
    for (let run = 1; run < count; run++) this.from[this.parent[run] + 1]++;
    for (let run = 0; run < count; run++) this.from[run + 1] += this.from[run];
    this.child = new Int32Array(Math.max(0, count - 1));
    const next = this.from.slice();
    for (let run = 1; run < count; run++) this.child[next[this.parent[run]]++] = run;
  }

  childCount(run: number): number {
    return this.from[run + 1] - this.from[run];
  }

  children(run: number): Int32Array {
    return this.child.subarray(this.from[run], this.from[run + 1]);
  }

  /** Orders the children of every run, the largest first; equal ones stay as they are. */
  order(...keys: ArrayLike<number>[]): void {
    for (let run = 0; run < this.count; run++) {
      if (this.childCount(run) < 2) continue;
      this.children(run).sort((a, b) => {
        for (const key of keys) if (key[a] !== key[b]) return key[b] - key[a];
        return a - b;
      });
    }
  }

  /** Runs from the root's to the given one. */
  path(run: number): number[] {
    const found: number[] = [];
    for (let at = run; at >= 0; at = this.parent[at]) found.push(at);
    return found.reverse();
  }

  /** All runs as they stand when everything is open. */
  preorder(): Int32Array {
    const order = new Int32Array(this.count);
    const stack = [0];
    for (let n = 0; n < this.count; n++) {
      const run = stack.pop() as number;
      order[n] = run;
      for (let i = this.from[run + 1] - 1; i >= this.from[run]; i--) stack.push(this.child[i]);
    }
    return order;
  }
}
