/** Where a scale ends: fitted to all there is, pinned to what is in view, or typed. Nothing else moves it. */
import type { SignalMeta } from "../../model/contract";
import { focused, maker, setAttribute, setText } from "../dom";
import { legend } from "../legend";
import { type Choice, segmented } from "../segmented";
import type { CompareActions, CompareState, CompareView } from "./state";

const CHOICES: Choice[] = [
  {
    value: "all",
    label: "fitted to all",
    title: "the scale's end is fitted to all rollouts, teachers and steps",
  },
  {
    value: "this",
    label: "pinned to this",
    title: "takes the end that fits what is shown now, and keeps it; press again to take it anew",
  },
];

export function compareScale(
  root: HTMLElement,
  actions: CompareActions,
  scaleOf: (state: CompareState) => SignalMeta | null,
): CompareView {
  const h = maker(root);
  const life = new AbortController();
  const box = h("div", { class: "opd-compare-scale", role: "group" });
  const title = h("span", { class: "opd-compare-scale-title" });
  let last: CompareState | null = null;
  const scale = (): SignalMeta | null => last && scaleOf(last);

  function pin(limit: number | null): void {
    const asked = scale();
    if (!asked || !last) return;
    const { [asked.name]: _, ...others } = last.limits;
    actions.arrange({ limits: limit === null ? others : { ...others, [asked.name]: limit } });
  }

  const control = segmented(box, {
    label: "Scale",
    data: "data-scale",
    choose: (value) => {
      const asked = scale();
      if (asked) pin(value === "all" ? null : last!.fit(asked));
    },
    signal: life.signal,
  });
  const input = h("input", { class: "opd-input opd-compare-limit", type: "number", min: 0, step: "any" });
  const label = h("label", { class: "opd-compare-typed opd-quiet" });
  const sign = h("span", { "aria-hidden": "true" });
  label.append(sign, input);
  input.addEventListener(
    "change",
    () => {
      const typed = input.valueAsNumber;
      if (Number.isFinite(typed) && typed > 0) pin(typed);
      // What is no end of a scale leaves the scale as it was, and says so by going back.
      else input.value = String(scale()?.limit ?? "");
    },
    { signal: life.signal },
  );
  root.append(box);
  box.append(title);
  const words = legend(box);
  box.append(control.node, label);

  return {
    update(state) {
      last = state;
      const asked = scaleOf(state);
      box.hidden = asked === null;
      if (!asked) return;
      setText(title, asked.label);
      setAttribute(box, "aria-label", `Scale of ${asked.label}`);
      words.update({ ...state, scale: asked });
      control.show(CHOICES, Object.hasOwn(state.limits, asked.name) ? "this" : "all");
      setText(sign, asked.scale === "diverging" ? "±" : asked.scale === "log" ? "1 –" : "0 –");
      setAttribute(input, "aria-label", `End of the scale of ${asked.label}, ${asked.unit}`);
      if (focused(input) !== input) input.value = String(asked.limit);
    },
    destroy() {
      life.abort();
      words.destroy();
      box.remove();
    },
  };
}
