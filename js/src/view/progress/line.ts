/** How wide the intervals were when so many tokens were spent. */
import { count } from "../../core/duration";
import { formatNumber } from "../../core/format";
import { widthsLine } from "../../core/widths_line";
import { maker, setAttribute, setText, svg } from "../dom";
import type { ProgressPart } from "./state";

export function progressLine(root: HTMLElement): ProgressPart {
  const h = maker(root);
  const median = svg(root, "path", { class: "opd-widths-median" });
  const mean = svg(root, "path", { class: "opd-widths-mean" });
  const chart = svg(
    root,
    "svg",
    { class: "opd-widths-plot", viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" },
    mean,
    median,
  );
  const top = h("span", { class: "opd-widths-top" });
  const end = h("span", { class: "opd-widths-end" });
  const words = h("p", { class: "opd-widths-words" });
  const box = h(
    "figure",
    { class: "opd-widths", "aria-label": "Width of the intervals against tokens spent" },
    h("figcaption", { class: "opd-quiet" }, "width of the intervals against tokens spent"),
    h("div", { class: "opd-widths-box" }, top, chart, h("span", { class: "opd-widths-zero" }, "0"), end),
    words,
  );
  root.append(box);
  return {
    update({ run, line }) {
      const drawn = widthsLine(line, run.budget);
      box.hidden = drawn === null;
      if (!drawn) return;
      setAttribute(median, "d", drawn.median);
      setAttribute(mean, "d", drawn.mean);
      setText(top, formatNumber(drawn.top, { digits: drawn.top < 1 ? 2 : 0 }));
      setText(end, `${count(Math.max(run.budget, run.spent))} tokens`);
      const last = line.length - 3;
      const [middle, average] = [line[last + 1], line[last + 2]].map((one) => formatNumber(one));
      words.replaceChildren(
        h("span", { class: "opd-widths-key", "data-line": "median" }),
        `median ${middle}`,
        h("span", { class: "opd-widths-key", "data-line": "mean" }),
        `mean ${average}`,
      );
    },
    destroy: () => box.remove(),
  };
}
