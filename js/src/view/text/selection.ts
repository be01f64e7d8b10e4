/** What is selected of a text of which only some rows are drawn: found by its ends, read from the text itself. */
import { selectedRange } from "./copy";

/** A place in the text: a cell and an offset in its characters. */
export type TextPlace = readonly [cell: number, offset: number];

/** The characters between two places. */
export function between(texts: readonly string[], [a, i]: TextPlace, [b, j]: TextPlace): string {
  if (a > b || (a === b && i >= j) || a >= texts.length) return "";
  if (a === b) return texts[a].slice(i, j);
  return texts[a].slice(i) + texts.slice(a + 1, b).join("") + (texts[b] ?? "").slice(0, j);
}

function placeIn(cell: Element, container: Node, offset: number): TextPlace {
  const range = (cell.ownerDocument as Document).createRange();
  range.setStart(cell, 0);
  range.setEnd(container, offset);
  return [
    Number(cell.getAttribute("data-cell")),
    Number(cell.getAttribute("data-from") ?? 0) + range.toString().length,
  ];
}

/** Where a boundary of a range lies. Outside all cells, it is where the next drawn cell begins; at the sheet's own ends, those of the text. */
function place(sheet: HTMLElement, container: Node, offset: number, count: number): TextPlace {
  const element = container.nodeType === 1 ? (container as Element) : container.parentElement;
  const cell = element?.closest("[data-cell]");
  if (cell) return placeIn(cell, container, offset);
  if (container === sheet && offset === 0) return [0, 0];
  const row = element?.closest("[data-row]");
  const last = row?.lastElementChild;
  // The end of a row: the next one need not be drawn.
  if (last && container === row && offset === row.childNodes.length) return placeIn(last, last, last.childNodes.length);
  const range = (sheet.ownerDocument as Document).createRange();
  range.setStart(container, offset);
  for (const node of sheet.querySelectorAll("[data-cell]"))
    if (range.comparePoint(node, 0) >= 0)
      return [Number(node.getAttribute("data-cell")), Number(node.getAttribute("data-from") ?? 0)];
  return [count, 0];
}

/** The text selected in a sheet of rows; null where the selection lies elsewhere. */
export function selectedTokens(sheet: HTMLElement, texts: readonly string[]): string | null {
  const range = selectedRange(sheet);
  if (!range) return null;
  const start = place(sheet, range.startContainer, range.startOffset, texts.length);
  const end = place(sheet, range.endContainer, range.endOffset, texts.length);
  return between(texts, start, end);
}

/** Rows that hold the ends of the selection: they must stay in the DOM, or the browser moves those ends. */
export function rowsOfSelection(sheet: HTMLElement): number[] {
  const range = selectedRange(sheet);
  if (!range) return [];
  return [range.startContainer, range.endContainer].flatMap((node) => {
    const element = node.nodeType === 1 ? (node as Element) : node.parentElement;
    const row = element?.closest("[data-row]")?.getAttribute("data-row");
    return row === null || row === undefined ? [] : [Number(row)];
  });
}
