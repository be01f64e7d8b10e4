/** The two switches of the bar: which teacher, which signal. Neither asks Python for anything. */
import type { SignalMeta } from "../model/contract";
import { maker, setAttribute } from "./dom";
import { type Choice, segmented } from "./segmented";
import { type Actions, changed, type View, type ViewState } from "./state";
import { teacherSwitch } from "./teacher_switch";

/** Signals that stand in the bar when they are there; the rest is one menu away. */
const MAIN = ["advantage", "reverse_kl", "forward_kl", "student_entropy", "entropy"];
const MAIN_COUNT = 4;

export function scoresTeacherSwitch(root: HTMLElement, actions: Actions): View {
  const control = teacherSwitch(root, (teacher) => actions.select({ teacher }));
  let last: ViewState | null = null;
  return {
    update(state) {
      if (changed(last, state, "data", "teacher")) control.show(state.data.teachers, state.teacher);
      last = state;
    },
    destroy: control.destroy,
  };
}

/** Signals of the bar, then those of the menu. */
export function splitSignals(signals: readonly SignalMeta[]): { main: SignalMeta[]; more: SignalMeta[] } {
  // Without any teacher, what needs one is no more than a reason in the menu.
  const taught = signals.some((s) => s.per_teacher && s.available);
  const known = MAIN.flatMap((name) => signals.filter((s) => s.name === name && (taught || !s.per_teacher)));
  const main = [...known, ...signals.filter((s) => !known.includes(s) && s.available)].slice(0, MAIN_COUNT);
  return { main, more: signals.filter((s) => !main.includes(s)) };
}

/** The available signal `step` places on, in the order the switch shows them. */
export function nextSignal(signals: readonly SignalMeta[], current: string, step: number): string {
  const { main, more } = splitSignals(signals);
  const open = [...main, ...more].filter((s) => s.available);
  if (open.length === 0) return current;
  const at = open.findIndex((s) => s.name === current);
  return open[(Math.max(at, step < 0 ? 0 : -1) + step + open.length) % open.length].name;
}

export function signalSwitch(root: HTMLElement, actions: Actions): View {
  const h = maker(root);
  const life = new AbortController();
  const choose = (signal: string): void => actions.select({ signal });
  const control = segmented(root, { label: "Signal", data: "data-signal", choose, signal: life.signal });
  const menu = h("select", { class: "opd-select opd-signal-more", "aria-label": "More signals" });
  const box = h("div", { class: "opd-signal-switch" }, control.node, menu);
  root.append(box);
  menu.addEventListener("change", () => menu.value && choose(menu.value), { signal: life.signal });
  let last: ViewState | null = null;

  function fillMenu(more: readonly SignalMeta[]): void {
    const options = more.map((s) => {
      const text = s.available ? s.label : `${s.label} (${s.reason ?? "not available"})`;
      return h("option", { value: s.name, disabled: !s.available, title: s.formula }, text);
    });
    menu.replaceChildren(h("option", { value: "" }, "more…"), ...options);
  }

  return {
    update(state) {
      if (!changed(last, state, "data", "signal")) return;
      const { main, more } = splitSignals(state.data.signals);
      if (changed(last, state, "data")) {
        fillMenu(more);
        menu.hidden = more.length === 0;
      }
      const choices = main.map(
        (s): Choice => ({
          value: s.name,
          label: s.label,
          title: s.formula,
          disabled: s.available ? null : (s.reason ?? "not available"),
        }),
      );
      control.show(choices, state.signal);
      menu.value = more.some((s) => s.name === state.signal) ? state.signal : "";
      setAttribute(menu, "data-active", menu.value ? "true" : null);
      last = state;
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
