/** The keys, on a panel that `?` opens inside the widget (a dialog on the page would lose its styles in some hosts). */
import { focused, isTyping, maker, setAttribute } from "./dom";

/** What a view must have for a key to do something there. */
export type Place = "text" | "rollouts" | "list" | "find" | "context";

const KEYS: [string, string, Place?][] = [
  ["1 – 9", "teacher"],
  ["s, Shift+S", "next, previous signal"],
  ["← →", "previous, next token"],
  ["Home End", "first, last token"],
  ["n p", "next largest |signal|, back to the larger"],
  ["f, g", "find in the text (Enter, Shift+Enter: next, previous); go to a token by its number", "find"],
  ["v, Shift+V", "next, previous token that a diagnosis has judged"],
  ["j k", "next, previous rollout", "rollouts"],
  ["↓ ↑", "the same, in the list; Home and End: the first, the last", "list"],
  ["e", "edit the context; Esc leaves the field", "context"],
  ["/", "find in the rollouts", "list"],
  ["?", "this panel; Esc closes it"],
  ["click, drag", "select a token, scrub; Shift+drag selects text", "text"],
];

/** The keys of a view of scores that has these. */
export const keysWith = (...places: readonly Place[]): [string, string][] =>
  KEYS.filter(([, , place]) => !place || places.includes(place)).map(([key, what]) => [key, what]);

/** How a token is drawn, for what colour alone does not say. */
export const MARKS: [string, string, string][] = [
  ["opd-v-p8", "12", "bar above: positive"],
  ["opd-v-n8", "12", "bar below: negative"],
  ["opd-v-noise", "12", "grey: inside the noise band, not to be told from zero"],
  ["opd-v-nan", "12", "hatched: not scored or undefined"],
  ["opd-v-ninf", "12", "double bars: infinite"],
  ["opd-masked", "12", "dotted: not the student’s own token, in no mean"],
];

export interface Help {
  button: HTMLButtonElement;
  panel: HTMLElement;
  toggle(open?: boolean): void;
}

export function help(
  root: HTMLElement,
  signal: AbortSignal,
  keys: readonly [string, string][],
  signs: readonly [string, string, string][] = MARKS,
): Help {
  const h = maker(root);
  const pair = (sign: HTMLElement, what: string): HTMLElement => h("div", {}, h("dt", {}, sign), h("dd", {}, what));
  const list = h("dl", { class: "opd-keys" });
  for (const [key, what] of keys) list.append(pair(h("kbd", {}, key), what));
  const marks = h("dl", { class: "opd-keys" });
  marks.hidden = signs.length === 0;
  for (const [name, text, what] of signs) marks.append(pair(h("span", { class: `opd-mark ${name}` }, text), what));
  const close = h("button", { type: "button", class: "opd-button" }, "close");
  const panel = h("section", { class: "opd-help", "aria-label": "Keys", hidden: true }, list, marks, close);
  const button = h(
    "button",
    {
      type: "button",
      class: "opd-button opd-help-button",
      "aria-expanded": "false",
      "aria-label": "Keys and help",
      title: "keys (?)",
    },
    "?",
  );
  let from: HTMLElement = button;
  const toggle = (open = panel.hidden): void => {
    if (open === !panel.hidden) return;
    const at = focused(root) as HTMLElement | null;
    const inside = panel.contains(at);
    if (open) from = at && root.contains(at) ? at : button;
    panel.hidden = !open;
    setAttribute(button, "aria-expanded", String(open));
    // What has the focus goes away with the panel: it returns to where it was when the panel opened.
    if (!open && inside) (from.isConnected ? from : button).focus({ preventScroll: true });
  };
  button.addEventListener("click", () => toggle(), { signal });
  root.addEventListener(
    "keydown",
    (event) => {
      // While it is closed the key is the host's: a notebook leaves its cell with it.
      if (event.key !== "Escape" || panel.hidden || isTyping(event.target as Element)) return;
      event.preventDefault();
      event.stopPropagation();
      toggle(false);
    },
    { signal },
  );
  close.addEventListener(
    "click",
    () => {
      close.focus({ preventScroll: true }); // not every browser does so for a click
      toggle(false);
    },
    { signal },
  );
  return { button, panel, toggle };
}
