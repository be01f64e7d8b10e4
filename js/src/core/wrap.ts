/**
 * Cells in rows of one width, so that a view draws only the rows in sight. Rows are made of segments: a cell, or the part of it between
 * two UTF-16 offsets. Segments in order give the text back, character for character.
 */
import { type Edges, edges, graphemes, inner, mayBreak } from "./breaks";

export interface Text {
  readonly texts: readonly string[];
  /** One CellKind a cell. */
  readonly kinds: string;
}

/** Widths in pixels. `name`: drawn as the name of something (special token, control, byte), in smaller type. */
export interface Ruler {
  width(text: string, name: boolean): number;
}

export interface Wrapped {
  rows: number;
  /** First segment of each row, and at the end one past the last: rows + 1 items. */
  first: Uint32Array;
  cell: Uint32Array;
  from: Uint32Array;
  to: Uint32Array;
}

export const isName = (kind: string | undefined): boolean => kind === "p" || kind === "c" || kind === "b";

/** What is known of one distinct text, at one type size. */
interface Shape extends Edges {
  width: number;
  /** Where it may break inside; the cell breaks only there, or, where nothing else helps, between characters. */
  cuts: number[];
  ends: boolean;
}

/** Distinct texts are few beside tokens: each is looked at once. */
export class Shapes {
  private readonly plain = new Map<string, Shape>();
  private readonly names = new Map<string, Shape>();

  constructor(readonly ruler: Ruler) {}

  of(text: string, name: boolean): Shape {
    const known = (name ? this.names : this.plain).get(text);
    if (known) return known;
    const shape: Shape = {
      ...edges(text, name),
      width: this.ruler.width(text, name),
      cuts: name ? [] : inner(text),
      ends: text.endsWith("\n"),
    };
    (name ? this.names : this.plain).set(text, shape);
    return shape;
  }
}

class Out {
  rows = 0;
  count = 0;
  first = new Uint32Array(1024);
  cell = new Uint32Array(4096);
  from = new Uint32Array(4096);
  to = new Uint32Array(4096);

  private static grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
    const next = new Uint32Array(2 * array.length);
    next.set(array);
    return next;
  }

  /** One segment of the row that is being closed; it grows where it goes on with the one before. */
  push(cell: number, from: number, to: number): void {
    const at = this.count - 1;
    if (at >= this.first[this.rows] && this.cell[at] === cell && this.to[at] === from) {
      this.to[at] = to;
      return;
    }
    if (this.count === this.cell.length) {
      this.cell = Out.grown(this.cell);
      this.from = Out.grown(this.from);
      this.to = Out.grown(this.to);
    }
    this.cell[this.count] = cell;
    this.from[this.count] = from;
    this.to[this.count++] = to;
  }

  endRow(): void {
    if (this.rows + 2 > this.first.length) this.first = Out.grown(this.first);
    this.first[++this.rows] = this.count;
  }

  result(): Wrapped {
    const { rows, count } = this;
    return {
      rows,
      first: this.first.slice(0, rows + 1),
      cell: this.cell.slice(0, count),
      from: this.from.slice(0, count),
      to: this.to.slice(0, count),
    };
  }
}

/** The row being filled: parts in order, with the last place where it may end. */
class Filler {
  private n = 0;
  private readonly cells: number[] = [];
  private readonly froms: number[] = [];
  private readonly tos: number[] = [];
  private readonly widths: number[] = [];
  private x = 0;
  /** Parts before the last place to break, and where that is. */
  private kept = 0;
  private keptX = 0;

  constructor(
    private readonly out: Out,
    private readonly width: number,
    private readonly shapes: Shapes,
  ) {}

  /** Ends the row after `parts` parts; the others begin the next. */
  private close(parts: number, x: number): void {
    for (let i = 0; i < parts; i++) this.out.push(this.cells[i], this.froms[i], this.tos[i]);
    this.out.endRow();
    for (let i = parts; i < this.n; i++) {
      this.cells[i - parts] = this.cells[i];
      this.froms[i - parts] = this.froms[i];
      this.tos[i - parts] = this.tos[i];
      this.widths[i - parts] = this.widths[i];
    }
    this.n -= parts;
    this.x -= x;
    this.kept = this.keptX = 0;
  }

  private add(cell: number, from: number, to: number, width: number): void {
    this.cells[this.n] = cell;
    this.froms[this.n] = from;
    this.tos[this.n] = to;
    this.widths[this.n++] = width;
    this.x += width;
  }

  /** Part of a cell that should stay in one row. `open`: the row may end before it. */
  put(cell: number, from: number, to: number, width: number, open: boolean, text: string, name: boolean): void {
    if (open) {
      this.kept = this.n;
      this.keptX = this.x;
    }
    if (this.x + width > this.width && this.n > 0) {
      if (this.kept > 0) this.close(this.kept, this.keptX);
      // What was moved down with it may still be too long for one row.
      if (this.x + width > this.width && this.n > 0) this.close(this.n, this.x);
    }
    if (width <= this.width) this.add(cell, from, to, width);
    else this.split(cell, from, to, text, name);
  }

  /** Wider than a row: broken between characters. */
  private split(cell: number, from: number, to: number, text: string, name: boolean): void {
    let at = from;
    for (const grapheme of graphemes(text.slice(from, to))) {
      const width = this.shapes.ruler.width(grapheme, name);
      if (this.x + width > this.width && this.n > 0) this.close(this.n, this.x);
      this.add(cell, at, at + grapheme.length, width);
      at += grapheme.length;
    }
  }

  /** A line break: whatever comes next begins a row. */
  endLine(): void {
    this.close(this.n, this.x);
    this.x = 0;
  }

  finish(): void {
    if (this.n > 0) this.endLine();
  }
}

function putInParts(filler: Filler, shapes: Shapes, cell: number, text: string, shape: Shape, open: boolean): void {
  let from = 0;
  for (let i = 0; i <= shape.cuts.length; i++) {
    const to = i < shape.cuts.length ? shape.cuts[i] : text.length;
    const part = text.slice(from, to);
    filler.put(cell, from, to, shapes.ruler.width(part, false), i > 0 || open, text, false);
    if (part.endsWith("\n")) filler.endLine();
    from = to;
  }
}

/** Rows at most `width` pixels wide; only a character that is wider by itself has a wider one. */
export function wrap({ texts, kinds }: Text, shapes: Shapes, width: number): Wrapped {
  const out = new Out();
  const filler = new Filler(out, width, shapes);
  let before: Shape | null = null;
  for (let cell = 0; cell < texts.length; cell++) {
    const text = texts[cell];
    const name = isName(kinds[cell]);
    const shape = shapes.of(text, name);
    const open = before !== null && mayBreak(before, shape);
    if (shape.cuts.length > 0) putInParts(filler, shapes, cell, text, shape, open);
    else {
      filler.put(cell, 0, text.length, shape.width, open, text, name);
      if (shape.ends || kinds[cell] === "n") filler.endLine();
    }
    before = shape;
  }
  filler.finish();
  return out.result();
}

/** The first segment of a cell. */
export function segmentOf({ cell }: Wrapped, wanted: number): number {
  let low = 0;
  let high = cell.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cell[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row that holds a segment. */
export function rowOf({ first, rows }: Wrapped, segment: number): number {
  let low = 0;
  let high = Math.max(0, rows - 1);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (first[middle] <= segment) low = middle;
    else high = middle - 1;
  }
  return low;
}
