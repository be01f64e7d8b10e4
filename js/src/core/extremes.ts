/** The order in which a reader is led through a rollout: largest |value| first. */
import { inNoise, type ScaleSpec } from "./scale";

/** Indices by falling |value|, ties by position. Missing, masked and noise-band values are no place to go to. */
export function extremeOrder(values: ArrayLike<number>, masked: (index: number) => boolean, spec: ScaleSpec): number[] {
  const order: number[] = [];
  for (let i = 0; i < values.length; i++) {
    if (!Number.isNaN(values[i]) && !masked(i) && !inNoise(values[i], spec)) order.push(i);
  }
  const size = (i: number): number => Math.abs(values[i]);
  // Two infinities would differ by NaN, so compare rather than subtract.
  return order.sort((a, b) => (size(a) === size(b) ? a - b : size(a) > size(b) ? -1 : 1));
}

/** Next or previous in that order; from outside it, forward leads to the largest. Stops at both ends. */
export function jump(order: readonly number[], from: number, direction: 1 | -1): number {
  if (order.length === 0) return -1;
  const rank = order.indexOf(from);
  if (rank < 0) return direction > 0 ? order[0] : order[order.length - 1];
  return order[Math.max(0, Math.min(order.length - 1, rank + direction))];
}
