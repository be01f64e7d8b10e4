/** The keys, on a panel that `?` opens inside the widget (a dialog on the page would lose its styles in some hosts). */
import { maker } from "./dom";

export const KEYS: [string, string][] = [
  ["1 – 9", "teacher"],
  ["s, Shift+S", "next, previous signal"],
  ["← →", "previous, next token"],
  ["Home End", "first, last token"],
  ["n p", "next largest |signal|, back to the larger"],
  ["j k", "next, previous rollout; ↓ ↑ in the list"],
  ["e", "edit the context; Esc leaves the field"],
  ["/", "find in the rollouts"],
  ["?", "this panel; Esc closes it"],
  ["click, drag", "select a token, scrub; Shift+drag selects text"],
];

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

export function help(root: HTMLElement, signal: AbortSignal): Help {
  const h = maker(root);
  const pair = (sign: HTMLElement, what: string): HTMLElement => h("div", {}, h("dt", {}, sign), h("dd", {}, what));
  const list = h("dl", { class: "opd-keys" });
  for (const [keys, what] of KEYS) list.append(pair(h("kbd", {}, keys), what));
  const marks = h("dl", { class: "opd-keys" });
  for (const [name, text, what] of MARKS) marks.append(pair(h("span", { class: `opd-mark ${name}` }, text), what));
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
  const toggle = (open = panel.hidden): void => {
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => toggle(), { signal });
  const shut = (): void => {
    toggle(false);
    button.focus();
  };
  close.addEventListener("click", shut, { signal });
  return { button, panel, toggle };
}
