/** Both distributions over the same tokens, side by side. */

import { formatProbability } from "../../core/format";
import { isolated } from "../../core/plain_text";
import { rankOf, shortRows, type TopRow, unionRows } from "../../core/topk";
import type { TopAnswer } from "../../model/top_windows";
import { KEPT, type Maker, maker } from "../dom";
import type { ViewState } from "../state";
import { makeCell } from "../text/cell";

const SHORT = 8;
/** What stands in place of the table. */
const WORDS = {
  absent: "Top tokens were not recorded.",
  left_out: "The likeliest tokens are not in this page.",
  fetching: "Fetching the likeliest tokens …",
  busy: "The kernel is busy: the likeliest tokens come when it is free.",
  ended: "The kernel has ended: for the likeliest tokens, run this cell again.",
} as const;

type Look = Extract<TopAnswer, { state: "here" }>["look"];

function bar(h: Maker, logp: number, side: string): HTMLElement {
  const fill = h("span", { class: `opd-bar opd-bar-${side}` });
  fill.style.width = `${Number.isNaN(logp) ? 0 : 100 * Math.exp(logp)}%`;
  return h("td", { class: "opd-top-bar" }, h("span", { class: "opd-bar-track" }, fill));
}

/** Whether the teacher's side of the table can say anything: of another tokenizer, it ranks other tokens. */
const beside = (state: ViewState): boolean =>
  state.data.teachers.length > 0 && !state.data.otherTokenizer(state.teacher);

function row(h: Maker, look: Look, entry: TopRow, sampled: number | null, both: boolean): HTMLElement {
  const [text, kind] = look(entry.id);
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
  const theirs = beside(state) ? `, ${say(isolated(state.teacher), rows.teacher, "teacher")}` : "";
  return `sampled token: ${say("student", rows.student, "student")}${theirs}`;
}

const said = (answer: Exclude<TopAnswer, { state: "here" }>): string =>
  answer.state === "failed" ? `The likeliest tokens could not be had: ${answer.message}` : WORDS[answer.state];

function table(h: Maker, state: ViewState, rows: readonly TopRow[], look: Look): HTMLElement {
  const sampled = state.data.tokenId(state.rollout, state.token);
  const both = beside(state);
  const head = h(
    "tr",
    {},
    h("td", {}),
    h("th", { scope: "col", colspan: 2 }, "student"),
    both && h("th", { scope: "col", colspan: 2, title: state.teacher }, state.teacher),
  );
  const body = rows.map((entry) => row(h, look, entry, sampled, both));
  return h("table", { class: "opd-top" }, h("thead", {}, head), h("tbody", {}, ...body));
}

export function topTable(root: HTMLElement, all: boolean, toggle: () => void): (state: ViewState) => HTMLElement {
  const h = maker(root);
  return (state) => {
    const { data, rollout, token, teacher } = state;
    const answer = state.tops.at(rollout, token, teacher);
    const box = h("div", { class: "opd-top-box", "data-top": answer.state });
    if (answer.state !== "here") {
      box.append(h("p", { class: "opd-quiet" }, said(answer)));
      return box;
    }
    const { rows, look } = answer;
    const sampled = data.tokenId(rollout, token);
    const union = unionRows(rows.student, rows.teacher);
    box.append(table(h, state, all ? union : shortRows(union, SHORT, sampled), look));
    if (union.length > SHORT) {
      const button = h(
        "button",
        { type: "button", class: "opd-link", [KEPT]: "all" },
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
