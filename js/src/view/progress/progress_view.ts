/** A diagnosis while it runs: how far, what for, what it has bought, what is open, and what comes after. */
import { maker, setText } from "../dom";
import { help } from "../help";
import { onKeys } from "../keyboard";
import { progressAfter } from "./after";
import { progressBought } from "./bought";
import { progressHead } from "./head";
import { progressOpen } from "./open";
import { progressPhases } from "./phases";
import type { CommandPort, ProgressActions, ProgressPart, ProgressState } from "./state";
import { spoken } from "./words";

const KEYS: [string, string][] = [
  ["Tab", "the next button"],
  ["Enter, Space", "press it: stop and resume the run, select an open node"],
  ["?", "this panel; Esc closes it"],
];

export function progressView(root: HTMLElement, actions: ProgressActions, port: CommandPort): ProgressPart {
  const h = maker(root);
  const box = h("div", { class: "opd-frame opd-run" });
  const live = h("div", { class: "opd-announce", "aria-live": "polite", "aria-atomic": "true" });
  root.append(box, live);
  const life = new AbortController();
  const guide = help(root, life.signal, KEYS, []);
  box.append(guide.button, guide.panel);
  onKeys(root, ({ key }) => (key === "?" ? guide.toggle : null), life.signal);
  const head = progressHead(box, port);
  const phases = progressPhases(box);
  const columns = h("div", { class: "opd-run-columns" });
  box.append(columns);
  const parts = [head, phases, progressBought(columns), progressOpen(columns, actions), progressAfter(box)];
  let said: string | null = null;
  return {
    update(state: ProgressState) {
      for (const part of parts) part.update(state);
      const words = spoken(state.run);
      // Nothing is said on arrival, and of a state once: the numbers in it go on changing.
      const key = state.run.state === "running" ? words : state.run.state;
      if (said !== null && said !== key) setText(live, words);
      said = key;
    },
    destroy() {
      life.abort();
      for (const part of parts) part.destroy();
      box.remove();
      live.remove();
    },
  };
}
