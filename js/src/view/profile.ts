/** The whole rollout as bars round a zero line, linked to the selection; drag to scrub. */
import { cellOf, tokensOf } from "../core/cells";
import { groupOf } from "../core/groups";
import { profile } from "../core/profile";
import { maker, setAttribute } from "./dom";
import { plot } from "./plot";
import { scrub } from "./scrub";
import { drawn, selectedCell } from "./series";
import { type Actions, changed, type View, type ViewState } from "./state";

const HEIGHT = 56;
/** About the pixels it takes; more bars than pixels would be drawn for nothing. */
const WIDTH = 900;

export function profileView(root: HTMLElement, actions: Actions): View {
  const h = maker(root);
  const life = new AbortController();
  const chart = plot(root, "opd-profile-plot");
  const cursor = h("span", { class: "opd-profile-cursor" });
  const box = h(
    "div",
    { class: "opd-profile", role: "slider", tabindex: 0, "aria-label": "Position in the rollout", "aria-valuemin": 1 },
    cursor,
  );
  box.prepend(chart.node);
  root.append(box);
  let last: ViewState | null = null;

  scrub({
    box,
    signal: life.signal,
    at(x) {
      const frame = box.getBoundingClientRect();
      if (!last || frame.width === 0 || last.record.length === 0) return;
      const { length, cells } = last.record;
      const token = Math.max(0, Math.min(length - 1, Math.floor(((x - frame.left) / frame.width) * length)));
      actions.select({ token: cells.starts[cellOf(cells.starts, token)] });
    },
  });

  function place(state: ViewState): void {
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
    cursor.style.left = `${(100 * from) / length}%`;
    cursor.style.width = `${(100 * (to - from)) / length}%`;
  }

  return {
    update(state) {
      if (changed(last, state, "data", "record", "teacher", "signal")) {
        const bars = profile(drawn(state, state.rollout), state.data.mask(state.rollout), state.scale, WIDTH, HEIGHT);
        chart.draw(bars, HEIGHT, state.scale.scale === "diverging");
      }
      last = state;
      place(state);
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
