/** On paper nothing scrolls: a text is printed whole up to some length, and beyond it the part in view, with a line that says so. */
import { maker, setText } from "../dom";

/** About twenty pages. */
const MOST_ROWS = 500;

interface Printed {
  box: HTMLElement;
  rows: { wrapped: { rows: number } | null };
  cells: { texts: readonly string[] };
  range: readonly [number, number];
  expand(all: boolean): void;
}

export function printing(text: Printed, signal: AbortSignal): void {
  const window = text.box.ownerDocument.defaultView as Window;
  const note = maker(text.box)("p", { class: "opd-print-note", role: "note", hidden: true });
  window.addEventListener(
    "beforeprint",
    () => {
      const all = (text.rows.wrapped?.rows ?? 0) <= MOST_ROWS;
      const [from, to] = text.range;
      setText(note, `Printed is the part in view: cells ${from + 1} to ${to} of ${text.cells.texts.length}.`);
      note.hidden = all;
      text.box.before(note);
      text.expand(all);
    },
    { signal },
  );
  window.addEventListener(
    "afterprint",
    () => {
      note.remove();
      text.expand(false);
    },
    { signal },
  );
  signal.addEventListener("abort", () => note.remove());
}
