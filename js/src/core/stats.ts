/** Aggregates of a rollout's values. Infinities are counted beside a mean, never in it; missing values are in neither. */

import { formatShort, type NumberStyle } from "./format";

export interface Stats {
  /** NaN where nothing finite was counted. */
  mean: number;
  sum: number;
  finite: number;
  below: number;
  above: number;
}

export function stats(values: ArrayLike<number>, mask: ArrayLike<number>): Stats {
  const out: Stats = { mean: Number.NaN, sum: Number.NaN, finite: 0, below: 0, above: 0 };
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    if (mask[i] === 0) continue;
    const value = values[i];
    if (Number.isNaN(value)) continue;
    if (value === Number.POSITIVE_INFINITY) out.above++;
    else if (value === Number.NEGATIVE_INFINITY) out.below++;
    else {
      out.finite++;
      sum += value;
    }
  }
  if (out.finite > 0) {
    out.sum = sum;
    out.mean = sum / out.finite;
  }
  return out;
}

/** A mean or sum as it is shown: a star where infinities stand beside it. */
export const formatFigure = (value: number, { below, above }: Stats, style: NumberStyle): string =>
  Number.isNaN(value) ? "–" : formatShort(value, style) + (below + above > 0 ? "*" : "");
