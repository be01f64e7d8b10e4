/** One row of a text's cells under a teacher, small, with its figures beside it. Only the cells in sight are drawn. */
import type { Cells } from "../../model/contract";
import { type Maker, maker } from "../dom";
import { cellClass, refillText } from "./cell";

export interface CellRow {
  teacher: string;
  node: HTMLElement;
  /** As wide as the whole text; its cells begin where they belong. */
  text: HTMLElement;
  shown: HTMLElement;
  cells: HTMLSpanElement[];
  /** Classes as last written. */
  names: string[];
  figures: HTMLElement[];
  marked: HTMLElement | null;
}

/** Which cells are drawn, and where they stand: pixels from the text's start, and its whole width. */
export interface Stretch {
  from: number;
  to: number;
  left: number;
  width: number;
}

export function makeRow(h: Maker, teacher: string, description: string, figures: HTMLElement[]): CellRow {
  const shown = h("div", { class: "opd-trow-shown" });
  const text = h("div", { class: "opd-trow-tokens", dir: "ltr", "aria-hidden": "true" }, shown);
  const node = h(
    "div",
    { class: "opd-trow", role: "radio", "data-teacher-row": teacher, title: description || null },
    h("span", { class: "opd-trow-name" }, teacher),
    text,
    h("span", { class: "opd-trow-figures" }, ...figures),
  );
  return { teacher, node, text, shown, cells: [], names: [], figures, marked: null };
}

/** Puts the cells of a stretch into a row, without their colours. Cells that were there already stay; others are written anew. */
export function fillRow(root: Node, row: CellRow, { texts }: Cells, next: Stretch, before: Stretch | null): void {
  const h = maker(root);
  const stays = (i: number): boolean => before !== null && i >= before.from && i < before.to;
  const start = before?.from ?? 0;
  const spare = row.cells.map((_, i) => i).filter((i) => !(before && start + i >= next.from && start + i < next.to));
  let used = 0;
  const names: string[] = [];
  const cells: HTMLSpanElement[] = [];
  for (let i = next.from; i < next.to; i++) {
    const had = stays(i) ? i - start : spare[used++];
    const node = had === undefined ? h("span", {}) : row.cells[had];
    names.push(had === undefined ? "" : row.names[had]);
    cells.push(node);
    if (stays(i)) continue;
    node.dataset.cell = String(i);
    refillText(h, node, texts[i], false);
  }
  const moved = cells.length !== row.cells.length || cells.some((node, i) => node !== row.cells[i]);
  row.cells = cells;
  row.names = names;
  if (moved) row.shown.replaceChildren(...cells);
  const [left, width] = [`${next.left}px`, `${next.width}px`];
  if (row.shown.style.left !== left) row.shown.style.left = left;
  if (row.text.style.width !== width) row.text.style.width = width;
}

/** `classes`: those beside a cell's kind. */
export function paintRow(row: CellRow, { kinds }: Cells, classes: (cell: number) => string, from: number): void {
  for (const [i, node] of row.cells.entries()) {
    const name = `${cellClass(kinds[from + i])} ${classes(from + i)}`;
    if (row.names[i] === name) continue;
    row.names[i] = name;
    node.className = name;
  }
}
