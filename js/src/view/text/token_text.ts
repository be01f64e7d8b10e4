/**
 * A text of token cells of any length. It is broken into rows of one height here rather than by the browser, so that only the rows in
 * sight need to exist: the DOM, and with it a change of colours, does not grow with the text.
 */
import { rowOf, segmentOf } from "../../core/wrap";
import type { Cells } from "../../model/contract";
import { maker, setAttribute } from "../dom";
import { onResize } from "../resized";
import { dragged, scrubCells } from "../scrub";
import { Breaking } from "./breaking";
import { copyTrueText, selectUpTo } from "./copy";
import { printing } from "./printing";
import { TextRows } from "./rows";
import { rowsOfSelection, selectedTokens } from "./selection";

export interface TokenTextOptions {
  /** The text is appended here. */
  root: HTMLElement;
  /** Accessible name of the listbox. */
  label: string;
  signal: AbortSignal;
  /** A cell was pressed or scrubbed over. */
  pick(cell: number): void;
  /** The part in view changed. */
  scrolled?(): void;
}

export interface TokenText {
  /** The listbox; it scrolls. */
  readonly node: HTMLElement;
  /** Another text. */
  show(cells: Cells): void;
  /** Classes beside those of a cell's kind; called for the cells in the DOM now, and for others when they come into view. */
  paint(classes: (cell: number) => string): void;
  /** Outlines a cell and brings it into view; -1 for none. Companions are outlined with it. */
  select(cell: number, companions?: readonly number[]): void;
  /** Marks what was found. */
  mark(cells: ReadonlySet<number> | null, current?: number): void;
  /** First and one-past-last cell in view. */
  readonly range: readonly [number, number];
  /** Brings a cell into view without selecting it. */
  scrollTo(cell: number): void;
  destroy(): void;
}

/** Rows drawn above and below those in view, so that a slow scroll finds them there. */
const SPARE = 2;
/** Milliseconds until they, and the signs of spaces, are drawn after a leap: while a drag leaps on, it would be for nothing. */
const LATER = 120;
/** Sizes in pixels for where there is no layout yet: a cell that is hidden, or not in the page. */
const UNKNOWN = { height: 640, row: 40 };

const NO_CELLS: Cells = { starts: [], texts: [], kinds: "" };

class Flow {
  readonly box: HTMLElement;
  readonly rows: TextRows;
  private readonly breaking: Breaking;
  cells = NO_CELLS;
  selected = -1;
  /** Of the box, in pixels, as of the last resize or scroll: reading them anew would force a layout. */
  private height = 0;
  top = 0;
  /** A cell to bring into view once there is a view. */
  private awaited = -1;
  private all = false;
  /** How far the box was scrolled when it was last drawn. */
  private drawnAt = 0;
  private later = 0;
  /** Rows that hold the ends of the selection. */
  private held: number[] = [];
  private scrolling = false;

  constructor(
    { root, label }: TokenTextOptions,
    private readonly moved: () => void,
  ) {
    this.rows = new TextRows(root);
    const h = maker(root);
    const attributes = { class: "opd-strip", role: "listbox", tabindex: 0, dir: "ltr", "aria-label": label };
    this.box = h("div", attributes, this.rows.sheet);
    root.append(this.box);
    this.breaking = new Breaking(this.rows.sheet);
  }

  show(cells: Cells): void {
    this.cells = cells;
    this.point(-1);
    this.rows.select(-1, new Set());
    this.rows.find(null, -1);
    this.read();
    this.break();
    this.scroll(0);
    this.drawnAt = this.top;
    this.draw();
  }

  /** Takes the box's sizes. True where rows must be broken anew. */
  private read(): boolean {
    this.height = this.box.clientHeight;
    return this.breaking.renew();
  }

  private break(): void {
    this.rows.renew(this.cells, this.breaking.rows(this.cells), this.rowHeight());
    this.height = this.box.clientHeight;
  }

  private get view(): Window {
    return this.box.ownerDocument.defaultView as Window;
  }

  private rowHeight(): number {
    const style = this.view.getComputedStyle(this.box);
    return Number.parseFloat(style.lineHeight) || UNKNOWN.row;
  }

  /** The box was given another size, or a font has come: what was on top stays there. */
  resize(): void {
    const [on] = this.range;
    const had = this.height > 0;
    if (this.read() && this.breaking.width > 0) {
      this.break();
      if (had) this.scroll(this.rowTop(on));
    }
    if (this.awaited >= 0 && this.height > 0) this.reveal(this.awaited);
    this.draw();
  }

  get range(): readonly [number, number] {
    const { wrapped } = this.rows;
    if (!wrapped || wrapped.rows === 0) return [0, 0];
    const [from, to] = this.window(0);
    return [wrapped.cell[wrapped.first[from]], wrapped.cell[wrapped.first[to] - 1] + 1];
  }

  /** First and one-past-last row in view, with some beyond. */
  private window(spare: number): [number, number] {
    const { wrapped, height } = this.rows;
    const rows = wrapped?.rows ?? 0;
    const from = Math.min(Math.max(0, rows - 1), Math.max(0, Math.floor(this.top / height)));
    const to = Math.ceil((this.top + (this.height || UNKNOWN.height)) / height);
    return [Math.max(0, from - spare), Math.max(from + (rows > 0 ? 1 : 0), Math.min(rows, to + spare))].map((row) =>
      Math.min(rows, row),
    ) as [number, number];
  }

  draw(): void {
    const { wrapped } = this.rows;
    if (!wrapped) return;
    const leap = this.height > 0 && Math.abs(this.top - this.drawnAt) >= this.height;
    this.drawnAt = this.top;
    this.view.clearTimeout(this.later);
    if (leap) this.later = this.view.setTimeout(() => this.draw(), LATER);
    const [from, to] = this.all ? [0, wrapped.rows] : this.window(leap ? 0 : SPARE);
    // To ask for the selection forces a layout; a drag over the minimap leaves it as it is.
    if (!dragged(this.box)) this.held = rowsOfSelection(this.rows.sheet);
    const wanted = new Set(this.held.filter((row) => row < wrapped.rows));
    // A screen reader is told of the selected cell by its node.
    if (this.selected >= 0) wanted.add(rowOf(wrapped, segmentOf(wrapped, this.selected)));
    for (let row = from; row < to; row++) wanted.add(row);
    this.rows.draw(
      [...wanted].sort((a, b) => a - b),
      leap,
    );
  }

  /** All rows, for paper; false draws those in view again. */
  expand(all: boolean): void {
    this.all = all;
    this.draw();
  }

  private rowTop(cell: number): number {
    const { wrapped, height } = this.rows;
    return wrapped && cell >= 0 ? rowOf(wrapped, segmentOf(wrapped, cell)) * height : 0;
  }

  private scroll(top: number): void {
    const whole = (this.rows.wrapped?.rows ?? 0) * this.rows.height;
    const to = Math.max(0, Math.min(top, whole - this.height + UNKNOWN.row));
    if (to === this.top) return;
    this.top = to;
    this.moved();
    if (this.scrolling) return;
    this.scrolling = true;
    queueMicrotask(() => this.settle());
  }

  /** Scrolling forces a layout: it comes when all views have written what they write in this frame, so that there is one and not two. */
  private settle(): void {
    this.scrolling = false;
    this.box.scrollTop = this.top;
    this.scrolled();
  }

  /** The box is scrolled: by the reader, or not quite as it was asked to be. */
  scrolled(): void {
    const top = this.box.scrollTop;
    if (this.scrolling || Math.abs(top - this.top) < 1) return;
    this.top = top;
    this.draw();
    this.moved();
  }

  stop(): void {
    this.view.clearTimeout(this.later);
  }

  reveal(cell: number): void {
    this.awaited = this.height > 0 ? -1 : cell;
    if (cell < 0 || this.height === 0) return;
    const { height } = this.rows;
    const top = this.rowTop(cell);
    const margin = Math.min(height, Math.max(0, (this.height - height) / 2));
    if (top < this.top + margin) this.scroll(top - margin);
    else if (top + height > this.top + this.height - margin) this.scroll(top + height + margin - this.height);
  }

  select(cell: number, companions: readonly number[]): void {
    const moved = cell !== this.selected;
    this.rows.select(cell, new Set(companions));
    if (!moved) return;
    this.point(cell);
    this.reveal(cell);
    this.draw();
  }

  /** What is selected, here and for a screen reader. */
  private point(cell: number): void {
    this.selected = cell;
    setAttribute(this.box, "aria-activedescendant", cell < 0 ? null : this.rows.id(cell));
  }
}

function follow(flow: Flow, { signal, pick }: TokenTextOptions): void {
  const { box } = flow;
  scrubCells(box, signal, (cell) => pick(cell));
  copyTrueText(box, signal, () => selectedTokens(flow.rows.sheet, flow.cells.texts));
  box.addEventListener("scroll", () => flow.scrolled(), { signal, passive: true });
  box.addEventListener(
    "keydown",
    (event) => {
      if (event.key.toLowerCase() !== "a" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      event.stopPropagation();
      selectUpTo(flow.rows.sheet, flow.rows.end);
    },
    { signal },
  );
  onResize([box, flow.rows.sheet], () => flow.resize(), signal);
}

export function tokenText(options: TokenTextOptions): TokenText {
  const flow = new Flow(options, () => options.scrolled?.());
  follow(flow, options);
  printing(flow, options.signal);
  return {
    node: flow.box,
    show: (cells) => flow.show(cells),
    paint: (classes) => flow.rows.paint(classes),
    select: (cell, companions = []) => flow.select(cell, companions),
    mark: (cells, current = -1) => flow.rows.find(cells, current),
    get range() {
      return flow.range;
    },
    scrollTo(cell) {
      flow.reveal(cell);
      flow.draw();
    },
    destroy() {
      flow.stop();
      flow.box.remove();
    },
  };
}
