/** Every signal at one token, and one signal under every teacher. What is not known says so in words. */

import { formatNumber } from "../../core/format";
import { isolated } from "../../core/plain_text";
import { colourClass } from "../../core/scale";
import type { SignalMeta } from "../../model/contract";
import { type Maker, maker } from "../dom";
import type { ViewState } from "../state";

/** Coloured only where colour is the point: a table of chips would shout down the text. */
function value(h: Maker, state: ViewState, scale: SignalMeta, teacher: string, coloured: boolean): HTMLElement {
  const { data, rollout, token } = state;
  const number = data.value(rollout, scale.name, teacher, token);
  const missing = data.lack(rollout, scale.name, teacher, token);
  const style = { digits: 3, signed: scale.scale === "diverging", whole: scale.scale === "log", missing };
  const known = !Number.isNaN(number);
  return h(
    "td",
    { class: `opd-figure${known ? "" : " opd-missing"}` },
    h(
      "span",
      { class: `opd-chip ${known && coloured ? colourClass(number, scale) : ""}` },
      formatNumber(number, style),
    ),
  );
}

function line(
  h: Maker,
  name: string,
  cell: HTMLElement,
  more: { title?: string; unit?: string; on?: boolean; data?: string },
): HTMLElement {
  const unit = h("td", { class: "opd-unit" }, more.unit);
  return h(
    "tr",
    { "aria-current": more.on ? "true" : null, "data-row": more.data },
    h("th", { scope: "row", title: more.title }, name),
    cell,
    unit,
  );
}

export function signalTable(root: HTMLElement): (state: ViewState) => HTMLElement {
  const h = maker(root);
  return (state) => {
    const { data, teacher } = state;
    const rows = data.signals.map((scale) => {
      const cell = scale.available
        ? value(h, state, scale, teacher, scale.name === state.signal)
        : h("td", { class: "opd-figure opd-missing", title: scale.reason }, "not available");
      const title = scale.available ? `${scale.formula} · ${scale.tier}` : `${scale.formula} · ${scale.reason ?? ""}`;
      const unit = scale.available ? scale.unit : "";
      return line(h, scale.label, cell, { title, unit, on: scale.name === state.signal, data: scale.name });
    });
    const head = h("caption", { class: "opd-heading" }, teacher ? `Signals · ${isolated(teacher)}` : "Signals");
    return h("table", { class: "opd-values opd-signal-values" }, head, h("tbody", {}, ...rows));
  };
}

export function teacherTable(root: HTMLElement): (state: ViewState) => HTMLElement | null {
  const h = maker(root);
  return (state) => {
    const { data, scale } = state;
    // A signal of the student alone is the same under all: the advantage is what differs.
    const shown = scale.per_teacher ? scale : data.signal("advantage");
    if (!shown || data.teachers.length < 2) return null;
    const rows = data.teachers.map((t) => {
      const cell = value(h, state, shown, t.name, true);
      return line(h, t.name, cell, {
        title: t.description,
        unit: shown.unit,
        on: t.name === state.teacher,
        data: t.name,
      });
    });
    const head = h("caption", { class: "opd-heading" }, `${shown.label} under every teacher`);
    return h("table", { class: "opd-values opd-teacher-values" }, head, h("tbody", {}, ...rows));
  };
}
