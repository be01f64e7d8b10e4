/** The same tokens under every teacher: where one points along the ideal gradient and another against it is seen at once. */

import { standing } from "../../core/node_mark";
import { isolated } from "../../core/plain_text";
import { kept } from "../cache";
import { setAttribute, setText } from "../dom";
import { changed } from "../state";
import { cellRows, type RowsShown } from "../text/cell_rows";
import { type AlignmentActions, type AlignmentPart, type AlignmentState, classes, NO_CELLS, scoreAt } from "./state";

const COLUMNS = [
  { text: "+", title: "nodes along the ideal gradient, the interval above 0" },
  { text: "−", title: "nodes against it, the interval below 0" },
  { text: "±", title: "nodes whose interval holds 0" },
];

const shown = (state: AlignmentState): RowsShown => {
  const { record, places } = state;
  return {
    cells: record ? places.cells(record) : NO_CELLS,
    teachers: places.teachers,
    teacher: places.teachers[state.teacher]?.name ?? "",
    selected: state.token,
    classes: (name) =>
      classes(
        state,
        places.teachers.findIndex((t) => t.name === name),
      ),
  };
};

/** Nodes along, against, and open, of the shown rollout. */
function counts(state: AlignmentState, teacher: number): number[] {
  const { data, record, question, shown: rollout } = state;
  return kept(data, "counts", [question, rollout, teacher], () => {
    const out = [0, 0, 0];
    for (let token = 0; token < (record?.length ?? 0); token++) {
      const score = scoreAt(state, token, teacher);
      const how = standing(score);
      if (how === "open") out[2]++;
      else if (score && how === "scored") out[score.alignment > 0 ? 0 : 1]++;
    }
    return out;
  });
}

export function alignmentRows(root: HTMLElement, actions: AlignmentActions): AlignmentPart {
  const view = cellRows({
    root,
    columns: COLUMNS,
    headName: "opd-a-head",
    boxName: "opd-a-rows",
    pick: (teacher, token) => actions.select(token === null ? { teacher } : { teacher, token }),
  });
  let last: AlignmentState | null = null;
  return {
    update(state) {
      const fresh = changed(last, state, "places", "record", "data");
      last = state;
      view.show(shown(state), fresh, false);
      if (!fresh) return;
      for (const [teacher, { node, figures }] of view.rows.entries()) {
        const found = counts(state, teacher);
        for (const [i, figure] of figures.entries()) setText(figure, String(found[i]));
        const [along, against, open] = found;
        const { name } = state.places.teachers[teacher];
        setAttribute(node, "aria-label", `${isolated(name)}: ${along} along, ${against} against, ${open} open`);
      }
    },
    destroy: view.destroy,
  };
}
