/** Rows of one height in a box that scrolls. Only those near the window exist, so that thousands cost no more than a screenful. */
import { maker } from "../dom";
import { onResize } from "../resized";

export interface RowWindowOptions {
  root: HTMLElement;
  /** Attributes of the box: its class, role and name. */
  box: Record<string, string>;
  /** Class of what the rows lie in. */
  sheet: string;
  /** Pixels of a row. */
  row: number;
  /** Rows beyond the window, so that a scroll does not outrun them. */
  spare: number;
  /** Height taken where layout is not known yet. */
  unknown: number;
}

export class RowWindow {
  readonly box: HTMLElement;
  private readonly sheet: HTMLElement;
  private nodes: HTMLElement[] = [];
  /** Of the box, in pixels, as last read; 0 where there is no layout yet: asking for them in the middle of a change would force a layout. */
  height = 0;
  width = 0;
  top = 0;

  constructor(private readonly options: RowWindowOptions) {
    const h = maker(options.root);
    this.sheet = h("div", { class: options.sheet, role: "presentation" });
    this.box = h("div", { ...options.box, tabindex: 0 }, this.sheet);
  }

  /** Reads how far the box is scrolled and how high it is; true where it has a height. */
  read(): boolean {
    this.height = this.box.clientHeight;
    this.width = this.box.clientWidth;
    this.top = this.box.scrollTop;
    return this.height > 0;
  }

  scroll(top: number): void {
    if (top === this.top) return;
    this.box.scrollTop = top;
    this.top = this.box.scrollTop;
  }

  /** Draws the rows near the window; `make` gives the one at an index, a new one or the one that it gave before. */
  draw(count: number, make: (index: number) => HTMLElement): void {
    const { row, spare, unknown } = this.options;
    const from = Math.max(0, Math.floor(this.top / row) - spare);
    const to = Math.min(count, Math.ceil((this.top + (this.height || unknown)) / row) + spare);
    const nodes: HTMLElement[] = [];
    for (let i = from; i < to; i++) {
      const node = make(i);
      const top = `${i * row}px`;
      if (node.style.top !== top) node.style.top = top;
      nodes.push(node);
    }
    const whole = `${count * row}px`;
    if (this.sheet.style.height !== whole) this.sheet.style.height = whole;
    // Put in anew, even unchanged rows would be laid out anew.
    if (nodes.length !== this.nodes.length || nodes.some((node, i) => node !== this.nodes[i]))
      this.sheet.replaceChildren(...nodes);
    this.nodes = nodes;
  }

  /** Whether a row is in sight, or nearly: a scroll may come before what it shows is drawn. */
  near(index: number): boolean {
    const { row, unknown } = this.options;
    const at = index * row - this.top;
    return at > -4 * row && at < (this.height || unknown) + 3 * row;
  }

  /** Scrolls until a row is in sight, with some room beside it; the sheet must have its height. */
  reveal(index: number, margin = 0): void {
    const { row } = this.options;
    const top = index * row;
    if (index < 0 || this.height === 0) return;
    const room = Math.max(0, Math.min(margin, (this.height - row) / 2));
    if (top - room < this.top) this.scroll(Math.max(0, top - room));
    else if (top + row + room > this.top + this.height) this.scroll(top + row + room - this.height);
  }
}

/** The list of rollouts, in whichever view; rows are as high as the style sheet has them. */
export const rolloutWindow = (root: HTMLElement): RowWindow =>
  new RowWindow({
    root,
    box: { class: "opd-list", role: "listbox", "aria-label": "Rollouts" },
    sheet: "opd-list-sheet",
    row: 32,
    spare: 12,
    unknown: 640,
  });

/** Draws anew when the box is scrolled or gets another size. A list that gets its height only now shows what is selected. */
export function followBox(window: RowWindow, draw: () => void, selected: () => number, signal: AbortSignal): void {
  let seen = false;
  const onScroll = (): void => {
    window.read();
    draw();
  };
  const resized = (): void => {
    const high = window.read();
    if (!seen) window.reveal(selected());
    seen ||= high;
    draw();
  };
  window.box.addEventListener("scroll", onScroll, { signal, passive: true });
  onResize([window.box], resized, signal);
}
