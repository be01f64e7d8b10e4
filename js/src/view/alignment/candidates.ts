/** What could have stood here: each candidate's success with its interval, and what student and teacher think of it. */

import { formatNumber, formatProbability, formatShort } from "../../core/format";
import { isolated } from "../../core/plain_text";
import { KEPT, maker } from "../dom";
import { makeCell } from "../text/cell";
import { shareWhisker } from "../whisker";
import type { AlignmentState } from "./state";

/** Rows shown before the rest is asked for. */
const FEW = 8;

const number = (value: number): string => formatShort(value, { missing: "–" });

function candidateRow(root: HTMLElement, state: AlignmentState, c: number, taken: number): HTMLElement {
  const h = maker(root);
  const { data, places, teacher } = state;
  const [text, kind] = places.shown(data.tokenId(c));
  const low = data.candidate("success_low", c);
  const at = data.candidate("success_mean", c);
  const high = data.candidate("success_high", c);
  const inside = data.inSupport(c, teacher);
  const said = `P_succ ${formatNumber(at, { digits: 3, missing: "not known" })}, ${number(low)} to ${number(high)}`;
  const chart = shareWhisker(root, low, at, high);
  const sign = data.tokenId(c) === taken && h("span", { class: "opd-a-taken", title: "taken by this rollout" }, "◂");
  const figure = (value: string): HTMLElement => h("td", { class: "opd-figure" }, value);
  return h(
    "tr",
    { "data-support": inside ? "" : null, title: inside ? said : `${said}; not in the support` },
    h("th", { scope: "row" }, makeCell(h, text, kind), sign),
    h("td", { class: "opd-a-whisker" }, chart),
    figure(number(at)),
    figure(String(data.candidate("visits", c))),
    figure(formatProbability(data.candidate("student_logprob", c))),
    figure(formatProbability(data.under("teacher_logprob", c, teacher))),
  );
}

function head(root: HTMLElement, { data, places, teacher }: AlignmentState): HTMLElement {
  const h = maker(root);
  const level = Math.round(100 * data.meta.level);
  const success = `probability that the student ends correct after this token, ${level}% interval, from 0 to 1`;
  const column = (text: string, title: string): HTMLElement =>
    h("th", { scope: "col", class: "opd-figure", title }, text);
  return h(
    "tr",
    {},
    h("th", { scope: "col" }, "token"),
    h("th", { scope: "col", colspan: 2, title: success }, "P_succ, 0 to 1"),
    column("visits", "rollouts that the estimate counts"),
    column("student", "the student's probability of the token"),
    column("teacher", `${isolated(places.teachers[teacher].name)}'s probability of the token`),
  );
}

export function candidateTable(
  root: HTMLElement,
  state: AlignmentState,
  row: number,
  all: boolean,
  toggle: () => void,
): HTMLElement {
  const h = maker(root);
  const { data, places, teacher, record, token } = state;
  const taken = record && token >= 0 ? places.tokenIds(record)[token] : -1;
  const every = data.candidatesOf(row);
  const shown = all ? every : every.slice(0, FEW);
  const rows = shown.map((c) => candidateRow(root, state, c, taken));
  const table = h(
    "table",
    { class: "opd-top opd-a-candidates" },
    h("caption", { class: "opd-heading" }, "Candidates"),
    h("thead", {}, head(root, state)),
    h("tbody", {}, ...rows),
  );
  const outside = every.some((c) => !data.inSupport(c, teacher));
  const words = "Grey: not in the support, takes no part in the gradients.";
  const note = outside ? h("p", { class: "opd-quiet opd-a-note" }, words) : null;
  const label = all ? "show fewer" : `show all ${every.length}`;
  const more = every.length > FEW ? h("button", { type: "button", class: "opd-link", [KEPT]: "all" }, label) : null;
  more?.addEventListener("click", toggle);
  return h("div", {}, table, note, more);
}
