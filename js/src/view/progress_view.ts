/** A diagnosis while it runs: how far, what for, what it has bought, what is open, and what comes after. */
import { maker, setText } from "./dom";
import { help } from "./help";
import { progressAfter } from "./progress_after";
import { progressBought } from "./progress_bought";
import { progressHead } from "./progress_head";
import { progressOpen } from "./progress_open";
import { progressPhases } from "./progress_phases";
import type { CommandPort, ProgressActions, ProgressPart, ProgressState } from "./progress_state";
import { spoken } from "./progress_words";

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
  root.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== "?" && event.key !== "Escape")) return;
      event.preventDefault();
      event.stopPropagation();
      guide.toggle(event.key === "?" ? undefined : false);
    },
    { signal: life.signal },
  );
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
