/** What the selected token is; and where several tokens share its cell, each of them. */

import { cellOf, tokensOf } from "../../core/cells";
import { formatNumber, plural } from "../../core/format";
import { groupOf } from "../../core/groups";
import { isolated } from "../../core/plain_text";
import type { Cells } from "../../model/contract";
import { KEPT, type Maker } from "../dom";
import { selectedCell } from "../series";
import type { Actions, ViewState } from "../state";
import { makeCell } from "../text/cell";

export function identity(h: Maker, state: ViewState): HTMLElement {
  const { data, record, rollout, token } = state;
  const cell = selectedCell(state);
  const id = data.tokenId(rollout, token);
  const facts = [id === null ? "id not recorded" : `id ${id}`];
  if (data.mask(rollout)[token] === 0) facts.push("not the student’s own token: in no mean");
  return h(
    "div",
    { class: "opd-identity" },
    makeCell(h, record.cells.texts[cell], record.cells.kinds[cell]),
    h("span", { class: "opd-quiet" }, facts.join(" · ")),
  );
}

/** Where a teacher of another tokenizer says the same text: its tokens, and the student's that they are compared with. */
export function comparison(h: Maker, state: ViewState): HTMLElement | null {
  const { data, record, rollout, signal, teacher, token } = state;
  const groups = data.groups(rollout, signal, teacher);
  if (!groups) return null;
  const range = groupOf(groups, token);
  const box = h("div", { class: "opd-comparison" });
  if (!range) {
    box.append(h("p", { class: "opd-not-comparable" }, "not comparable"));
    box.append(
      h(
        "p",
        { class: "opd-quiet" },
        `${isolated(teacher)} has another tokenizer, in which nothing corresponds to this token.`,
      ),
    );
    return box;
  }
  const theirs = data.otherTokens(rollout, teacher, groups[token]);
  const [from, to] = range;
  const sides = `${plural(to - from, "student token")} and ${plural(theirs.length, "teacher token")}`;
  box.append(h("p", { class: "opd-quiet" }, `compared as a group of ${sides}`));
  const chips = (texts: string[]): HTMLElement[] => texts.map((text) => makeCell(h, text, "t"));
  const side = (who: string, texts: string[]): HTMLElement =>
    h("div", { class: "opd-comparison-side" }, h("span", { class: "opd-quiet" }, who), ...chips(texts));
  box.append(side("student", studentTexts(record.cells, from, to)), side(teacher, theirs));
  return box;
}

/** The cells that show some tokens. */
function studentTexts({ starts, texts }: Cells, from: number, to: number): string[] {
  return texts.slice(cellOf(starts, from), cellOf(starts, to - 1) + 1);
}

/** Tokens that are no text by themselves share a cell; each still has its own value. */
export function cellParts(h: Maker, state: ViewState, actions: Actions): HTMLElement | null {
  const { data, record, rollout, signal, teacher, scale } = state;
  const [from, to] = tokensOf(record.cells.starts, selectedCell(state), record.length);
  if (to - from < 2 || data.groups(rollout, signal, teacher)) return null;
  const values = data.values(rollout, signal, teacher);
  const how = { sum: "add up", max: "give their maximum", mean: "give their mean" }[scale.aggregate];
  const box = h(
    "div",
    { class: "opd-parts" },
    h("p", { class: "opd-quiet" }, `${to - from} tokens make this cell; values of ${scale.label} ${how}:`),
  );
  for (let i = from; i < to; i++) {
    const id = data.tokenId(rollout, i);
    const missing = data.lack(rollout, signal, teacher, i);
    const number = formatNumber(values ? values[i] : Number.NaN, { signed: scale.scale === "diverging", missing });
    const part = h(
      "button",
      { type: "button", class: "opd-button", "aria-pressed": String(i === state.token), [KEPT]: `part ${i}` },
      `${id === null ? i + 1 : `#${id}`}  ${number}`,
    );
    part.addEventListener("click", () => actions.select({ token: i }));
    box.append(part);
  }
  return box;
}
