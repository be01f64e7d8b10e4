/** Which way is which, in words, with the scale's ends, its unit, and the band in which nothing can be told from zero. */
import { formatNumber } from "../core/format";
import { NO_GROUP } from "../core/groups";
import { legendSteps } from "../core/scale";
import type { SignalMeta } from "../model/contract";
import { type Maker, maker, setAttribute, setText } from "./dom";
import { changed, type View, type ViewState } from "./state";

function band(scale: SignalMeta): string {
  if (scale.scale === "log" || scale.noise === null) return "";
  return scale.scale === "diverging" ? `±${formatNumber(scale.noise)}` : `<${formatNumber(scale.noise)}`;
}

/** The legend's nodes, made once: a switch of signal writes texts, and lays out little. */
function makeParts(h: Maker) {
  const low = h("span", { class: "opd-legend-word" });
  const from = h("span", { class: "opd-legend-number" });
  const steps = h("span", { class: "opd-legend-scale", "aria-hidden": "true" });
  const to = h("span", { class: "opd-legend-number" });
  const range = h("span", { class: "opd-legend-range" }, from, steps, to);
  const meaning = h("span", {});
  const unit = h("span", { class: "opd-legend-unit" });
  const high = h("span", { class: "opd-legend-word opd-legend-high" }, meaning, unit);
  const hatched = h("span", { class: "opd-legend-step opd-legend-apart opd-v-apart", "aria-hidden": "true" });
  const key = h("span", { class: "opd-legend-word opd-legend-key", hidden: true }, hatched, " not comparable");
  const gap = h("span", { class: "opd-legend-gap opd-v-noise" });
  const box = h("div", { class: "opd-legend", role: "note" }, low, range, high, key);
  return { box, low, from, steps, to, meaning, unit, key, gap };
}

export function legend(root: HTMLElement): View {
  const h = maker(root);
  const { box, low, from, steps, to, meaning, unit, key, gap } = makeParts(h);
  root.append(box);
  let last: ViewState | null = null;
  let ends = "";
  let drawn = "";

  /** The fields differ only between a scale with a middle and one from zero. */
  function fields(scale: SignalMeta, noise: string): void {
    const signed = scale.scale === "diverging";
    const now = `${signed} ${signed || noise !== ""}`;
    setText(gap, noise || (signed ? "0" : ""));
    setAttribute(gap, "title", noise ? "noise band: as near to zero as scoring itself is exact" : "zero");
    if (now === drawn) return;
    drawn = now;
    const { below, above } = legendSteps(scale);
    const field = (name: string): HTMLElement => h("span", { class: `opd-legend-step ${name}` });
    steps.replaceChildren(...below.map(field), ...(signed || noise ? [gap] : []), ...above.map(field));
  }

  /** `beyond`: the ends past which some value lies. */
  function draw(scale: SignalMeta, beyond: { below: boolean; above: boolean }, apart: boolean): void {
    const signed = scale.scale === "diverging";
    const noise = band(scale);
    const end = (value: number): string =>
      formatNumber(value, { digits: Math.abs(value) >= 10 ? 1 : 2, signed, whole: true });
    const zero = scale.scale === "log" ? "1" : "0";
    const ends = [
      signed ? `${beyond.below ? "≤ " : ""}${end(-scale.limit)}` : zero,
      `${beyond.above ? "≥ " : ""}${end(scale.limit)}`,
    ];
    fields(scale, noise);
    setText(low, scale.low);
    setText(from, ends[0]);
    setText(to, ends[1]);
    setText(meaning, scale.high);
    const name = scale.scale === "log" ? `${scale.unit}, log scale` : scale.unit;
    setText(unit, name && scale.high ? ` · ${name}` : name);
    key.hidden = !apart;
    setAttribute(box, "title", `${scale.label} = ${scale.formula}. Values beyond the ends take the end's colour.`);
    const words = `${ends[0]} ${scale.low}, ${ends[1]} ${scale.high}, ${scale.unit}`;
    setAttribute(box, "aria-label", `Scale of ${scale.label}: ${words}${noise ? `; noise band ${noise}` : ""}`);
  }

  return {
    update(state) {
      if (changed(last, state, "scale", "data", "teacher", "rollout")) {
        const beyond = state.data.beyond(state.scale);
        const groups = state.data.groups(state.rollout, state.signal, state.teacher);
        const apart = groups?.includes(NO_GROUP) ?? false;
        const now = `${beyond.below} ${beyond.above} ${apart}`;
        if (changed(last, state, "scale") || now !== ends) draw(state.scale, beyond, apart);
        ends = now;
      }
      last = state;
    },
    destroy: () => box.remove(),
  };
}
