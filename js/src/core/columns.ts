/** Cells one after another in a single row: where each begins, and which of them a stretch of the row shows. */
import { isName, type Ruler, type Text } from "./wrap";

/** Where each cell begins, in pixels, and at the end where the last one ends: one more than there are cells. */
export function offsets({ texts, kinds }: Text, ruler: Ruler): Float64Array {
  const out = new Float64Array(texts.length + 1);
  for (let i = 0; i < texts.length; i++) out[i + 1] = out[i] + ruler.width(texts[i], isName(kinds[i]));
  return out;
}

/** First and one-past-last cell that show between two places in pixels. */
export function within(at: Float64Array, from: number, to: number): [number, number] {
  const count = at.length - 1;
  if (count === 0) return [0, 0];
  const first = Math.min(count - 1, Math.max(0, lastAtMost(at, from)));
  return [first, Math.max(first + 1, Math.min(count, lastAtMost(at, to) + 1))];
}

/** The last place that is not beyond `limit`; -1 where all are. */
function lastAtMost(at: Float64Array, limit: number): number {
  let low = -1;
  let high = at.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (at[middle] <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}
