/** Rows of token cells, of which only those in sight exist. Each lies at its place in a sheet as high as the whole text. */
import type { Wrapped } from "../../core/wrap";
import type { Cells } from "../../model/contract";
import { type Maker, maker, setAttribute, uniqueId } from "../dom";
import { cellClass, refillText, spoken } from "./cell";

interface Row {
  node: HTMLElement;
  cells: HTMLSpanElement[];
  /** Texts and classes as last written: reading them back from the DOM costs more. */
  texts: string[];
  names: string[];
  kinds: string[];
  /** Drawn in haste, without the signs of spaces. */
  bare: boolean;
  /** First segment. */
  first: number;
}

/** Rows out of use that are kept: a windowful is written anew far sooner than it is made anew. */
const KEPT = 32;

export interface Marks {
  /** The selected cell; -1 for none. */
  selected: number;
  companions: ReadonlySet<number>;
  found: ReadonlySet<number> | null;
  current: number;
}

export class TextRows {
  readonly sheet: HTMLElement;
  private readonly h: Maker;
  private readonly uid = uniqueId();
  /** Stands after all rows, so that a selection of everything keeps its end while rows come and go. */
  readonly end: HTMLElement;
  private rows = new Map<number, Row>();
  private unused: Row[] = [];
  /** Cells that carry a mark. */
  private readonly decorated = new WeakSet<HTMLElement>();
  private cells: Cells = { starts: [], texts: [], kinds: "" };
  private classes: (cell: number) => string = () => "";
  private marks: Marks = { selected: -1, companions: new Set(), found: null, current: -1 };
  wrapped: Wrapped | null = null;
  /** Height of a row in pixels. */
  height = 40;

  constructor(root: HTMLElement) {
    this.h = maker(root);
    this.end = this.h("span", { class: "opd-sheet-end", "aria-hidden": "true" });
    this.sheet = this.h("div", { class: "opd-sheet", role: "presentation" }, this.end);
  }

  /** Another text, or the same in other rows: nothing of the old ones is left. */
  renew(cells: Cells, wrapped: Wrapped, height: number): void {
    this.cells = cells;
    this.wrapped = wrapped;
    this.height = height;
    for (const row of this.rows.values()) this.put(row);
    this.rows.clear();
    this.sheet.style.height = `${wrapped.rows * height}px`;
  }

  private put(row: Row): void {
    row.node.remove();
    if (this.unused.length < KEPT) this.unused.push(row);
  }

  /**
   * Draws these rows, in ascending order, and no others. Rows that are not wanted any more are written anew where they stand.
   * `bare`: in haste, new rows go without the signs of spaces until they are drawn again.
   */
  draw(wanted: readonly number[], bare = false): void {
    const keep = new Set(wanted);
    const left: Row[] = [];
    for (const [index, row] of this.rows) {
      if (keep.has(index)) continue;
      left.push(row);
      this.rows.delete(index);
    }
    let taken = 0;
    let cursor = this.sheet.firstChild;
    for (const index of wanted) {
      let row = this.rows.get(index);
      if (!row) {
        row = left[taken++] ?? this.unused.pop() ?? this.make();
        this.fill(row, index, bare);
        this.rows.set(index, row);
        if (row.node !== cursor) this.sheet.insertBefore(row.node, cursor);
      } else if (row.bare && !bare) this.fill(row, index, bare);
      cursor = row.node.nextSibling;
    }
    for (const row of left.slice(taken)) this.put(row);
  }

  get drawn(): readonly number[] {
    return [...this.rows.keys()].sort((a, b) => a - b);
  }

  paint(classes: (cell: number) => string): void {
    this.classes = classes;
    const { cell } = this.wrapped ?? { cell: [] };
    for (const row of this.rows.values())
      for (let i = 0; i < row.cells.length; i++) this.colour(row, i, cell[row.first + i]);
  }

  select(selected: number, companions: ReadonlySet<number>): void {
    const before = this.marks;
    this.marks = { ...before, selected, companions };
    for (const cell of new Set([before.selected, selected, ...before.companions, ...companions])) this.redecorate(cell);
  }

  find(found: ReadonlySet<number> | null, current: number): void {
    if (found === this.marks.found && current === this.marks.current) return;
    this.marks = { ...this.marks, found, current };
    for (const { cells, first } of this.rows.values())
      for (const [i, node] of cells.entries()) this.decorate(node, this.wrapped!.cell[first + i]);
  }

  /** The nodes of a cell that are drawn. */
  private redecorate(cell: number): void {
    if (cell < 0 || !this.wrapped) return;
    for (const { cells, first } of this.rows.values()) {
      const last = first + cells.length - 1;
      if (cells.length === 0 || this.wrapped.cell[first] > cell || this.wrapped.cell[last] < cell) continue;
      for (let s = first; s <= last; s++) if (this.wrapped.cell[s] === cell) this.decorate(cells[s - first], cell);
    }
  }

  private marked(cell: number): boolean {
    const { selected, companions, found } = this.marks;
    return cell === selected || companions.has(cell) || (found?.has(cell) ?? false);
  }

  private decorate(node: HTMLElement, cell: number): void {
    const { selected, companions, found, current } = this.marks;
    const here = cell === selected;
    setAttribute(node, "aria-selected", here ? "true" : null);
    // Only what is pointed at needs a name.
    setAttribute(node, "id", here && !node.hasAttribute("data-from") ? this.id(cell) : null);
    setAttribute(node, "data-with", companions.has(cell) ? "" : null);
    setAttribute(node, "data-found", found?.has(cell) ? (cell === current ? "current" : "") : null);
    if (this.marked(cell)) this.decorated.add(node);
    else this.decorated.delete(node);
  }

  /** The id of the selected cell's first node. */
  id(cell: number): string {
    return `${this.uid}-${cell}`;
  }

  private make(): Row {
    const node = this.h("div", { class: "opd-line", role: "presentation" });
    return { node, cells: [], texts: [], names: [], kinds: [], bare: false, first: 0 };
  }

  /** Writes a row into nodes that may hold another: only what differs. */
  private fill(row: Row, index: number, bare: boolean): void {
    const { first, cell, from, to } = this.wrapped!;
    const { texts } = this.cells;
    row.first = first[index];
    row.node.dataset.row = String(index);
    row.node.style.top = `${index * this.height}px`;
    const count = first[index + 1] - first[index];
    for (const list of [row.texts, row.names, row.kinds]) list.length = Math.min(list.length, count);
    for (const node of row.cells.splice(count)) node.remove();
    const size = String(texts.length);
    for (let i = 0; i < count; i++) {
      const s = first[index] + i;
      const at = cell[s];
      const whole = from[s] === 0 && to[s] === texts[at].length;
      const text = whole ? texts[at] : texts[at].slice(from[s], to[s]);
      const node = row.cells[i] ?? this.h("span", { role: "option" });
      node.dataset.cell = String(at);
      setAttribute(node, "aria-posinset", String(at + 1));
      setAttribute(node, "aria-setsize", size);
      setAttribute(node, "data-from", from[s] > 0 ? String(from[s]) : null);
      if (i === row.cells.length) {
        row.cells.push(node);
        row.node.append(node);
      }
      if (text !== row.texts[i]) setAttribute(node, "aria-label", spoken(text));
      if (text !== row.texts[i] || bare !== row.bare) refillText(this.h, node, text, bare);
      row.texts[i] = text;
      this.colour(row, i, at);
      if (this.decorated.has(node) || this.marked(at)) this.decorate(node, at);
    }
    row.bare = bare;
  }

  private colour(row: Row, i: number, cell: number): void {
    const kind = this.cells.kinds[cell];
    const name = this.classes(cell);
    if (name === row.names[i] && kind === row.kinds[i]) return;
    row.names[i] = name;
    row.kinds[i] = kind;
    row.cells[i].className = `${cellClass(kind)} ${name}`;
  }
}
