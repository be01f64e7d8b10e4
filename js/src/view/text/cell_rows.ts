/** One text under every teacher, in aligned columns: where one says this and another that is seen at once. */
import { offsets, within } from "../../core/columns";
import type { Cells } from "../../model/contract";
import { maker, setAttribute } from "../dom";
import { onResize } from "../resized";
import { type CellRow, fillRow, makeRow, paintRow, type Stretch } from "./cell_row";
import { DomRuler } from "./ruler";

export interface RowsShown {
  cells: Cells;
  teachers: readonly { name: string; description: string }[];
  teacher: string;
  /** The selected cell; -1 for none. */
  selected: number;
  /** Classes beside those of a cell's kind. */
  classes(teacher: string): (cell: number) => string;
}

/** A figure that stands beside each row. */
export interface FigureColumn {
  text: string;
  title?: string;
  /** Class of its figures. */
  name?: string;
}

export interface CellRowsOptions {
  root: HTMLElement;
  columns: readonly FigureColumn[];
  /** A row was pressed, or gone to by key; `cell` where one was pressed. */
  pick(teacher: string, cell: number | null): void;
  /** Classes of the head and of the rows' box, for the style sheet. */
  headName?: string;
  boxName?: string;
}

export interface CellRowsView {
  readonly rows: readonly CellRow[];
  /** `fresh`: another text or other teachers; `recoloured`: the same in other classes. */
  show(shown: RowsShown, fresh: boolean, recoloured: boolean): void;
  destroy(): void;
}

/** Drawn beside what is in sight, in parts of it: a slow scroll finds its cells there. */
const SPARE = 0.5;
/** Pixels in sight where there is no layout yet; and kept free beside the selected cell. */
const UNKNOWN = 640;
const MARGIN = 40;

class Rows {
  rows: CellRow[] = [];
  private shown: RowsShown | null = null;
  /** The teachers that the rows were made for. */
  private known = "";
  private at: Float64Array = new Float64Array(1);
  private drawn: Stretch | null = null;
  private ruler: DomRuler | null = null;
  /** Pixels of a row's text in sight, and how far it is scrolled, as last read. */
  private sight = 0;
  private left = 0;
  private scrolling = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly box: HTMLElement,
    private readonly figures: () => HTMLElement[],
  ) {}

  renew(shown: RowsShown): void {
    const h = maker(this.root);
    const { teachers } = shown;
    const known = JSON.stringify(teachers.map((t) => [t.name, t.description]));
    const same = known === this.known;
    this.known = known;
    this.shown = shown;
    this.drawn = null;
    if (!same) {
      this.rows = teachers.map((t) => makeRow(h, t.name, t.description, this.figures()));
      this.box.replaceChildren(...this.rows.map((row) => row.node));
      this.ruler = this.rows.length > 0 ? new DomRuler(this.rows[0].text) : null;
    }
    if (this.left !== 0) this.scroll(0);
    this.measure(!same);
  }

  update(shown: RowsShown): void {
    this.shown = shown;
  }

  /** `size`: the box may have another width. */
  private measure(size: boolean): void {
    const { shown, ruler } = this;
    const row = this.rows[0]?.node;
    if (!shown || !ruler || !row) return;
    if (size) {
      const beside = [".opd-trow-name", ".opd-trow-figures"].map(
        (part) => row.querySelector<HTMLElement>(part)?.offsetWidth ?? 0,
      );
      this.sight = Math.max(0, this.box.clientWidth - beside[0] - beside[1]);
    }
    const type = size && ruler.renew();
    if (type || this.at.length !== shown.cells.starts.length + 1 || !this.drawn) {
      ruler.prepare(shown.cells, () => []);
      this.at = offsets(shown.cells, ruler);
      this.drawn = null;
    }
  }

  resize(): void {
    this.measure(true);
    this.draw();
  }

  scrolled(): void {
    const left = this.box.scrollLeft;
    if (this.scrolling || Math.abs(left - this.left) < 1) return;
    this.left = left;
    this.draw();
  }

  /** Draws what is in sight, unless it is there. */
  draw(): void {
    const { shown, at, drawn, left } = this;
    if (!shown || this.rows.length < 2) return;
    const sight = this.sight || UNKNOWN;
    const [from, to] = within(at, left, left + sight);
    if (drawn && from >= drawn.from && to <= drawn.to) return;
    const [first, end] = within(at, left - SPARE * sight, left + (1 + SPARE) * sight);
    const next = { from: first, to: end, left: at[first], width: at[at.length - 1] };
    for (const row of this.rows) fillRow(this.root, row, shown.cells, next, drawn);
    this.drawn = next;
    this.paint();
    this.mark();
  }

  paint(): void {
    const { shown, drawn } = this;
    if (!shown || !drawn) return;
    for (const row of this.rows) paintRow(row, shown.cells, shown.classes(row.teacher), drawn.from);
  }

  /** Brings a cell into sight. */
  reveal(cell: number): void {
    if (cell < 0 || this.sight === 0) return;
    const margin = Math.min(MARGIN, this.sight / 4);
    const [from, to] = [this.at[cell] - margin, this.at[cell + 1] + margin];
    const left = from < this.left ? from : to > this.left + this.sight ? to - this.sight : this.left;
    if (left === this.left) return;
    this.scroll(Math.max(0, left));
    this.draw();
  }

  /** Scrolling forces a layout: it comes when all views have written what they write in this frame. */
  private scroll(left: number): void {
    this.left = left;
    if (this.scrolling) return;
    this.scrolling = true;
    queueMicrotask(() => {
      this.scrolling = false;
      this.box.scrollLeft = this.left;
      this.scrolled();
    });
  }

  mark(): void {
    const { shown, drawn } = this;
    if (!shown) return;
    const at = shown.selected - (drawn?.from ?? 0);
    for (const row of this.rows) {
      const current = row.teacher === shown.teacher;
      setAttribute(row.node, "aria-checked", String(current));
      const index = current ? 0 : -1;
      if (row.node.tabIndex !== index || !row.node.hasAttribute("tabindex")) row.node.tabIndex = index;
      const next = row.cells[at] ?? null;
      if (next === row.marked) continue;
      row.marked?.removeAttribute("data-selected");
      row.marked = next;
      next?.toggleAttribute("data-selected", true);
    }
  }
}

/** A press takes the teacher, and the cell where there is one; arrows go from teacher to teacher. */
function listen(box: HTMLElement, rows: Rows, pick: CellRowsOptions["pick"], signal: AbortSignal): void {
  box.addEventListener(
    "click",
    (event) => {
      const target = event.target as Element;
      const teacher = target.closest("[data-teacher-row]")?.getAttribute("data-teacher-row");
      const cell = target.closest("[data-cell]")?.getAttribute("data-cell");
      if (teacher) pick(teacher, cell ? Number(cell) : null);
    },
    { signal },
  );
  box.addEventListener(
    "keydown",
    (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const next = rows.rows[rows.rows.findIndex((row) => row.node === event.target) + (step ?? 0)];
      if (!step || !next) return;
      event.preventDefault();
      event.stopPropagation();
      next.node.focus();
      pick(next.teacher, null);
    },
    { signal },
  );
  box.addEventListener("scroll", () => rows.scrolled(), { signal, passive: true });
}

export function cellRows({ root, columns, pick, headName = "", boxName = "" }: CellRowsOptions): CellRowsView {
  const h = maker(root);
  const life = new AbortController();
  const box = h("div", { class: `opd-trows ${boxName}`.trim(), role: "radiogroup", "aria-label": "All teachers" });
  const titles = columns.map(({ text, title }) => h("span", { class: "opd-trow-figure", title }, text));
  const head = h(
    "div",
    { class: `opd-trows-head ${headName}`.trim() },
    h("span", { class: "opd-heading" }, "All teachers"),
    h("span", { class: "opd-trow-figures" }, ...titles),
  );
  root.append(head, box);
  const rows = new Rows(root, box, () =>
    columns.map(({ name = "", title }) => h("span", { class: `opd-trow-figure ${name}`.trim(), title })),
  );
  listen(box, rows, pick, life.signal);
  onResize([box], () => rows.resize(), life.signal);
  let selected = -1;

  return {
    get rows() {
      return rows.rows;
    },
    show(shown, fresh, recoloured) {
      head.hidden = box.hidden = shown.teachers.length < 2;
      const moved = fresh || selected !== shown.selected;
      selected = shown.selected;
      if (fresh) rows.renew(shown);
      else rows.update(shown);
      if (moved) rows.reveal(selected);
      if (fresh) rows.draw();
      else if (recoloured) rows.paint();
      rows.mark();
    },
    destroy() {
      life.abort();
      head.remove();
      box.remove();
    },
  };
}
