/** Steps by tokens as a map of colours. A press or a drag selects the step and the token there. */
import { cellOf, tokensOf } from "../../core/cells";
import { heat } from "../../core/compare/heat";
import { maker, setAttribute, svg } from "../dom";
import { scrub } from "../scrub";
import { selectedCell } from "../series";
import { changed } from "../state";
import type { CompareActions, CompareState, CompareView } from "./state";

/** Pixels a step, between these, so that the whole stays about `TALL` high. */
const ROW = { least: 3, most: 16 };
const TALL = 240;

/** Rules by class: the classes colour the ground of text cells, here the same colours fill shapes. */
function fill(name: string): string {
  const step = /^opd-v-([npq]\d+)$/.exec(name)?.[1];
  if (step) return `var(--opd-${step})`;
  return (
    { "opd-v-inf": "var(--opd-p-mark)", "opd-v-ninf": "var(--opd-n-mark)", "opd-v-noise": "var(--opd-noise)" }[name] ??
    "none"
  );
}

interface Parts {
  picture: SVGElement;
  frame: HTMLElement;
  labels: HTMLElement;
}

function draw(state: CompareState, { picture, frame, labels }: Parts): void {
  const h = maker(frame);
  const { data, rollout, signal, teacher, scale, record } = state;
  const { steps, values } = state.steps!;
  const none = new Float32Array(record.length).fill(Number.NaN);
  const map = heat(
    steps.map((_, i) => values(i, rollout, signal, teacher) ?? none),
    data.mask(rollout),
    scale,
  );
  const height = Math.max(ROW.least, Math.min(ROW.most, TALL / steps.length));
  setAttribute(picture, "viewBox", `0 0 ${map.columns} ${map.rows}`);
  frame.style.height = labels.style.height = `${Math.round(height * steps.length)}px`;
  picture.replaceChildren(
    ...[...map.paths].map(([name, d]) => {
      const path = svg(frame, "path", { d, "data-colour": name });
      path.style.fill = fill(name);
      return path;
    }),
  );
  const few = steps.length <= 16;
  const named = few ? steps : [steps[0], steps[steps.length - 1]];
  labels.replaceChildren(...named.map((step) => h("span", { "data-step": step }, String(step))));
  setAttribute(labels, "data-few", few ? "" : null);
  setAttribute(
    frame,
    "aria-label",
    `${scale.label} at steps ${steps[0]} to ${steps[steps.length - 1]}, ${record.length} tokens`,
  );
}

export function compareHeat(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const life = new AbortController();
  const picture = svg(root, "svg", { class: "opd-heat-plot", preserveAspectRatio: "none", "aria-hidden": "true" });
  const column = h("span", { class: "opd-heat-column" });
  const row = h("span", { class: "opd-heat-row" });
  const frame = h("div", { class: "opd-heat-frame", role: "img" }, column, row);
  frame.prepend(picture);
  const labels = h("div", { class: "opd-heat-labels", "aria-hidden": "true" });
  const box = h("div", { class: "opd-heat" }, labels, frame);
  root.append(h("span", { class: "opd-heading" }, "Steps by tokens, the whole rollout"), box);
  const head = box.previousElementSibling;
  let last: CompareState | null = null;

  scrub({
    box: frame,
    signal: life.signal,
    at(x, y) {
      const place = frame.getBoundingClientRect();
      if (!last?.steps || place.width === 0 || last.record.length === 0) return;
      const { length, cells } = last.record;
      const { steps } = last.steps;
      const at = (share: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
      const token = cells.starts[cellOf(cells.starts, at((x - place.left) / place.width, length))];
      const step = steps[at((y - place.top) / place.height, steps.length)];
      if (step !== last.step) actions.arrange({ step });
      if (token !== last.token) actions.select({ token });
    },
  });

  return {
    update(state) {
      if (!state.steps) return;
      if (changed(last, state, "data", "record", "teacher", "signal", "scale") || last?.steps !== state.steps)
        draw(state, { picture, frame, labels });
      last = state;
      const { steps } = state.steps;
      const cell = selectedCell(state);
      const { length, cells } = state.record;
      column.hidden = cell < 0;
      const [from, to] = cell < 0 ? [0, 0] : tokensOf(cells.starts, cell, length);
      column.style.left = `${(100 * from) / length}%`;
      column.style.width = `${(100 * (to - from)) / length}%`;
      row.style.top = `${(100 * steps.indexOf(state.step)) / steps.length}%`;
      row.style.height = `${100 / steps.length}%`;
    },
    destroy() {
      life.abort();
      head?.remove();
      box.remove();
    },
  };
}
