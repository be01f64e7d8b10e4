/** The height of a field of text follows from its text. */

/** Width of a character of the field's type, pixels: monospaced type of 14 px is some 0.6 of that wide. */
const CHARACTER = 8.5;

/** How many rows a text takes in a field so many characters wide, where lines break between words. */
export function rowsOf(text: string, columns: number): number {
  let rows = 0;
  for (const line of text.split("\n")) {
    let used = 0;
    rows += 1;
    for (const word of line.split(/(?<= )/)) {
      const bare = word.trimEnd().length;
      if (used > 0 && used + bare > columns) {
        rows += 1;
        used = 0;
      }
      rows += Math.max(0, Math.ceil(bare / columns) - 1);
      used = bare > columns ? bare % columns : used + word.length;
    }
  }
  return rows;
}

const FEWEST = 2;
const MOST = 10;
/** Columns where the width is not known yet; and what of the width is padding and border, pixels. */
const UNKNOWN = 70;
const PADDING = 16;

export interface FieldHeight {
  /** As many rows as this text takes. */
  fit(text: string): void;
  stop(): void;
}

export function fieldHeight(input: HTMLTextAreaElement): FieldHeight {
  /** Columns; 0 while the width is not known. */
  let columns = 0;
  let fitted: string | null = null;
  const measure = (): number => Math.max(0, Math.floor((input.clientWidth - PADDING) / CHARACTER));
  const set = (text: string): void => {
    input.rows = Math.min(MOST, Math.max(FEWEST, rowsOf(text, columns || UNKNOWN)));
    fitted = columns > 0 ? text : null;
  };
  // Asking for its width forces a layout, so it is asked again only when it has changed.
  const resized =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(() => {
          const now = measure();
          if (now === columns || input.hidden) return;
          columns = now;
          set(input.value);
        });
  resized?.observe(input);
  return {
    fit(text) {
      if (text === fitted) return;
      columns ||= measure();
      set(text);
    },
    stop: () => resized?.disconnect(),
  };
}
