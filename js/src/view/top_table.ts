/** Both distributions over the same tokens, side by side. */
import { formatProbability } from "../core/format";
import { rankOf, shortRows, type TopRow, unionRows } from "../core/topk";
import type { Dataset } from "../model/dataset";
import { makeCell } from "./cell";
import { type Maker, maker } from "./dom";
import type { ViewState } from "./state";

const SHORT = 8;

function bar(h: Maker, logp: number, side: string): HTMLElement {
  const fill = h("span", { class: `opd-bar opd-bar-${side}` });
  fill.style.width = `${Number.isNaN(logp) ? 0 : 100 * Math.exp(logp)}%`;
  return h("td", { class: "opd-top-bar" }, h("span", { class: "opd-bar-track" }, fill));
}

/** Whether the teacher's side of the table can say anything: of another tokenizer, it ranks other tokens. */
const beside = (state: ViewState): boolean =>
  state.data.teachers.length > 0 && !state.data.otherTokenizer(state.teacher);

function row(h: Maker, data: Dataset, entry: TopRow, sampled: number | null, both: boolean): HTMLElement {
  const [text, kind] = data.vocab(entry.id);
  const own = entry.id === sampled;
  const name = h("th", { scope: "row", title: `token id ${entry.id}` }, makeCell(h, text, kind));
  if (own)
    name.append(
      h("span", { class: "opd-sampled", role: "img", "aria-label": "sampled", title: "the sampled token" }, "◂"),
    );
  const number = (logp: number): HTMLElement => h("td", { class: "opd-figure" }, formatProbability(logp));
  const cells = [bar(h, entry.student, "student"), number(entry.student)];
  if (both) cells.push(bar(h, entry.teacher, "teacher"), number(entry.teacher));
  return h("tr", { "data-token-id": entry.id, "data-sampled": own }, name, ...cells);
}

/** Where the sampled token stands on each side, in words. */
function standing(
  rows: { student: TopRow[]; teacher: TopRow[] },
  sampled: number,
  k: number,
  state: ViewState,
): string {
  const say = (who: string, list: TopRow[], side: "student" | "teacher"): string => {
    if (list.length === 0) return `${who}: not recorded`;
    const rank = rankOf(list, sampled, side);
    return rank === null ? `below ${who}’s top ${k}` : `${who}’s no. ${rank}`;
  };
  const theirs = beside(state) ? `, ${say(state.teacher, rows.teacher, "teacher")}` : "";
  return `sampled token: ${say("student", rows.student, "student")}${theirs}`;
}

export function topTable(root: HTMLElement, all: boolean, toggle: () => void): (state: ViewState) => HTMLElement {
  const h = maker(root);
  return (state) => {
    const { data, rollout, token, teacher } = state;
    const rows = data.top(rollout, token, teacher);
    if (!rows) return h("p", { class: "opd-quiet" }, "Top tokens were not recorded.");
    const sampled = data.tokenId(rollout, token);
    const union = unionRows(rows.student, rows.teacher);
    const shown = all ? union : shortRows(union, SHORT, sampled);
    const head = h(
      "tr",
      {},
      h("td", {}),
      h("th", { scope: "col", colspan: 2 }, "student"),
      beside(state) && h("th", { scope: "col", colspan: 2, title: teacher }, teacher),
    );
    const table = h(
      "table",
      { class: "opd-top" },
      h("thead", {}, head),
      h("tbody", {}, ...shown.map((e) => row(h, data, e, sampled, beside(state)))),
    );
    const box = h("div", { class: "opd-top-box" }, table);
    if (union.length > SHORT) {
      const button = h(
        "button",
        { type: "button", class: "opd-link" },
        all ? "show fewer" : `show all ${union.length}`,
      );
      button.addEventListener("click", toggle);
      box.append(button);
    }
    if (sampled !== null)
      box.append(h("p", { class: "opd-quiet opd-standing" }, standing(rows, sampled, data.meta.top_k, state)));
    return box;
  };
}
