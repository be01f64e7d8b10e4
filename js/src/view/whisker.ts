/** An interval as a line with its middle a dot, on an axis; the numbers stand beside it in words. */
import { formatNumber } from "../core/format";
import { svg } from "./dom";

const WIDTH = 100;
const HEIGHT = 14;

const place = (cosine: number): number => (Math.max(-1, Math.min(1, cosine)) + 1) / 2;
const share = (value: number): number => Math.max(0, Math.min(1, value));

/** Positions from 0 to 1, NaN for what is not known; `mark`: where a line stands across the axis, NaN for none. */
function whisker(root: Node, [low, at, high]: readonly number[], mark: number, name: string): SVGElement {
  const x = (value: number): number => Math.round(100 * (4 + value * (WIDTH - 8))) / 100;
  const middle = HEIGHT / 2;
  const parts = [svg(root, "path", { class: "opd-w-axis", d: `M${x(0)} ${middle}H${x(1)}` })];
  if (!Number.isNaN(mark)) parts.push(svg(root, "path", { class: "opd-w-mark", d: `M${x(mark)} 1V${HEIGHT - 1}` }));
  if (!Number.isNaN(low) && !Number.isNaN(high))
    parts.push(svg(root, "path", { class: "opd-w-interval", d: `M${x(low)} ${middle}H${x(high)}` }));
  if (!Number.isNaN(at)) parts.push(svg(root, "circle", { class: "opd-w-dot", cx: x(at), cy: middle, r: 3 }));
  return svg(
    root,
    "svg",
    { class: `opd-w ${name}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true", focusable: "false" },
    ...parts,
  );
}

/** A probability between 0 and 1; `own`: one to hold it against. */
export function shareWhisker(root: Node, low: number, at: number, high: number, own = Number.NaN): SVGElement {
  return whisker(root, [share(low), share(at), share(high)], share(own), "opd-w-share");
}

/** A cosine between -1 and 1. Its sign is told by its side of the line at 0, and the dot is open where the interval holds 0. */
export function cosineWhisker(root: Node, low: number, at: number, high: number): SVGElement {
  const open = low <= 0 && high >= 0 ? " opd-w-open" : "";
  return whisker(root, [place(low), place(at), place(high)], 0.5, (at < 0 ? "opd-w-below" : "opd-w-above") + open);
}

export const intervalText = (low: number, high: number): string =>
  `${formatNumber(low, { signed: true })} to ${formatNumber(high, { signed: true })}`;
