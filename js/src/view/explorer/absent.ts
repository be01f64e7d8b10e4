/** Where the selected teacher does not have the selected signal: said in words, with the way to one it has. */
import { isolated } from "../../core/plain_text";
import type { SignalMeta } from "../../model/contract";
import { maker, refill } from "../dom";
import { type Actions, changed, type View, type ViewState } from "../state";

const SHOWN = 3;

/** The signals of teachers that one of them has for a rollout. */
export const signalsOf = ({ data, rollout }: ViewState, teacher: string): SignalMeta[] =>
  data.signals.filter((s) => s.per_teacher && data.values(rollout, s.name, teacher) !== null);

export function absent(root: HTMLElement, actions: Actions): View {
  const h = maker(root);
  const box = h("p", { class: "opd-quiet opd-absent", role: "note", hidden: true });
  root.append(box);
  let last: ViewState | null = null;

  function link(text: string, choose: () => void): HTMLElement {
    const button = h("button", { type: "button", class: "opd-link" }, text);
    button.addEventListener("click", choose);
    return button;
  }

  return {
    update(state) {
      if (!changed(last, state, "data", "rollout", "teacher", "signal")) return;
      last = state;
      const { data, rollout, teacher, signal, scale } = state;
      const lacks = data.teachers.length > 0 && scale.per_teacher && data.values(rollout, signal, teacher) === null;
      box.hidden = !lacks;
      root.toggleAttribute("data-none", lacks);
      if (!lacks) return;
      const has = signalsOf(state, teacher).slice(0, SHOWN);
      const others = data.teachers.filter((t) => data.values(rollout, signal, t.name) !== null).slice(0, SHOWN);
      refill(
        box,
        `${isolated(teacher)} has no ${scale.label}.`,
        ...has.flatMap((s) => [" ", link(`show its ${s.label}`, () => actions.select({ signal: s.name }))]),
        ...others.flatMap((t) => [" ", link(`show ${isolated(t.name)}`, () => actions.select({ teacher: t.name }))]),
      );
    },
    destroy() {
      box.remove();
    },
  };
}
