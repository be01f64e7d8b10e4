/** The widths of the intervals against the tokens spent, as paths in a box of 100 by 100. */

export interface WidthsLine {
  median: string;
  mean: string;
  /** Upper end of the axis. */
  top: number;
  /** The last point's place from below, 0 to 100, for its label. */
  ends: { median: number; mean: number; x: number };
}

/** Widths are at most 2; the axis ends at a round number above them. */
const TOPS = [0.05, 0.1, 0.2, 0.5, 1, 2];

/** `points`: [n, 3], tokens, median and mean width. */
export function widthsLine(points: Float32Array, budget: number): WidthsLine | null {
  const n = points.length / 3;
  if (n === 0) return null;
  let high = 0;
  let end = budget;
  for (let i = 0; i < n; i++) {
    high = Math.max(high, points[3 * i + 1], points[3 * i + 2]);
    end = Math.max(end, points[3 * i]);
  }
  const top = TOPS.find((one) => one >= high) ?? 2;
  const x = (i: number): number => (100 * points[3 * i]) / end;
  const y = (i: number, column: number): number => (100 * points[3 * i + column]) / top;
  const path = (column: number): string => {
    let out = "";
    for (let i = 0; i < n; i++) out += `${i ? "L" : "M"}${x(i).toFixed(2)} ${(100 - y(i, column)).toFixed(2)}`;
    return n === 1 ? `${out}h0.01` : out;
  };
  const last = n - 1;
  return { median: path(1), mean: path(2), top, ends: { median: y(last, 1), mean: y(last, 2), x: x(last) } };
}
