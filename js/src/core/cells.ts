/** Tokens and the cells that show them: a cell covers the tokens from its start to the next cell's start. */

export type Aggregate = "sum" | "max" | "mean";

/** The cell that shows a token; -1 for none. */
export function cellOf(starts: readonly number[], token: number): number {
  if (token < 0 || starts.length === 0) return -1;
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= token) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** First and one-past-last token of a cell. */
export function tokensOf(starts: readonly number[], cell: number, length: number): [number, number] {
  return [starts[cell], cell + 1 < starts.length ? starts[cell + 1] : length];
}

/** One value for several. One missing part makes the whole missing: a partial sum would pass for a whole one. */
export function aggregate(values: ArrayLike<number>, from: number, to: number, how: Aggregate): number {
  if (to - from === 1) return values[from];
  if (to <= from) return Number.NaN;
  let sum = 0;
  let top = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) {
    if (Number.isNaN(values[i])) return Number.NaN;
    sum += values[i];
    if (values[i] > top) top = values[i];
  }
  if (how === "max") return top;
  return how === "sum" ? sum : sum / (to - from);
}

/** Whether no token of a cell is the student's own. */
export function cellMasked(mask: ArrayLike<number>, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (mask[i] !== 0) return false;
  return true;
}
