/** A row of choices of which one is taken: a radio group with roving focus. */
import { maker, setAttribute, setText } from "./dom";

export interface Choice {
  value: string;
  label: string;
  /** The key that takes it, shown on it. */
  key?: string;
  title?: string;
  /** Why it cannot be taken. */
  disabled?: string | null;
  /** For a screen reader, where the label is a sign. */
  name?: string;
}

export interface Segmented {
  node: HTMLElement;
  show(choices: readonly Choice[], value: string): void;
}

export interface SegmentedOptions {
  label: string;
  /** Name of the data attribute that carries the value, for tests and styles. */
  data: string;
  choose(value: string): void;
  signal: AbortSignal;
}

export function segmented(root: HTMLElement, { label, data, choose, signal }: SegmentedOptions): Segmented {
  const h = maker(root);
  const node = h("div", { class: "opd-segmented", role: "radiogroup", "aria-label": label });
  let shown = "";
  let buttons: HTMLButtonElement[] = [];

  function make(choice: Choice): HTMLButtonElement {
    const button = h(
      "button",
      {
        type: "button",
        class: "opd-segment",
        role: "radio",
        "aria-label": choice.name,
        "aria-keyshortcuts": choice.key,
        [data]: choice.value,
        title: choice.disabled ? `${choice.label}: ${choice.disabled}` : choice.title,
        // Not disabled: the reason must be reachable by keyboard and by hover.
        "aria-disabled": choice.disabled ? "true" : null,
      },
      choice.key && h("kbd", { class: "opd-key" }, choice.key),
      h("span", {}, choice.label),
    );
    if (!choice.disabled) button.addEventListener("click", () => choose(choice.value), { signal });
    return button;
  }

  node.addEventListener(
    "keydown",
    (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const from = buttons.indexOf(event.target as HTMLButtonElement);
      if (!step || from < 0) return;
      event.preventDefault();
      event.stopPropagation();
      const next = buttons[(from + step + buttons.length) % buttons.length];
      next.focus();
      next.click();
    },
    { signal },
  );

  return {
    node,
    show(choices, value) {
      const wanted = JSON.stringify(choices);
      if (wanted !== shown) {
        shown = wanted;
        buttons = choices.map(make);
        node.replaceChildren(...buttons);
      }
      const taken = choices.some((c) => c.value === value);
      buttons.forEach((button, i) => {
        const on = choices[i].value === value;
        setAttribute(button, "aria-checked", String(on));
        button.tabIndex = on || (!taken && i === 0) ? 0 : -1;
      });
    },
  };
}

/** A heading in small quiet capitals. */
export function heading(root: Node, text = ""): HTMLElement {
  const node = maker(root)("div", { class: "opd-heading", role: "heading", "aria-level": 2 });
  setText(node, text);
  return node;
}
