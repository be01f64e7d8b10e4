/** Where a scale ends that is fitted here: to differences, or to what one rollout shows. The rule is that of `widgets/wire/scale.py`. */

/** One outlier must not turn all the rest pale; what lies beyond takes the end's colour. */
const SHARE = 0.99;
const STEPS = [1, 1.5, 2, 3, 5, 7.5, 10];
/** Of more values than this, every so many-th is looked at. */
const MOST = 1 << 16;

/** The next round number: 1, 1.5, 2, 3, 5, 7.5 times a power of ten. */
export function roundUp(value: number, least: number): number {
  const above = Math.max(value, least);
  const power = 10 ** Math.floor(Math.log10(above));
  return Number(((STEPS.find((step) => step * power >= above * (1 - 1e-9)) ?? 10) * power).toPrecision(12));
}

export interface Counted {
  values: ArrayLike<number>;
  /** 0: not counted. */
  mask: ArrayLike<number>;
}

/** The 99th percentile of the finite counted sizes; NaN where there is none. */
function high(parts: readonly Counted[]): number {
  const total = parts.reduce((sum, { values }) => sum + values.length, 0);
  const stride = Math.max(1, Math.ceil(total / MOST));
  const sizes = new Float64Array(Math.ceil(total / stride) + parts.length);
  let count = 0;
  for (const { values, mask } of parts) {
    for (let i = 0; i < values.length; i += stride)
      if (mask[i] !== 0 && Number.isFinite(values[i])) sizes[count++] = Math.abs(values[i]);
  }
  if (count === 0) return Number.NaN;
  const sorted = sizes.subarray(0, count).sort();
  const at = SHARE * (count - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * (sorted[Math.min(count - 1, low + 1)] - sorted[low]);
}

/**
 * The end of a scale over the values of each teacher: the middle one of their 99th percentiles, of two the lower. One that lies within
 * `noise`, of a teacher not to be told from the student, has no say, and no scale ends there. 1 where there is no value.
 */
export function fittedLimit(teachers: readonly (readonly Counted[])[], noise = 0, least = 1e-6): number {
  const ends = teachers
    .map(high)
    .filter((end) => !Number.isNaN(end))
    .sort((a, b) => a - b);
  const told = ends.some((end) => end > noise) ? ends.filter((end) => end > noise) : ends;
  return told.length > 0 ? roundUp(told[(told.length - 1) >> 1], Math.max(least, noise)) : 1;
}

/** Whether some counted value lies beyond the ends. */
export function beyond(parts: readonly Counted[], limit: number): { below: boolean; above: boolean } {
  const out = { below: false, above: false };
  for (const { values, mask } of parts) {
    for (let i = 0; i < values.length; i++) {
      if (mask[i] === 0) continue;
      if (values[i] < -limit) out.below = true;
      else if (values[i] > limit) out.above = true;
    }
  }
  return out;
}
