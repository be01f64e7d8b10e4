/** One text under several tracks, token under token. Broken into lines once, so that a token has one column in all of them. */
import { rowOf, segmentOf } from "../../core/wrap";
import type { Cells } from "../../model/contract";
import { maker, setAttribute } from "../dom";
import { onResize } from "../resized";
import { scrubCells } from "../scrub";
import { Breaking } from "../text/breaking";
import { copyTrueText, selectedRange } from "../text/copy";
import { AlignedRows, type AlignedTrack } from "./aligned_rows";

export interface AlignedOptions {
  root: HTMLElement;
  /** Accessible name of the listbox. */
  label: string;
  signal: AbortSignal;
  /** A cell was pressed or scrubbed over, in a track. */
  pick(cell: number, track: number): void;
}

export interface AlignedText {
  readonly node: HTMLElement;
  show(cells: Cells, tracks: readonly AlignedTrack[]): void;
  /** Classes beside those of a cell's kind. */
  paint(classes: (track: number, cell: number) => string): void;
  /** Outlines a cell in all tracks and brings it into view; -1 for none. The current track's name is strong. */
  select(cell: number, track: number): void;
  destroy(): void;
}

/** Lines drawn above and below those in view. */
const SPARE = 1;
/** Between lines, in pixels; that of the style sheet. */
const GAP = 12;
/** Sizes in pixels for where there is no layout yet. */
const UNKNOWN = { height: 600, row: 22 };

class Aligned {
  readonly box: HTMLElement;
  readonly rows: AlignedRows;
  private readonly breaking: Breaking;
  private cells: Cells = { starts: [], texts: [], kinds: "" };
  private tracks: readonly AlignedTrack[] = [];
  private selected = -1;
  private awaited = -1;
  private height = 0;
  private top = 0;

  constructor({ root, label }: AlignedOptions) {
    const h = maker(root);
    this.rows = new AlignedRows(root);
    const probed = h("span", { class: "opd-aligned-tokens" });
    const probe = h(
      "div",
      { class: "opd-aligned-row opd-aligned-probe", "aria-hidden": "true" },
      h("span", { class: "opd-aligned-name" }),
      probed,
    );
    const attributes = { class: "opd-aligned", role: "listbox", tabindex: 0, dir: "ltr", "aria-label": label };
    this.box = h("div", attributes, probe, this.rows.sheet);
    root.append(this.box);
    this.breaking = new Breaking(probed);
  }

  show(cells: Cells, tracks: readonly AlignedTrack[]): void {
    const other = cells !== this.cells;
    this.cells = cells;
    this.tracks = tracks;
    this.read();
    const on = this.topLine();
    this.break();
    if (other) this.point(-1);
    this.scroll(other ? 0 : on * this.rows.height);
    this.draw();
  }

  private topLine(): number {
    return Math.floor(this.top / this.rows.height);
  }

  /** True where lines must be broken anew. */
  private read(): boolean {
    this.height = this.box.clientHeight;
    return this.breaking.renew();
  }

  private break(): void {
    const style = (this.box.ownerDocument.defaultView as Window).getComputedStyle(this.box);
    const row = Number.parseFloat(style.lineHeight) || UNKNOWN.row;
    this.rows.renew(this.cells, this.tracks, this.breaking.rows(this.cells), this.tracks.length * row + GAP);
    this.height = this.box.clientHeight;
  }

  /** The box was given another size, or a font has come: the line on top stays there. */
  resize(): void {
    const first = this.rows.wrapped?.first[this.topLine()] ?? 0;
    const cell = this.rows.wrapped?.cell[first] ?? 0;
    if (this.read() && this.breaking.width > 0) {
      this.break();
      this.scroll(this.lineTop(cell));
    }
    if (this.awaited >= 0 && this.height > 0) this.reveal(this.awaited);
    this.draw();
  }

  scrolled(): void {
    this.top = this.box.scrollTop;
    this.draw();
  }

  draw(): void {
    const { wrapped, height } = this.rows;
    if (!wrapped) return;
    const from = Math.max(0, this.topLine() - SPARE);
    const to = Math.min(wrapped.rows, Math.ceil((this.top + (this.height || UNKNOWN.height)) / height) + SPARE);
    const wanted = new Set<number>();
    // A screen reader is told of the selected cell by its node.
    if (this.selected >= 0 && this.selected < this.cells.texts.length)
      wanted.add(rowOf(wrapped, segmentOf(wrapped, this.selected)));
    for (let line = from; line < to; line++) wanted.add(line);
    this.rows.draw([...wanted].sort((a, b) => a - b));
  }

  private lineTop(cell: number): number {
    const { wrapped, height } = this.rows;
    return wrapped && wrapped.rows > 0 && cell >= 0 ? rowOf(wrapped, segmentOf(wrapped, cell)) * height : 0;
  }

  private scroll(top: number): void {
    this.box.scrollTop = Math.max(0, top);
    this.top = this.box.scrollTop;
  }

  private reveal(cell: number): void {
    this.awaited = this.height > 0 ? -1 : cell;
    if (cell < 0 || this.height === 0) return;
    const top = this.lineTop(cell);
    const bottom = top + this.rows.height;
    if (top < this.top) this.scroll(top);
    else if (bottom > this.top + this.height) this.scroll(Math.min(top, bottom - this.height));
  }

  select(cell: number, track: number): void {
    const moved = cell !== this.selected;
    this.rows.select(cell, track);
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

export function alignedText(options: AlignedOptions): AlignedText {
  const { signal, pick } = options;
  const text = new Aligned(options);
  const { box } = text;
  scrubCells(box, signal, (cell, node) =>
    pick(cell, Number(node.closest("[data-track]")?.getAttribute("data-track") ?? 0)),
  );
  copyTrueText(box, signal, () => {
    const range = selectedRange(box);
    return range && text.rows.touched(range);
  });
  box.addEventListener("scroll", () => text.scrolled(), { signal, passive: true });
  onResize([box], () => text.resize(), signal);
  return {
    node: box,
    show: (cells, tracks) => text.show(cells, tracks),
    paint: (classes) => text.rows.paint(classes),
    select: (cell, track) => text.select(cell, track),
    destroy: () => box.remove(),
  };
}
