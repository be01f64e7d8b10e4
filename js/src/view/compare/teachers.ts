/** Teachers on one rollout: the text once a teacher, token under token, and under them what the first says above the second. */
import { isolated } from "../../core/plain_text";
import { maker, setText } from "../dom";
import { selectedCell } from "../series";
import { changed } from "../state";
import { alignedText } from "./aligned_text";
import { compareMultiples } from "./multiples";
import { comparePair } from "./pair";
import { compareScale } from "./scale";
import type { CompareActions, CompareState, CompareView } from "./state";
import { differenceTrack, type ShownTrack, teacherTrack, trackClass } from "./tracks";
import { compareValues } from "./values";

function tracksOf(state: CompareState): ShownTrack[] {
  const rows = state.compared.map((teacher) => teacherTrack(state, teacher));
  const below = rows.length > 1 ? differenceTrack(state, rows[0], rows[1]) : null;
  return below ? [...rows, below] : rows;
}

/** Why there is no difference to draw; nothing where there is one. */
function lacking({ scale, compared, data, rollout, signal }: CompareState): string {
  if (!scale.per_teacher)
    return `${scale.label} is the student’s own: the same under every teacher, so nothing differs.`;
  const without = compared.slice(0, 2).filter((name) => data.values(rollout, signal, name) === null);
  return without.length > 0
    ? `${without.map(isolated).join(" and ")}: no ${scale.label}, so there is no difference.`
    : "";
}

export function compareTeachers(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const life = new AbortController();
  let last: CompareState | null = null;
  let tracks: ShownTrack[] = [];
  const pair = comparePair(root, actions);
  const scale = compareScale(root, actions, (state) => state.difference);
  const note = h("p", { class: "opd-quiet opd-compare-note", role: "note" });
  root.append(note);
  const text = alignedText({
    root,
    label: "Tokens under the compared teachers",
    signal: life.signal,
    pick(cell, track) {
      if (!last) return;
      const teacher = last.compared[track];
      const token = last.record.cells.starts[cell];
      actions.select(teacher === undefined ? { token } : { token, teacher });
    },
  });
  const values = compareValues(root);
  const multiples = compareMultiples(root, actions);

  return {
    update(state) {
      const other = changed(last, state, "data", "record", "signal", "scale");
      if (
        other ||
        last?.compared.join("\u0000") !== state.compared.join("\u0000") ||
        last?.difference !== state.difference
      ) {
        const before = tracks.map((track) => track.id).join("\u0000");
        tracks = tracksOf(state);
        if (changed(last, state, "record") || before !== tracks.map((track) => track.id).join("\u0000"))
          text.show(state.record.cells, tracks);
        text.paint((track, cell) => trackClass(state, tracks[track], cell));
      }
      last = state;
      const why = lacking(state);
      note.hidden = why === "";
      setText(note, why);
      pair.update(state);
      scale.update(state);
      text.select(selectedCell(state), state.compared.indexOf(state.teacher));
      values.update(state, tracks);
      multiples.update(state);
    },
    destroy() {
      life.abort();
      for (const view of [pair, scale, text, values, multiples]) view.destroy();
      note.remove();
    },
  };
}
