/** Lines of one text, each drawn once a track, token under token; only the lines in sight exist. */
import type { Wrapped } from "../../core/wrap";
import type { Cells } from "../../model/contract";
import { type Maker, maker, setAttribute, uniqueId } from "../dom";
import { cellClass, fillText, spoken } from "../text/cell";

/** One row of every line: a teacher, a step, a difference. */
export interface AlignedTrack {
  id: string;
  name: string;
  title: string;
  /** A row of its own kind, set apart from those above it. */
  apart?: boolean;
}

interface Line {
  node: HTMLElement;
  rows: HTMLElement[];
  cells: HTMLSpanElement[][];
  names: string[][];
  first: number;
}

export class AlignedRows {
  readonly sheet: HTMLElement;
  private readonly h: Maker;
  private readonly uid = uniqueId();
  private readonly lines = new Map<number, Line>();
  private cells: Cells = { starts: [], texts: [], kinds: "" };
  private tracks: readonly AlignedTrack[] = [];
  private classes: (track: number, cell: number) => string = () => "";
  private selected = -1;
  private current = -1;
  wrapped: Wrapped | null = null;
  /** Height of a line with all its rows, in pixels. */
  height = 1;

  constructor(root: HTMLElement) {
    this.h = maker(root);
    this.sheet = this.h("div", { class: "opd-aligned-sheet", role: "presentation" });
  }

  renew(cells: Cells, tracks: readonly AlignedTrack[], wrapped: Wrapped, height: number): void {
    Object.assign(this, { cells, tracks, wrapped, height });
    for (const { node } of this.lines.values()) node.remove();
    this.lines.clear();
    this.sheet.style.height = `${wrapped.rows * height}px`;
  }

  /** Draws these lines, in ascending order, and no others. */
  draw(wanted: readonly number[]): void {
    const keep = new Set(wanted);
    for (const [index, { node }] of this.lines) {
      if (keep.has(index)) continue;
      node.remove();
      this.lines.delete(index);
    }
    let cursor = this.sheet.firstChild;
    for (const index of wanted) {
      const line = this.lines.get(index);
      if (line) cursor = line.node.nextSibling;
      else this.sheet.insertBefore(this.make(index), cursor);
    }
  }

  paint(classes: (track: number, cell: number) => string): void {
    this.classes = classes;
    for (const { cells, names, first } of this.lines.values()) {
      for (const [t, row] of cells.entries()) {
        for (let i = 0; i < row.length; i++) {
          const at = this.wrapped!.cell[first + i];
          const name = classes(t, at);
          if (name === names[t][i]) continue;
          names[t][i] = name;
          row[i].className = `${cellClass(this.cells.kinds[at])} ${name}`;
        }
      }
    }
  }

  select(cell: number, track: number): void {
    const before = this.selected;
    this.selected = cell;
    this.current = track;
    for (const line of this.lines.values()) {
      for (const [t, row] of line.rows.entries()) row.toggleAttribute("data-current", t === track);
      this.decorate(line, [before, cell]);
    }
  }

  /** The id of a cell's first node in the first row. */
  id(cell: number): string {
    return `${this.uid}-${cell}`;
  }

  private decorate({ cells, first }: Line, only: readonly number[] | null): void {
    const { cell } = this.wrapped!;
    for (const [t, row] of cells.entries()) {
      for (let i = 0; i < row.length; i++) {
        const at = cell[first + i];
        if (only && !only.includes(at)) continue;
        const on = at === this.selected;
        row[i].toggleAttribute("data-selected", on);
        if (t === 0) setAttribute(row[i], "aria-selected", on ? "true" : null);
      }
    }
  }

  private make(index: number): HTMLElement {
    const line: Line = {
      node: this.h("div", { class: "opd-aligned-line", role: "presentation", "data-line": index }),
      rows: [],
      cells: [],
      names: [],
      first: this.wrapped!.first[index],
    };
    line.node.style.top = `${index * this.height}px`;
    for (const t of this.tracks.keys()) this.makeRow(line, index, t);
    line.node.append(...line.rows);
    this.decorate(line, null);
    this.lines.set(index, line);
    return line.node;
  }

  private makeRow(line: Line, index: number, t: number): void {
    const { first, cell, from, to } = this.wrapped!;
    const { texts, kinds } = this.cells;
    const { name, title, apart } = this.tracks[t];
    const nodes: HTMLSpanElement[] = [];
    const names: string[] = [];
    for (let s = first[index]; s < first[index + 1]; s++) {
      const at = cell[s];
      const colour = this.classes(t, at);
      const text = texts[at].slice(from[s], to[s]);
      const places = { "aria-posinset": at + 1, "aria-setsize": texts.length, "aria-label": spoken(text) };
      const node = this.h("span", {
        class: `${cellClass(kinds[at])} ${colour}`,
        "data-cell": at,
        "data-from": from[s] || null,
        ...(t === 0 ? { role: "option", id: from[s] === 0 ? this.id(at) : null, ...places } : {}),
      });
      fillText(this.h, node, text);
      nodes.push(node);
      names.push(colour);
    }
    // A screen reader meets the text once; what every row says of a token stands in the table of values.
    const tokens = this.h(
      "span",
      { class: "opd-aligned-tokens", role: "presentation", "aria-hidden": t > 0 ? "true" : null },
      ...nodes,
    );
    const label = this.h("span", { class: "opd-aligned-name", "aria-hidden": "true", title }, this.h("bdi", {}, name));
    const row = this.h("div", { class: "opd-aligned-row", role: "presentation", "data-track": t }, label, tokens);
    row.toggleAttribute("data-apart", apart === true);
    row.toggleAttribute("data-current", t === this.current);
    line.rows.push(row);
    line.cells.push(nodes);
    line.names.push(names);
  }

  /** The text of the cells that a range touches, once, however many rows it crosses. */
  touched(range: Range): string {
    let out = "";
    let [at, to] = [-1, 0];
    for (const node of this.sheet.querySelectorAll<HTMLElement>("[data-cell]")) {
      if (!range.intersectsNode(node)) continue;
      const cell = Number(node.dataset.cell);
      const from = Number(node.dataset.from ?? 0);
      if (cell < at || (cell === at && from < to)) continue;
      out += node.textContent ?? "";
      [at, to] = [cell, from + (node.textContent ?? "").length];
    }
    return out;
  }
}
