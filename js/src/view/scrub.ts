/** Press to select, drag to scrub. The pointer is captured, so a drag may leave the box, or the document. */

export interface ScrubTarget {
  box: HTMLElement;
  /** Called with the point under the pointer, in client coordinates. */
  at(x: number, y: number, event: PointerEvent): void;
  signal: AbortSignal;
  /** The box stands for something much longer than itself: a small move leads far. */
  coarse?: boolean;
}

/** On the widget while a pointer is dragged over a coarse box in it. */
const DRAGGED = "data-dragged";
const widgetOf = (node: Element): Element | null => node.closest(".opd-root");

/** Whether a pointer is dragged over a coarse box of the widget that the node is part of. */
export const dragged = (node: Element): boolean => widgetOf(node)?.hasAttribute(DRAGGED) ?? false;

export function scrub({ box, at, signal, coarse = false }: ScrubTarget): void {
  let pointer: number | null = null;
  const drag = (on: boolean): void => {
    if (coarse) widgetOf(box)?.toggleAttribute(DRAGGED, on);
  };
  box.addEventListener(
    "pointerdown",
    (event) => {
      // With Shift the drag is left to the browser: that is how text is selected and copied.
      if (event.button !== 0 || event.shiftKey) return;
      pointer = event.pointerId;
      try {
        box.setPointerCapture(pointer);
      } catch {
        // The pointer has already gone (a synthetic event, say); the press still selects.
      }
      at(event.clientX, event.clientY, event);
    },
    { signal },
  );
  box.addEventListener(
    "pointermove",
    (event) => {
      if (event.pointerId !== pointer || !(event.buttons & 1)) return;
      drag(true);
      at(event.clientX, event.clientY, event);
    },
    { signal },
  );
  const end = (event: PointerEvent): void => {
    if (event.pointerId !== pointer) return;
    pointer = null;
    drag(false);
  };
  signal.addEventListener("abort", () => drag(false));
  box.addEventListener("pointerup", end, { signal });
  box.addEventListener("pointercancel", end, { signal });
  box.addEventListener(
    "mousedown",
    (event) => {
      if (event.button !== 0 || event.shiftKey) return;
      // Keeps the drag from selecting text; focus, which this also stops, is given by hand.
      event.preventDefault();
      box.focus({ preventScroll: true });
    },
    { signal },
  );
}

/** As `scrub`, for a box of cells: says the cell under the pointer. */
export function scrubCells(box: HTMLElement, signal: AbortSignal, pick: (cell: number, node: Element) => void): void {
  scrub({
    box,
    signal,
    at(x, y, event) {
      const under = event.type === "pointerdown" ? (event.target as Element) : elementAt(box, x, y);
      const cell = under?.closest("[data-cell]");
      if (cell && box.contains(cell)) pick(Number(cell.getAttribute("data-cell")), cell);
    },
  });
}

/** The element at a point, also inside a shadow root. */
function elementAt(root: Node, x: number, y: number): Element | null {
  const scope = root.getRootNode() as Document | ShadowRoot;
  return scope.elementFromPoint?.(x, y) ?? null;
}
