/** One rollout as several checkpoints of a student score it: rows of text, a map of all steps, and the change since the first. */
import { rowsOfSteps } from "../../core/compare/rows";
import { maker, setText } from "../dom";
import { selectedCell } from "../series";
import { changed } from "../state";
import { alignedText } from "./aligned_text";
import { compareHeat } from "./heat";
import { compareLine } from "./line";
import { compareScale } from "./scale";
import type { CompareActions, CompareState, CompareView } from "./state";
import { differenceTrack, type ShownTrack, stepTrack, trackClass } from "./tracks";
import { compareValues } from "./values";

/** Rows of text; the map has all steps. */
const MOST = 8;

function tracksOf(state: CompareState): ShownTrack[] {
  const { steps } = state.steps!;
  const rows = rowsOfSteps(steps.length, steps.indexOf(state.step), MOST).map((i) => stepTrack(state, i));
  const here = stepTrack(state, steps.indexOf(state.step));
  const below = differenceTrack(state, here, stepTrack(state, 0));
  return below ? [...rows, below] : rows;
}

function stepMenu(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const menu = h("select", { class: "opd-select", "aria-label": "Step" });
  const note = h("span", { class: "opd-quiet" });
  const box = h("label", { class: "opd-compare-pair" }, h("span", { class: "opd-quiet" }, "step"), menu, note);
  root.append(box);
  menu.addEventListener("change", () => actions.arrange({ step: Number(menu.value) }));
  let shown = "";
  return {
    update({ steps, step }) {
      const now = steps!.steps.join();
      if (now !== shown) menu.replaceChildren(...steps!.steps.map((s) => h("option", { value: s }, String(s))));
      shown = now;
      menu.value = String(step);
      const some = steps!.steps.length > MOST ? `; rows for some of ${steps!.steps.length} steps, the map has all` : "";
      setText(note, `minus step ${steps!.steps[0]} is the difference${some}`);
    },
    destroy: () => box.remove(),
  };
}

export function compareSteps(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const life = new AbortController();
  let last: CompareState | null = null;
  let tracks: ShownTrack[] = [];
  const menu = stepMenu(root, actions);
  const scale = compareScale(root, actions, (state) => state.difference);
  const text = alignedText({
    root,
    label: "Tokens by training step",
    signal: life.signal,
    pick(cell, track) {
      if (!last?.steps) return;
      const step = last.steps.steps.find((s) => `step ${s}` === tracks[track]?.id);
      if (step !== undefined && step !== last.step) actions.arrange({ step });
      actions.select({ token: last.record.cells.starts[cell] });
    },
  });
  const below = h("div", { class: "opd-compare-below" });
  root.append(below);
  const values = compareValues(below);
  const line = compareLine(below);
  const map = compareHeat(root, actions);

  return {
    update(state) {
      if (!state.steps) return;
      const other = changed(last, state, "data", "record", "teacher", "signal", "scale");
      if (other || last?.steps !== state.steps || last?.step !== state.step || last?.difference !== state.difference) {
        const before = tracks.map((track) => track.title).join("\u0000");
        tracks = tracksOf(state);
        if (changed(last, state, "record") || before !== tracks.map((track) => track.title).join("\u0000"))
          text.show(state.record.cells, tracks);
        text.paint((track, cell) => trackClass(state, tracks[track], cell));
      }
      last = state;
      menu.update(state);
      scale.update(state);
      text.select(
        selectedCell(state),
        tracks.findIndex((track) => track.id === `step ${state.step}`),
      );
      values.update(state, tracks);
      line.update(state);
      map.update(state);
    },
    destroy() {
      life.abort();
      for (const view of [menu, scale, text, values, line, map]) view.destroy();
      below.remove();
    },
  };
}
