/** An interval of a cosine as a whisker between -1 and 1, its middle a dot; the numbers stand beside it in words. */
import { formatNumber } from "../core/format";
import { setAttribute, svg } from "./dom";

export interface IntervalMark {
  node: SVGElement;
  draw(low: number, middle: number, high: number): void;
}

const WIDTH = 120;
const HEIGHT = 14;
const at = (cosine: number): string => (6 + ((Math.max(-1, Math.min(1, cosine)) + 1) / 2) * (WIDTH - 12)).toFixed(1);

export const intervalText = (low: number, high: number): string =>
  `${formatNumber(low, { signed: true })} to ${formatNumber(high, { signed: true })}`;

export function intervalMark(root: Node): IntervalMark {
  const middle = HEIGHT / 2;
  const axis = svg(root, "path", {
    class: "opd-interval-axis",
    d: `M6 ${middle}H${WIDTH - 6}M${at(0)} 1V${HEIGHT - 1}`,
  });
  const line = svg(root, "path", { class: "opd-interval-line" });
  const dot = svg(root, "circle", { class: "opd-interval-dot", cy: middle, r: 3 });
  const node = svg(
    root,
    "svg",
    { class: "opd-interval", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true", focusable: "false" },
    axis,
    line,
    dot,
  );
  return {
    node,
    draw(low, mid, high) {
      setAttribute(node, "data-sign", low > 0 ? "above" : high < 0 ? "below" : "open");
      setAttribute(line, "d", `M${at(low)} ${middle}H${at(high)}`);
      setAttribute(dot, "cx", at(mid));
    },
  };
}
