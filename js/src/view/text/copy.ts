/** Copying gives the text itself. Left to itself a browser copies what is drawn, where line breaks collapse or double. */

function selectionIn(box: HTMLElement): Selection | null {
  // In a shadow root only some browsers have a selection of its own; the others show it through the document.
  const scope = box.getRootNode() as Document & { getSelection?(): Selection | null };
  return scope.getSelection?.() ?? (box.ownerDocument as Document).getSelection();
}

/** The selected stretch, where it lies inside the box as a whole. */
export function selectedRange(box: HTMLElement): Range | null {
  const selection = selectionIn(box);
  // Asked of its ends: `isCollapsed` forces a layout.
  if (!selection) return null;
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
  if (selection.rangeCount === 0 || (anchorNode === focusNode && anchorOffset === focusOffset)) return null;
  const range = selection.getRangeAt(0);
  return box.contains(range.commonAncestorContainer) ? range : null;
}

/** The text of a selection that lies inside the box, character for character; null for any other selection. */
export function selectedText(box: HTMLElement): string | null {
  // A range's text is that of its text nodes: no line of its own for a block, none lost to the style sheet.
  return selectedRange(box)?.toString() ?? null;
}

export function copyTrueText(
  box: HTMLElement,
  signal: AbortSignal,
  read: () => string | null = () => selectedText(box),
): void {
  box.addEventListener(
    "copy",
    (event) => {
      const text = read();
      if (text === null || !event.clipboardData) return;
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
    },
    { signal },
  );
}

/** Selects from the beginning of one node to the beginning of another inside it. */
export function selectUpTo(node: HTMLElement, end: HTMLElement): void {
  const range = (node.ownerDocument as Document).createRange();
  range.setStart(node, 0);
  range.setEnd(end, 0);
  const selection = selectionIn(node);
  selection?.removeAllRanges();
  selection?.addRange(range);
}
