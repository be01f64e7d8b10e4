/** Keys work anywhere inside a widget except where text is typed. */
import { isTyping } from "./dom";

/** Out of a field, into the widget: on the page the next key would be the host's. */
function leaveField(root: HTMLElement): void {
  root.tabIndex = -1;
  root.focus({ preventScroll: true });
  root.addEventListener("blur", () => root.removeAttribute("tabindex"), { once: true });
}

/** Calls what a key does; `action` returns null for a key that is not ours, which the host then has. */
export function onKeys(
  root: HTMLElement,
  action: (event: KeyboardEvent) => (() => void) | null | undefined,
  signal: AbortSignal,
): void {
  root.addEventListener(
    "keydown",
    (event) => {
      const target = event.target as HTMLElement;
      if (isTyping(target)) {
        // The notebook must not take keys typed here for its own commands.
        event.stopPropagation();
        if (event.key === "Escape" && !event.isComposing && !event.defaultPrevented) leaveField(root);
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const act = action(event);
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    },
    { signal },
  );
}
