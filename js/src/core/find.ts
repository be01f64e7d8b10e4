/** Finding words in a text of cells: also across their borders; capitals count only where the words asked for have some. */

/** A text in one piece, with where each cell begins in it, and at the end where the last one ends. */
export interface Joined {
  text: string;
  at: Uint32Array;
}

export function join(texts: readonly string[]): Joined {
  const at = new Uint32Array(texts.length + 1);
  for (let i = 0; i < texts.length; i++) at[i + 1] = at[i] + texts[i].length;
  return { text: texts.join(""), at };
}

/** Where something was found: the first and the last cell of each place, ascending. */
export interface Found {
  first: number[];
  last: number[];
}

const pattern = (needle: string): RegExp => {
  const capitals = needle !== needle.toLowerCase();
  return new RegExp(needle.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), capitals ? "gu" : "giu");
};

export function find({ text, at }: Joined, needle: string): Found {
  const found: Found = { first: [], last: [] };
  if (needle === "") return found;
  let cell = 0;
  for (const match of text.matchAll(pattern(needle))) {
    while (at[cell + 1] <= match.index) cell++;
    found.first.push(cell);
    let last = cell;
    while (at[last + 1] < match.index + match[0].length) last++;
    found.last.push(last);
  }
  return found;
}

/** All cells that something was found in. */
export function cellsOf({ first, last }: Found): Set<number> {
  const out = new Set<number>();
  for (let i = 0; i < first.length; i++) for (let cell = first[i]; cell <= last[i]; cell++) out.add(cell);
  return out;
}

/**
 * The place to go to from a cell, as an index into `found`; -1 where nothing was found. `now`: the place one stands at, -1 for none. Goes
 * round at both ends.
 */
export function step({ first }: Found, now: number, cell: number, direction: 1 | -1): number {
  const count = first.length;
  if (count === 0) return -1;
  if (now >= 0 && first[now] === cell) return (now + direction + count) % count;
  // From elsewhere: the first place that is not before the cell, or the last that is before it.
  let next = first.findIndex((one) => one >= cell);
  if (next < 0) next = count;
  return direction > 0 ? next % count : (next - 1 + count) % count;
}
