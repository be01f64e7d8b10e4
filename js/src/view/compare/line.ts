/** The selected token's value by step, as a small line on the scale in use. */
import { tokensOf } from "../../core/cells";
import { formatNumber } from "../../core/format";
import { position } from "../../core/scale";
import { maker, setText, svg } from "../dom";
import { selectedCell } from "../series";
import type { CompareState, CompareView } from "./state";
import { stepTrack } from "./tracks";

const WIDTH = 300;
const HEIGHT = 84;
const PAD = 6;

export function compareLine(root: HTMLElement): CompareView {
  const h = maker(root);
  const picture = svg(root, "svg", {
    class: "opd-line-plot",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    "aria-hidden": "true",
  });
  const [high, low, first, last] = ["high", "low", "first", "last"].map((part) =>
    h("span", { class: `opd-line-${part}` }),
  );
  const box = h("div", { class: "opd-line-box", "aria-hidden": "true" }, high, low, first, last);
  box.prepend(picture);
  root.append(box);

  function draw(state: CompareState, cell: number): void {
    const { steps } = state.steps!;
    const { scale } = state;
    const [from, to] = tokensOf(state.record.cells.starts, cell, state.record.length);
    const span = steps[steps.length - 1] - steps[0] || 1;
    const x = (step: number): number => PAD + ((step - steps[0]) / span) * (WIDTH - 2 * PAD);
    const lowest = scale.scale === "diverging" ? -1 : 0;
    const y = (at: number): number => PAD + ((1 - at) / (1 - lowest)) * (HEIGHT - 2 * PAD);
    let path = "";
    let open = false;
    const points: SVGElement[] = [];
    steps.forEach((step, i) => {
      const value = stepTrack(state, i).track?.cell(from, to) ?? Number.NaN;
      if (Number.isNaN(value)) {
        open = false;
        return;
      }
      const finite = Number.isFinite(value);
      const at = finite ? position(value, scale) : Math.sign(value);
      // What is infinite has no place on a line: it stands open at the edge.
      path += finite ? `${open ? "L" : "M"}${x(step).toFixed(1)} ${y(at).toFixed(1)}` : "";
      open = finite;
      const name = `opd-line-point${finite ? "" : " opd-line-infinite"}${step === state.step ? " opd-line-here" : ""}`;
      points.push(
        svg(root, "circle", {
          class: name,
          cx: x(step),
          cy: y(at),
          r: step === state.step ? 4 : 2.5,
          "data-step": step,
        }),
      );
    });
    const zero = svg(root, "path", { class: "opd-line-zero", d: `M0 ${y(0)}H${WIDTH}` });
    picture.replaceChildren(zero, svg(root, "path", { class: "opd-line-path", d: path }), ...points);
    const signed = scale.scale === "diverging";
    const end = (value: number): string => formatNumber(value, { signed, whole: true });
    setText(high, end(scale.limit));
    setText(low, signed ? end(-scale.limit) : scale.scale === "log" ? "1" : "0");
    setText(first, `step ${steps[0]}`);
    setText(last, `step ${steps[steps.length - 1]}`);
  }

  return {
    update(state) {
      const cell = selectedCell(state);
      box.hidden = cell < 0 || !state.steps;
      if (!box.hidden) draw(state, cell);
    },
    destroy: () => box.remove(),
  };
}
