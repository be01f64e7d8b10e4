/** The same tokens under every teacher, in aligned columns: where one punishes and another lets pass is seen at once. */
import { maker, reveal, setAttribute } from "./dom";
import { selectedCell } from "./series";
import { type Actions, changed, type View, type ViewState } from "./state";
import { colourRow, makeRow, type TeacherRow, windowFor } from "./teacher_row";

function makeHead(root: HTMLElement): HTMLElement {
  const h = maker(root);
  const head = h("div", { class: "opd-trows-head" }, h("span", { class: "opd-heading" }, "All teachers"));
  head.append(
    h(
      "span",
      { class: "opd-trow-figures" },
      h("span", { class: "opd-trow-figure" }, "mean"),
      h("span", { class: "opd-trow-figure" }, "sum"),
    ),
  );
  return head;
}

export function teacherRows(root: HTMLElement, actions: Actions): View {
  const h = maker(root);
  const life = new AbortController();
  const scroll = h("div", { class: "opd-trows", role: "radiogroup", "aria-label": "All teachers" });
  const head = makeHead(root);
  root.append(head, scroll);
  let last: ViewState | null = null;
  let rows: TeacherRow[] = [];
  let range: [number, number] | null = null;

  scroll.addEventListener(
    "click",
    (event) => {
      const target = event.target as Element;
      const teacher = target.closest("[data-teacher-row]")?.getAttribute("data-teacher-row");
      const cell = target.closest("[data-cell]")?.getAttribute("data-cell");
      if (!teacher || !last) return;
      actions.select(cell ? { teacher, token: last.record.cells.starts[Number(cell)] } : { teacher });
    },
    { signal: life.signal },
  );

  scroll.addEventListener(
    "keydown",
    (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const next = rows[rows.findIndex((row) => row.node === event.target) + (step ?? 0)];
      if (!step || !next) return;
      event.preventDefault();
      event.stopPropagation();
      next.node.focus();
      actions.select({ teacher: next.teacher });
    },
    { signal: life.signal },
  );

  function mark(state: ViewState): void {
    const at = selectedCell(state);
    for (const row of rows) {
      setAttribute(row.node, "aria-checked", String(row.teacher === state.teacher));
      row.node.tabIndex = row.teacher === state.teacher ? 0 : -1;
      row.marked?.removeAttribute("data-selected");
      row.marked = row.cells[at - range![0]] ?? null;
      row.marked?.setAttribute("data-selected", "");
    }
    const here = rows[0]?.marked;
    if (here) reveal(scroll, here, 140);
  }

  return {
    update(state) {
      const fresh = changed(last, state, "record") || last?.data.meta !== state.data.meta;
      const next = windowFor(state.record.cells.starts.length, selectedCell(state), fresh ? null : range);
      const rebuilt = fresh || next !== range;
      if (rebuilt) {
        range = next;
        rows = state.data.teachers.map((t) => makeRow(root, state, t.name, next));
        scroll.replaceChildren(...rows.map((r) => r.node));
        scroll.scrollLeft = 0;
      }
      if (rebuilt || changed(last, state, "data", "signal")) for (const row of rows) colourRow(row, state, next[0]);
      head.hidden = scroll.hidden = rows.length < 2;
      last = state;
      mark(state);
    },
    destroy() {
      life.abort();
      head.remove();
      scroll.remove();
    },
  };
}
