/** The selected teacher's privileged context: read it, and where there is a model, change it and watch the colours follow. */
import { plural } from "../core/format";
import { contextStatus } from "./context_status";
import { maker, setAttribute, setText } from "./dom";
import type { ContextPort, View, ViewState } from "./state";

function parts(root: HTMLElement) {
  const h = maker(root);
  const kind = h("span", { class: "opd-context-kind" });
  const facts = h("p", { class: "opd-quiet opd-context-facts" });
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
    h("div", { class: "opd-context-head" }, kind, status, progress, cancel, reset),
    facts,
    input,
    error,
  );
  return { kind, facts, status, progress, cancel, reset, input, error, box };
}

function factLine(state: ViewState, edited: boolean): string {
  const context = state.data.context(state.rollout, state.teacher);
  const limit = state.data.teachers.find((t) => t.name === state.teacher)?.limit ?? null;
  const length = context ? plural(context.tokens, "token") : "no context";
  const room = limit === null ? "" : ` (the model takes ${limit}, prompt and response together)`;
  return `context · ${length}${room} · not seen by the student${edited ? " · edited" : ""}`;
}

export function contextEditor(root: HTMLElement, port: ContextPort): View {
  const life = new AbortController();
  const at = { signal: life.signal };
  const { kind, facts, status, progress, cancel, reset, input, error, box } = parts(root);
  root.append(box);
  let last: ViewState | null = null;
  let slot = "";

  input.addEventListener("input", () => last && port.edit(last.teacher, last.rollout, input.value), at);
  reset.addEventListener("click", () => last && port.reset(last.teacher, last.rollout), at);
  cancel.addEventListener(
    "click",
    () => last && port.cancel(last.teacher, last.rollout, last.job.state === "running"),
    at,
  );

  /** The reader's own text stays; Python's is written only where the reader has changed nothing. */
  function fill(state: ViewState, draft: string | null): void {
    const text = draft ?? state.data.context(state.rollout, state.teacher)?.text ?? "";
    if (input.value !== text) input.value = text;
    input.rows = Math.min(10, Math.max(2, text.split("\n").length, Math.ceil(text.length / 70)));
  }

  function show(state: ViewState, editable: boolean): void {
    const draft = port.draft(state.teacher, state.rollout);
    const {
      line,
      error: trouble,
      busy,
      share,
    } = contextStatus({ job: state.job, teacher: state.teacher, question: state.record.question, draft });
    const edited = state.data.edited(state.rollout, state.teacher);
    setText(facts, factLine(state, edited));
    setText(status, editable ? line : "");
    setAttribute(status, "data-state", state.job.state);
    setAttribute(status, "data-phase", draft.phase);
    setText(error, trouble ?? "");
    error.hidden = !editable || !trouble;
    progress.hidden = !editable || state.job.state !== "running";
    if (share === null) progress.removeAttribute("value");
    else progress.value = share;
    cancel.hidden = !editable || !busy;
    reset.hidden = !editable || (!edited && draft.text === null);
    const here = `${state.rollout}\u0000${state.teacher}`;
    // While the reader types, the field is theirs.
    if (here !== slot || draft.text !== null || input.ownerDocument.activeElement !== input) fill(state, draft.text);
    slot = here;
  }

  return {
    update(state) {
      last = state;
      const teacher = state.data.teachers.find((t) => t.name === state.teacher);
      const context = state.data.context(state.rollout, state.teacher);
      const editable = state.job.state !== "none" && teacher?.editable === true;
      box.hidden = !context && !editable;
      if (box.hidden) return;
      setText(kind, `${state.teacher} · ${(teacher?.kind ?? "").replaceAll("_", " ")}`);
      input.readOnly = !editable;
      setAttribute(box, "data-editable", String(editable));
      show(state, editable);
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
