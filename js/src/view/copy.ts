/** Copying gives the text itself. Left to itself a browser copies what is drawn, where line breaks collapse or double. */

/** The text of a selection that lies inside the box, character for character; null for any other selection. */
export function selectedText(box: HTMLElement): string | null {
  // In a shadow root only some browsers have a selection of its own; the others show it through the document.
  const scope = box.getRootNode() as Document & { getSelection?(): Selection | null };
  const selection = scope.getSelection?.() ?? (box.ownerDocument as Document).getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0);
  // A range's text is that of its text nodes: no line of its own for a block, none lost to the style sheet.
  return box.contains(range.commonAncestorContainer) ? range.toString() : null;
}

export function copyTrueText(box: HTMLElement, signal: AbortSignal): void {
  box.addEventListener(
    "copy",
    (event) => {
      const text = selectedText(box);
      if (text === null || !event.clipboardData) return;
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
    },
    { signal },
  );
}
