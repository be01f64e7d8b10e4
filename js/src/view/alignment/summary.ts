/** Means over all questions by teacher and outcome, each a dot with its interval; a press selects the teacher. */

import { formatNumber, formatShort } from "../../core/format";
import { isolated } from "../../core/plain_text";
import { maker, setAttribute, setText } from "../dom";
import { heading } from "../segmented";
import { changed } from "../state";
import { cosineWhisker } from "../whisker";
import type { AlignmentActions, AlignmentPart, AlignmentState } from "./state";

const signed = (value: number): string => formatShort(value, { signed: true, missing: "–" });
const percent = (value: number): string => (Number.isNaN(value) ? "–" : `${Math.round(100 * value)}%`);

function sentence({ data }: AlignmentState, t: number, o: number): string {
  const mean = (name: Parameters<typeof data.mean>[0]): number => data.mean(name, t, o);
  const kind = (name: Parameters<typeof data.kind>[0]): number => data.kind(name, t, o);
  const number = (value: number): string => formatNumber(value, { signed: true, missing: "–" });
  return [
    `mean cosine ${number(mean("mean_cosine"))} (${number(mean("mean_cosine_low"))} to ${number(mean("mean_cosine_high"))})`,
    `${percent(mean("share_positive"))} above 0 (${percent(mean("share_positive_low"))} to ${percent(mean("share_positive_high"))})`,
    `${kind("n_nodes")} nodes`,
    `in no mean: ${kind("n_undefined")} without a signal, ${kind("n_outside")} outside the support, ${kind("n_few_visits")} with too few visits`,
  ].join("; ");
}

function caption({ data }: AlignmentState): string {
  const level = Math.round(100 * data.meta.level);
  const over = data.interval ? `, over ${data.interval}` : "";
  return `All questions. Each node counts as often as initial rollouts of that outcome pass it; ${level}% intervals${over}. Axis from −1 to +1.`;
}

function cells(root: HTMLElement, state: AlignmentState, t: number): HTMLElement[] {
  const h = maker(root);
  const { data } = state;
  return data.meta.outcomes.map((outcome, o) => {
    const [low, at, high] = (["mean_cosine_low", "mean_cosine", "mean_cosine_high"] as const).map((name) =>
      data.mean(name, t, o),
    );
    const chart = cosineWhisker(root, low, at, high);
    const said = sentence(state, t, o);
    return h(
      "td",
      { title: `${outcome}: ${said}` },
      h("span", { class: "opd-a-mean-cell" }, chart, h("span", { class: "opd-a-mean" }, signed(at))),
      h("span", { class: "opd-announce" }, said),
    );
  });
}

function draw(root: HTMLElement, head: HTMLElement, body: HTMLElement, state: AlignmentState): void {
  const h = maker(root);
  const columns = state.data.meta.outcomes.map((name) => h("th", { scope: "col" }, name));
  head.replaceChildren(h("tr", {}, h("th", { scope: "col" }, "teacher"), ...columns));
  body.replaceChildren(
    ...state.places.teachers.map(({ name, description }, t) => {
      const attributes = { type: "button", class: "opd-link opd-a-choose", title: description || null };
      return h(
        "tr",
        { "data-row": name },
        h("th", { scope: "row" }, h("button", attributes, name)),
        ...cells(root, state, t),
      );
    }),
  );
}

export function alignmentSummary(root: HTMLElement, actions: AlignmentActions): AlignmentPart {
  const h = maker(root);
  const life = new AbortController();
  const [head, body] = [h("thead"), h("tbody")];
  const note = h("p", { class: "opd-quiet opd-a-note" });
  const label = "Mean alignment by teacher and outcome";
  const table = h("table", { class: "opd-values opd-a-summary" }, head, body);
  const box = h("section", { "aria-label": label, class: "opd-a-means" }, heading(root, label), table, note);
  root.append(box);
  let last: AlignmentState | null = null;
  body.addEventListener(
    "click",
    (event) => {
      const teacher = (event.target as Element).closest("tr")?.getAttribute("data-row");
      if (teacher) actions.select({ teacher });
    },
    { signal: life.signal },
  );
  return {
    update(state) {
      const { data, places, teacher } = state;
      box.hidden = !data.summarised || teacher < 0;
      if (box.hidden) return;
      if (changed(last, state, "data", "places")) draw(root, head, body, state);
      last = state;
      [...body.children].forEach((row, t) => {
        setAttribute(row, "aria-current", t === teacher ? "true" : null);
      });
      const all = data.meta.outcomes.length - 1;
      const who = `${isolated(places.teachers[teacher].name)}, ${data.meta.outcomes[all]}`;
      setText(note, `${who}: ${sentence(state, teacher, all)}. ${caption(state)}`);
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}
