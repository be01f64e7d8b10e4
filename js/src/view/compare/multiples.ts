/** Every teacher's profile of the whole rollout, on one scale: small multiples. A press selects the teacher and the token there. */

import { cellOf, tokensOf } from "../../core/cells";
import { once } from "../../core/groups";
import { profile } from "../../core/profile";
import { formatFigure } from "../../core/stats";
import { maker, setAttribute, setText } from "../dom";
import { type Plot, plot } from "../plot";
import { selectedCell } from "../series";
import { changed } from "../state";
import type { CompareActions, CompareState, CompareView } from "./state";

const HEIGHT = 36;
/** About the pixels one takes. */
const WIDTH = 280;

interface Item {
  teacher: string;
  node: HTMLButtonElement;
  chart: Plot;
  mean: HTMLElement;
  cursor: HTMLElement;
}

function draw({ teacher, chart, mean, node }: Item, state: CompareState): void {
  const { data, rollout, signal, scale } = state;
  const signed = scale.scale === "diverging";
  const values = data.values(rollout, signal, teacher) ?? [];
  const groups = data.groups(rollout, signal, teacher);
  chart.draw(profile(groups ? once(values, groups) : values, data.mask(rollout), scale, WIDTH, HEIGHT), HEIGHT, signed);
  const figures = data.stats(rollout, signal, teacher);
  const infinite = figures.below + figures.above;
  setText(mean, formatFigure(figures.mean, figures, { signed }));
  setAttribute(mean, "title", infinite ? `mean; beside ${infinite} infinite` : "mean");
  setAttribute(
    node,
    "aria-description",
    `mean ${scale.label} over the rollout${infinite ? `, beside ${infinite} infinite` : ""}`,
  );
}

export function compareMultiples(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const life = new AbortController();
  const head = h("span", { class: "opd-heading" }, "All teachers, the whole rollout");
  const box = h("div", { class: "opd-multiples", role: "group", "aria-label": "All teachers, the whole rollout" });
  root.append(head, box);
  let items: Item[] = [];
  let last: CompareState | null = null;

  function make(teacher: string): Item {
    const chart = plot(root, "opd-multiple-plot");
    const mean = h("span", { class: "opd-figure" });
    const cursor = h("span", { class: "opd-profile-cursor" });
    const frame = h("span", { class: "opd-multiple-frame" }, cursor);
    frame.prepend(chart.node);
    const name = h("span", { class: "opd-multiple-head" }, h("bdi", {}, teacher), mean);
    const node = h("button", { type: "button", class: "opd-multiple", "data-multiple": teacher }, name, frame);
    node.addEventListener(
      "click",
      (event) => {
        const { left, width } = frame.getBoundingClientRect();
        const { length, cells } = last!.record;
        const share = (event.clientX - left) / width;
        // By keyboard a press has no place.
        if (event.detail === 0 || !(share >= 0 && share < 1) || length === 0) return actions.select({ teacher });
        actions.select({ teacher, token: cells.starts[cellOf(cells.starts, Math.floor(share * length))] });
      },
      { signal: life.signal },
    );
    return { teacher, node, chart, mean, cursor };
  }

  return {
    update(state) {
      const names = state.data.teachers.map((t) => t.name);
      const rebuilt = names.join("\u0000") !== items.map((item) => item.teacher).join("\u0000");
      if (rebuilt) {
        items = names.map(make);
        box.replaceChildren(...items.map((item) => item.node));
      }
      if (rebuilt || changed(last, state, "data", "record", "signal", "scale"))
        for (const item of items) draw(item, state);
      last = state;
      const cell = selectedCell(state);
      const [from, to] = cell < 0 ? [0, 0] : tokensOf(state.record.cells.starts, cell, state.record.length);
      for (const { teacher, node, cursor } of items) {
        setAttribute(node, "aria-pressed", String(teacher === state.teacher));
        cursor.hidden = cell < 0;
        cursor.style.left = `${(100 * from) / state.record.length}%`;
        cursor.style.width = `${(100 * (to - from)) / state.record.length}%`;
      }
    },
    destroy() {
      life.abort();
      head.remove();
      box.remove();
    },
  };
}
