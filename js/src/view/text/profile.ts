/**
 * The whole rollout as bars round a zero line: what a reader sees of a text that is longer than the window. The part in view is
 * bracketed, the selection and what was found are marked; press or drag to go there.
 */
import { cellOf, tokensOf } from "../../core/cells";
import { groupOf } from "../../core/groups";
import { type Profile, profile } from "../../core/profile";
import type { ScaleSpec } from "../../core/scale";
import { kept } from "../cache";
import { maker, setAttribute, svg } from "../dom";
import { plot } from "../plot";
import { scrub } from "../scrub";
import { drawn, selectedCell } from "../series";
import { type Actions, changed, type View, type ViewState } from "../state";

export const PROFILE_HEIGHT = 56;
/** About the pixels it takes; more bars than pixels would be drawn for nothing. */
export const PROFILE_WIDTH = 900;

export interface ProfileView extends View {
  /** Brackets the cells in view: first and one past the last. */
  inView(range: readonly [number, number]): void;
  /** Ticks where something was found: first cells, ascending. */
  found(cells: readonly number[]): void;
}

/** The drawing of one rollout under one signal and teacher, made once. */
export function profileOf(state: ViewState, rollout: number, width: number, height: number): Profile {
  const { data, signal, teacher } = state;
  const { scale, limit, noise }: ScaleSpec = state.scale;
  const parts = [rollout, signal, teacher, scale, limit, noise ?? "", width, height];
  return kept(data, "profile", parts, () =>
    profile(drawn(state, rollout), data.mask(rollout), state.scale, width, height),
  );
}

/** Places a mark over some tokens of the whole. */
function span(node: HTMLElement, from: number, to: number, length: number): void {
  node.style.left = `${(100 * from) / length}%`;
  node.style.width = `${(100 * (to - from)) / length}%`;
}

function place(box: HTMLElement, cursor: HTMLElement, state: ViewState): void {
  const { length, cells } = state.record;
  const cell = selectedCell(state);
  cursor.hidden = cell < 0;
  setAttribute(box, "aria-valuemax", String(length));
  setAttribute(box, "aria-valuenow", String(Math.max(1, state.token + 1)));
  setAttribute(box, "aria-valuetext", cell < 0 ? "no token selected" : `token ${state.token + 1} of ${length}`);
  if (cell < 0) return;
  const groups = state.data.groups(state.rollout, state.signal, state.teacher);
  const group = groups && groupOf(groups, state.token);
  const [from, to] = group ?? tokensOf(cells.starts, cell, length);
  span(cursor, from, to, length);
}

/** A tick a column at most, however much was found. */
function ticks(cells: readonly number[], { record }: ViewState): string {
  const columns = new Set(cells.map((cell) => Math.floor((PROFILE_WIDTH * record.cells.starts[cell]) / record.length)));
  return [...columns].map((x) => `M${x} 0h2v5h-2z`).join("");
}

function makeBox(root: HTMLElement) {
  const h = maker(root);
  const chart = plot(root, "opd-profile-plot");
  const marks = svg(root, "path", { class: "opd-plot-found" });
  chart.node.append(marks);
  const cursor = h("span", { class: "opd-profile-cursor" });
  const bracket = h("span", { class: "opd-profile-view", hidden: true });
  const attributes = { class: "opd-profile", role: "slider", tabindex: 0, "aria-label": "Position in the rollout" };
  const box = h("div", { ...attributes, "aria-valuemin": 1 }, bracket, cursor);
  box.prepend(chart.node);
  root.append(box);
  return { box, chart, marks, cursor, bracket };
}

/** Page up and down go a windowful on; arrows, Home and End are keys of the whole widget. */
function pages(box: HTMLElement, move: (windows: number) => void, signal: AbortSignal): void {
  box.addEventListener(
    "keydown",
    (event) => {
      const windows = { PageUp: -1, PageDown: 1 }[event.key];
      if (!windows) return;
      event.preventDefault();
      event.stopPropagation();
      move(windows);
    },
    { signal },
  );
}

export function profileView(root: HTMLElement, actions: Actions): ProfileView {
  const life = new AbortController();
  const { box, chart, marks, cursor, bracket } = makeBox(root);
  let last: ViewState | null = null;
  let view: readonly [number, number] = [0, 0];

  const go = (token: number): void => {
    if (!last || last.record.length === 0) return;
    const { length, cells } = last.record;
    const within = Math.max(0, Math.min(length - 1, token));
    actions.select({ token: cells.starts[cellOf(cells.starts, within)] });
  };
  let frame = { left: 0, width: 0 };
  scrub({
    box,
    signal: life.signal,
    coarse: true,
    at(x, _y, event) {
      // Asked once a drag: it stays where it is, and to ask is to force a layout.
      if (event.type === "pointerdown") frame = box.getBoundingClientRect();
      if (last && frame.width > 0) go(Math.floor(((x - frame.left) / frame.width) * last.record.length));
    },
  });
  pages(box, (windows) => go((last?.token ?? 0) + windows * Math.max(1, view[1] - view[0])), life.signal);

  return {
    update(state) {
      if (changed(last, state, "data", "record", "teacher", "signal", "scale"))
        chart.draw(
          profileOf(state, state.rollout, PROFILE_WIDTH, PROFILE_HEIGHT),
          PROFILE_HEIGHT,
          state.scale.scale === "diverging",
        );
      last = state;
      place(box, cursor, state);
    },
    inView(range) {
      view = range;
      if (!last) return;
      const { starts } = last.record.cells;
      const { length } = last.record;
      const whole = range[0] === 0 && range[1] >= starts.length;
      bracket.hidden = whole;
      if (!whole) span(bracket, starts[range[0]], starts[range[1]] ?? length, length);
    },
    found(cells) {
      setAttribute(marks, "d", last ? ticks(cells, last) : "");
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
