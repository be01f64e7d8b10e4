/** Right, wrong or not known: by sign, colour and name, never by colour alone. */
import { own } from "../core/own";
import type { Outcome } from "../model/contract";
import type { Maker } from "./dom";

const SIGNS: Record<Outcome, string> = { correct: "✓", incorrect: "✗", unverified: "?", unknown: "?" };

export function outcomeMark(h: Maker, outcome: Outcome): HTMLElement {
  // Data may carry a word that is not in the contract; it must not become part of a class name.
  const known: Outcome = own(SIGNS, outcome) ? outcome : "unknown";
  return h("span", { class: `opd-outcome opd-outcome-${known}`, role: "img", "aria-label": known }, SIGNS[known]);
}
