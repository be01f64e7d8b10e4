/** The selected teacher's card: what it sees, and where there is a model, its context to change while the colours follow. */

import { focused, maker, setAttribute, setText } from "../dom";
import { fieldHeight } from "../field_height";
import type { ContextPort, Place, View, ViewState } from "../state";
import { contextHead } from "./context_head";
import { contextStatus } from "./context_status";

function parts(root: HTMLElement) {
  const h = maker(root);
  const head = contextHead(root);
  const status = h("span", { class: "opd-job-status", role: "status" });
  const progress = h("progress", { class: "opd-job-progress", max: 1, "aria-label": "Scoring" });
  const cancel = h("button", { type: "button", class: "opd-button opd-context-cancel" }, "cancel");
  const reset = h("button", { type: "button", class: "opd-button opd-context-reset" }, "reset");
  const input = h("textarea", {
    class: "opd-context-text",
    rows: 2,
    spellcheck: "false",
    "aria-label": "Context of the teacher",
  });
  const error = h("p", { class: "opd-context-error", role: "alert" });
  const box = h(
    "section",
    { class: "opd-context", "aria-label": "Teacher’s context" },
    h("div", { class: "opd-context-head" }, head.kind, head.leak, status, progress, cancel, reset),
    head.facts,
    input,
    error,
  );
  return { head, status, progress, cancel, reset, input, error, box };
}

const placeOf = ({ teacher, rollout, record }: ViewState): Place => ({ teacher, rollout, question: record.question });

/** The button is for what can be done about an edit under way: send it again where it got no answer, end it otherwise. */
function interrupt(port: ContextPort, state: ViewState): void {
  const { job } = state;
  const place = placeOf(state);
  const running = { teacher: job.teacher ?? place.teacher, question: job.question ?? place.question };
  if (port.draft(place).phase === "lost") port.resend(place);
  else port.cancel(place, job.state === "running" ? running : null);
}

export function contextEditor(root: HTMLElement, port: ContextPort): View {
  const life = new AbortController();
  const at = { signal: life.signal };
  const { head, status, progress, cancel, reset, input, error, box } = parts(root);
  root.append(box);
  let last: ViewState | null = null;
  let slot = "";
  const height = fieldHeight(input);

  input.addEventListener("focus", () => last && !input.readOnly && port.prepare(placeOf(last)), at);
  input.addEventListener("input", () => last && port.edit(placeOf(last), input.value), at);
  reset.addEventListener("click", () => last && port.reset(placeOf(last)), at);
  cancel.addEventListener("click", () => last && interrupt(port, last), at);

  /** The reader's own text stays; Python's is written only where the reader has changed nothing. */
  function fill(state: ViewState, draft: string | null): void {
    const text = draft ?? state.data.context(state.rollout, state.teacher)?.text ?? "";
    if (input.value !== text) input.value = text;
    if (!input.hidden) height.fit(text);
  }

  function show(state: ViewState, editable: boolean): void {
    const place = placeOf(state);
    const draft = port.draft(place);
    const { teacher, question } = place;
    const now = contextStatus({ job: state.job, teacher, question, draft, kernelEnded: port.ended() });
    const { error: trouble, share } = now;
    const edited = state.data.edited(state.rollout, state.teacher);
    setText(status, editable ? now.line : "");
    setAttribute(status, "data-state", state.job.state);
    setAttribute(status, "data-phase", draft.phase);
    status.toggleAttribute("data-trouble", now.failed);
    setText(error, trouble ?? "");
    error.hidden = !editable || !trouble;
    progress.hidden = !editable || !now.busy || now.lost || state.job.state !== "running";
    if (share === null) progress.removeAttribute("value");
    else progress.value = share;
    cancel.hidden = !editable || !now.busy;
    setText(cancel, now.lost ? "send again" : "cancel");
    reset.hidden = !editable || port.ended() || (!edited && draft.text === null);
    const here = `${state.rollout}\u0000${state.teacher}`;
    // While the reader types, the field is theirs.
    if (here !== slot || draft.text !== null || focused(input) !== input) fill(state, draft.text);
    slot = here;
  }

  return {
    update(state) {
      last = state;
      const teacher = state.data.teachers.find((t) => t.name === state.teacher);
      const context = state.data.context(state.rollout, state.teacher);
      const editable = state.job.state !== "none" && teacher?.editable === true;
      box.hidden = !teacher;
      if (box.hidden) return;
      const draft = editable ? port.draft(placeOf(state)).text : null;
      head.update(state, draft !== null && draft !== (context?.text ?? ""));
      input.hidden = !context && !editable;
      input.readOnly = !editable || port.ended();
      setAttribute(box, "data-editable", String(editable));
      show(state, editable);
    },
    destroy() {
      life.abort();
      height.stop();
      box.remove();
    },
  };
}
