/** The head of the context card: whose it is, whether it holds the answer, and its lengths. */

import { maker, setAttribute, setText } from "../dom";
import type { ViewState } from "../state";
import { contextFacts, LEAK_HOW } from "./context_facts";

export interface ContextHead {
  kind: HTMLElement;
  leak: HTMLElement;
  facts: HTMLElement;
  /** `stale`: the text below is a draft that these facts are not of. */
  update(state: ViewState, stale: boolean): void;
}

export function contextHead(root: HTMLElement): ContextHead {
  const h = maker(root);
  const kind = h("span", { class: "opd-context-kind" });
  const leak = h("span", { class: "opd-badge opd-context-leak", title: LEAK_HOW });
  const facts = h("div", { class: "opd-quiet opd-context-facts" });
  let told = "";
  return {
    kind,
    leak,
    facts,
    update(state, stale) {
      const now = contextFacts(state, stale);
      setText(kind, now.kind);
      setText(leak, now.leak?.text ?? "");
      leak.hidden = now.leak === null;
      setAttribute(leak, "data-leak", now.leak?.state ?? null);
      for (const node of [leak, facts]) node.toggleAttribute("data-stale", stale);
      const lines = now.lines.join("\n");
      if (lines === told) return;
      told = lines;
      facts.replaceChildren(...now.lines.map((line) => h("p", {}, line)));
    },
  };
}
