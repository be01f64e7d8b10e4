/** The rollout's tokens under every teacher, one row each: where one punishes and another lets pass is seen at once. */

import { selectedCell, series } from "../series";
import { type Actions, changed, type View, type ViewState } from "../state";
import { cellRows, type RowsShown } from "../text/cell_rows";
import { sayFigures } from "./teacher_row";

const COLUMNS = [
  { text: "mean", name: "opd-trow-mean" },
  { text: "sum", name: "opd-trow-sum" },
];

const shown = (state: ViewState): RowsShown => ({
  cells: state.record.cells,
  teachers: state.data.teachers,
  teacher: state.teacher,
  selected: selectedCell(state),
  classes(teacher) {
    const { masked, colour } = series(state, teacher);
    return (cell) => (masked(cell) ? `opd-masked ${colour(cell)}` : colour(cell));
  },
});

export function teacherRows(root: HTMLElement, actions: Actions): View {
  let last: ViewState | null = null;
  const view = cellRows({
    root,
    columns: COLUMNS,
    pick(teacher, cell) {
      if (last) actions.select(cell === null ? { teacher } : { teacher, token: last.record.cells.starts[cell] });
    },
  });
  return {
    update(state) {
      const fresh = changed(last, state, "record") || last?.data.meta !== state.data.meta;
      const other = changed(last, state, "data", "signal");
      last = state;
      view.show(shown(state), fresh, other);
      if (fresh || other) for (const row of view.rows) sayFigures(row, state);
    },
    destroy: view.destroy,
  };
}
