/** Which way is which, in words, with the scale's ends, its unit, and the band in which nothing can be told from zero. */
import { formatNumber } from "../core/format";
import { NO_GROUP } from "../core/groups";
import { legendSteps } from "../core/scale";
import type { SignalMeta } from "../model/contract";
import { maker } from "./dom";
import { changed, type View, type ViewState } from "./state";

function band(scale: SignalMeta): string {
  if (scale.scale === "log" || scale.noise === null) return "";
  return scale.scale === "diverging" ? `±${formatNumber(scale.noise)}` : `<${formatNumber(scale.noise)}`;
}

export function legend(root: HTMLElement): View {
  const h = maker(root);
  const box = h("div", { class: "opd-legend", role: "note" });
  root.append(box);
  let last: ViewState | null = null;
  let ends = "";

  function field(name: string): HTMLElement {
    return h("span", { class: `opd-legend-step ${name}` });
  }

  /** `beyond`: the ends past which some value lies. */
  function draw(scale: SignalMeta, beyond: { below: boolean; above: boolean }, apart: boolean): void {
    const { below, above } = legendSteps(scale);
    const signed = scale.scale === "diverging";
    const noise = band(scale);
    const end = (value: number): string => formatNumber(value, { digits: value >= 10 ? 0 : 2, signed, whole: true });
    const gap = h(
      "span",
      {
        class: "opd-legend-gap opd-v-noise",
        title: noise ? "noise band: as near to zero as scoring itself is exact" : "zero",
      },
      noise || (signed ? "0" : null),
    );
    const unit = scale.scale === "log" ? `${scale.unit}, log scale` : scale.unit;
    const range = h(
      "span",
      { class: "opd-legend-range" },
      h(
        "span",
        { class: "opd-legend-number" },
        signed ? `${beyond.below ? "≤ " : ""}${end(-scale.limit)}` : scale.scale === "log" ? "1" : "0",
      ),
      h(
        "span",
        { class: "opd-legend-scale", "aria-hidden": "true" },
        ...below.map(field),
        (signed || noise) && gap,
        ...above.map(field),
      ),
      h("span", { class: "opd-legend-number" }, `${beyond.above ? "≥ " : ""}${end(scale.limit)}`),
    );
    const high = h("span", { class: "opd-legend-word" }, scale.high);
    if (unit) high.append(h("span", { class: "opd-legend-unit" }, scale.high ? ` · ${unit}` : unit));
    const hatched = h("span", { class: "opd-legend-step opd-legend-apart opd-v-apart", "aria-hidden": "true" });
    const key = h("span", { class: "opd-legend-word opd-legend-key" }, hatched, " not comparable");
    box.replaceChildren(h("span", { class: "opd-legend-word" }, scale.low), range, high, ...(apart ? [key] : []));
    box.title = `${scale.label} = ${scale.formula}. Values beyond the ends take the end's colour.`;
    box.setAttribute(
      "aria-label",
      `Scale of ${scale.label}: ${end(signed ? -scale.limit : 0)} ${scale.low}, ${end(scale.limit)} ${scale.high}, ${scale.unit}${noise ? `; noise band ${noise}` : ""}`,
    );
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
