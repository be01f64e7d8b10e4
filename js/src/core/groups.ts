/**
 * Tokens compared in groups of equal text, where a teacher has another tokenizer: one index a token, rising, -1 for a token that is not
 * comparable. A group's value stands at its last token and is NaN at the others, so that sums and means count it once.
 */
import { type Aggregate, aggregate } from "./cells";

export const NO_GROUP = -1;

/** Each token's value, that of its group. */
export function spread(values: ArrayLike<number>, groups: ArrayLike<number>): Float64Array {
  const out = new Float64Array(groups.length).fill(Number.NaN);
  for (let i = groups.length - 1; i >= 0; i--) {
    if (groups[i] === NO_GROUP) continue;
    out[i] = groups[i] === groups[i + 1] ? out[i + 1] : values[i];
  }
  return out;
}

/** For a drawing in which a group counts once: 0 beside its value, NaN only where there is none. */
export function once(values: ArrayLike<number>, groups: ArrayLike<number>): Float64Array {
  const out = spread(values, groups);
  for (let i = 0; i + 1 < groups.length; i++) {
    if (groups[i] === groups[i + 1] && !Number.isNaN(out[i])) out[i] = 0;
  }
  return out;
}

/** First and one-past-last token of a token's group; null where it is in none. */
export function groupOf(groups: ArrayLike<number>, token: number): [number, number] | null {
  if (!(groups[token] >= 0)) return null;
  let [from, to] = [token, token + 1];
  while (from > 0 && groups[from - 1] === groups[token]) from--;
  while (to < groups.length && groups[to] === groups[token]) to++;
  return [from, to];
}

/**
 * One value for a cell of several tokens, from values that stand at the last token of their group: every group in it counts once, and
 * one without a counterpart makes the whole missing.
 */
export function groupedValueAt(
  values: ArrayLike<number>,
  groups: ArrayLike<number>,
  [from, to]: readonly [number, number],
  how: Aggregate,
): number {
  const parts: number[] = [];
  for (let i = from; i < to; i++) {
    if (i !== from && groups[i] !== NO_GROUP && groups[i] === groups[i - 1]) continue;
    const group = groupOf(groups, i);
    parts.push(group ? values[group[1] - 1] : Number.NaN);
  }
  return aggregate(parts, 0, parts.length, how);
}
