/** How far the run is, and the button that stops it or goes on with it. */
import { count } from "../../core/duration";
import type { ProgressTrait } from "../../model/progress_contract";
import { maker, setAttribute, setDisabled, setText } from "../dom";
import type { CommandPort, ProgressPart } from "./state";
import { costWords, figures, stateWords } from "./words";

/** What can be asked for now. */
function offered({ live, state }: ProgressTrait): "stop" | "resume" | null {
  if (!live || state === "done") return null;
  return state === "stopped" || state === "failed" ? "resume" : "stop";
}

function answerWords({ name, phase, error }: ReturnType<CommandPort["now"]>): string {
  if (phase === "queued") return `kernel busy: “${name}” is queued`;
  if (phase === "lost")
    return `no answer from the kernel: it is busy with a cell, or gone. “${name}” can be sent again`;
  return phase === "failed" ? `“${name}” was not carried out: ${error}` : "";
}

function parts(root: HTMLElement) {
  const h = maker(root);
  const state = h("strong", { class: "opd-run-state" });
  const at = h("span", { class: "opd-quiet opd-run-at" });
  const button = h("button", { type: "button", class: "opd-button opd-run-button" });
  const answer = h("p", { class: "opd-run-answer", role: "status" });
  const initial = h("span", { class: "opd-run-initial" });
  const targeted = h("span", { class: "opd-run-targeted" });
  const bar = h("div", { class: "opd-run-bar", role: "progressbar", "aria-label": "Tokens spent", "aria-valuemin": 0 });
  bar.append(initial, targeted);
  const numbers = h("p", { class: "opd-run-figures" });
  const cost = h("p", { class: "opd-quiet opd-run-cost" });
  const error = h("p", { class: "opd-run-error", role: "alert", hidden: true });
  const top = h("div", { class: "opd-run-top" }, state, at, button);
  const box = h("section", { class: "opd-run-head", "aria-label": "Progress" }, top, error, answer, bar, numbers, cost);
  return { box, state, at, button, answer, initial, targeted, bar, numbers, cost, error };
}

export function progressHead(root: HTMLElement, port: CommandPort): ProgressPart {
  const life = new AbortController();
  const { box, state, at, button, answer, initial, targeted, bar, numbers, cost, error } = parts(root);
  root.append(box);
  let offer: "stop" | "resume" | null = null;
  let idle = false;
  button.addEventListener("click", () => offer && !idle && port.ask(offer), { signal: life.signal });

  function showButton(run: ProgressTrait): void {
    const command = port.now();
    offer = offered(run);
    const under = command.phase === "sent" || command.phase === "queued";
    idle = run.state === "stopping" || (under && command.name === offer);
    button.hidden = offer === null;
    setText(
      button,
      idle && offer === "stop" ? "stopping" : command.phase === "lost" ? `${offer} again` : (offer ?? ""),
    );
    setDisabled(button, idle);
    const said = answerWords(command);
    setText(answer, said);
    answer.hidden = !said || !run.live;
    answer.toggleAttribute("data-trouble", command.phase === "failed" || command.phase === "lost");
  }

  return {
    update({ run }) {
      setText(state, stateWords(run));
      setAttribute(box, "data-state", run.state);
      setText(at, run.live && run.state === "running" ? `as of ${new Date(1000 * run.at).toLocaleTimeString()}` : "");
      showButton(run);
      setText(error, run.message);
      error.hidden = !run.message;
      const whole = Math.max(run.budget, run.spent, 1);
      initial.style.width = `${(100 * run.initial.tokens) / whole}%`;
      targeted.style.width = `${(100 * run.targeted.tokens) / whole}%`;
      setAttribute(bar, "aria-valuemax", String(run.budget));
      setAttribute(bar, "aria-valuenow", String(Math.min(run.spent, run.budget)));
      setAttribute(bar, "aria-valuetext", `${count(run.spent)} of ${count(run.budget)} tokens`);
      setText(numbers, figures(run));
      setText(cost, costWords(run));
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
