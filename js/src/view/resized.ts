/** Calls when one of these boxes is given another size, or a font has come. */
export function onResize(boxes: readonly HTMLElement[], resized: () => void, signal: AbortSignal): void {
  const observer = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(resized);
  for (const box of boxes) observer?.observe(box);
  signal.addEventListener("abort", () => observer?.disconnect());
  boxes[0].ownerDocument.fonts?.addEventListener("loadingdone", resized, { signal });
}
