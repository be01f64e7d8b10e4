/**
 * How a reader is led through a rollout, largest size first, ties by position. A size that is NaN is no place to go to. Found by looking
 * through the sizes once: sorting all of them for one step would be felt in a long text.
 */

/** Whether `a` comes before `b` in falling size. */
const before = (sizes: ArrayLike<number>, a: number, b: number): boolean =>
  sizes[a] > sizes[b] || (sizes[a] === sizes[b] && a < b);

/** Next or previous in that order; from outside it, forward leads to the largest, backward to the smallest. Stops at both ends; -1 if empty. */
export function jump(sizes: ArrayLike<number>, from: number, direction: 1 | -1): number {
  const inside = from >= 0 && from < sizes.length && !Number.isNaN(sizes[from]);
  let best = -1;
  for (let i = 0; i < sizes.length; i++) {
    if (Number.isNaN(sizes[i])) continue;
    // Beyond where one stands, in the direction asked for ...
    if (inside && (direction > 0 ? !before(sizes, from, i) : !before(sizes, i, from))) continue;
    // ... the nearest to it.
    if (best < 0 || (direction > 0 ? before(sizes, i, best) : before(sizes, best, i))) best = i;
  }
  return best < 0 && inside ? from : best;
}

/** The next or previous place with a finite value, from outside the first or last; -1 where there is none. */
export function nextFinite(values: ArrayLike<number>, from: number, way: 1 | -1): number {
  for (let i = (from < 0 && way < 0 ? values.length : from) + way; i >= 0 && i < values.length; i += way)
    if (Number.isFinite(values[i])) return i;
  return -1;
}

/** Place in that order, counted from 0 (-1 for none), and how many places there are. */
export function rank(sizes: ArrayLike<number>, at: number): { rank: number; count: number } {
  const size = at >= 0 && at < sizes.length ? sizes[at] : Number.NaN;
  let larger = 0;
  let count = 0;
  for (let i = 0; i < sizes.length; i++) {
    if (Number.isNaN(sizes[i])) continue;
    count++;
    if (sizes[i] > size || (sizes[i] === size && i < at)) larger++;
  }
  return { rank: Number.isNaN(size) ? -1 : larger, count };
}
