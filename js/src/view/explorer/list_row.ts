/** One rollout in the list: outcome, what it says, its shape, its mean, its length. */
import { plural } from "../../core/format";
import { formatFigure } from "../../core/stats";
import { maker, setAttribute, setText } from "../dom";
import { outcomeMark } from "../outcome";
import { plot } from "../plot";
import type { ViewState } from "../state";
import { profileOf } from "../text/profile";

const HEIGHT = 18;
const WIDTH = 64;

export interface ListRow {
  node: HTMLElement;
  update(state: ViewState, selected: boolean): void;
}

export function listRow(root: Node, state: ViewState, index: number, id: string): ListRow {
  const h = maker(root);
  const record = state.data.rollout(index);
  const chart = plot(root, "opd-spark");
  const mean = h("span", { class: "opd-row-mean" });
  const node = h(
    "div",
    { class: "opd-row", role: "option", id, "data-rollout": index, title: `${record.title}\n${record.label}` },
    outcomeMark(h, record.outcome),
    h("span", { class: "opd-row-label", dir: "ltr" }, h("bdi", {}, record.label)),
    chart.node as unknown as HTMLElement,
    mean,
    h("span", { class: "opd-row-length", title: `${record.length} tokens` }, String(record.length)),
  );

  return {
    node,
    update(now, selected) {
      const { data, signal, teacher, scale } = now;
      chart.draw(profileOf(now, index, WIDTH, HEIGHT), HEIGHT, scale.scale === "diverging");
      const figures = data.stats(index, signal, teacher);
      const infinite = figures.below + figures.above;
      const signed = scale.scale === "diverging";
      setText(mean, formatFigure(figures.mean, figures, { signed }));
      const aside = infinite ? `, beside ${infinite} infinite` : "";
      const what = data.groups(index, signal, teacher) ? "group" : "token";
      setAttribute(mean, "title", `mean ${scale.label} of ${plural(figures.finite, what)}${aside}`);
      setAttribute(node, "aria-selected", String(selected));
    },
  };
}
