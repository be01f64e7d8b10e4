/**
 * One signal along one rollout, as a row of a comparison draws it, and the difference of two such rows. Where either side is compared in
 * groups of equal text, so is the difference: in the smallest groups that both sides have whole.
 */
import { type Aggregate, aggregate } from "../cells";
import { groupedValueAt, NO_GROUP, spread } from "../groups";

export interface Track {
  /** One value a token; with groups, at each one's last token. */
  readonly values: ArrayLike<number>;
  readonly groups: ArrayLike<number> | null;
  /** One value for the tokens of a cell. */
  cell(from: number, to: number): number;
  /** Whether a token of the cell has no counterpart. */
  apart(from: number, to: number): boolean;
}

export function track(values: ArrayLike<number>, groups: ArrayLike<number> | null, how: Aggregate): Track {
  return {
    values,
    groups,
    cell: (from, to) => (groups ? groupedValueAt(values, groups, [from, to], how) : aggregate(values, from, to, how)),
    apart(from, to) {
      for (let i = from; groups && i < to; i++) if (groups[i] === NO_GROUP) return true;
      return false;
    },
  };
}

const endsAt = (groups: ArrayLike<number> | null, i: number): boolean =>
  !groups || groups[i] === NO_GROUP || groups[i] !== groups[i + 1];

/** The smallest groups of tokens that both sides have whole; null where tokens stand alone on both. */
export function commonGroups(a: ArrayLike<number> | null, b: ArrayLike<number> | null): Int32Array | null {
  const length = a?.length ?? b?.length;
  if (length === undefined) return null;
  const out = new Int32Array(length);
  let from = 0;
  let group = 0;
  let lacks = false;
  for (let i = 0; i < length; i++) {
    lacks ||= a?.[i] === NO_GROUP || b?.[i] === NO_GROUP;
    if (!endsAt(a, i) || !endsAt(b, i)) continue;
    out.fill(lacks ? NO_GROUP : group++, from, i + 1);
    from = i + 1;
    lacks = false;
  }
  return out;
}

/** One side's values in common groups, each at its group's last token. */
function regrouped({ values, groups }: Track, common: Int32Array, how: Aggregate): Float64Array {
  const out = new Float64Array(common.length).fill(Number.NaN);
  const whole = groups ? spread(values, groups) : values;
  let parts: number[] = [];
  for (let i = 0; i < common.length; i++) {
    if (common[i] !== NO_GROUP && endsAt(groups, i)) parts.push(whole[i]);
    if (!endsAt(common, i)) continue;
    if (parts.length > 0) out[i] = aggregate(parts, 0, parts.length, how);
    parts = [];
  }
  return out;
}

/** What `a` has above `b`, in the unit of both: missing where either is, and undefined (NaN) where both are the same infinity. */
export function difference(a: Track, b: Track, how: Aggregate): Track {
  const common = commonGroups(a.groups, b.groups);
  const [x, y] = common ? [regrouped(a, common, how), regrouped(b, common, how)] : [a.values, b.values];
  const values = Float64Array.from(x, (value, i) => value - y[i]);
  const made = track(values, common, how);
  // Of what the two rows show of a cell, so that a reader can check it: the largest of differences is not the difference of the largest.
  return common ? made : { ...made, cell: (from, to) => a.cell(from, to) - b.cell(from, to) };
}
