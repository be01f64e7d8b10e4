/** What the selected token is; and where several tokens share its cell, each of them. */
import { tokensOf } from "../core/cells";
import { formatNumber } from "../core/format";
import { makeCell } from "./cell";
import type { Maker } from "./dom";
import { selectedCell } from "./series";
import type { Actions, ViewState } from "./state";

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

/** Tokens that are no text by themselves share a cell; each still has its own value. */
export function cellParts(h: Maker, state: ViewState, actions: Actions): HTMLElement | null {
  const { data, record, rollout, signal, teacher, scale } = state;
  const [from, to] = tokensOf(record.cells.starts, selectedCell(state), record.length);
  if (to - from < 2) return null;
  const values = data.values(rollout, signal, teacher);
  const how = { sum: "add up", max: "give their maximum", mean: "give their mean" }[scale.aggregate];
  const box = h(
    "div",
    { class: "opd-parts" },
    h("p", { class: "opd-quiet" }, `${to - from} tokens make this cell; values of ${scale.label} ${how}:`),
  );
  for (let i = from; i < to; i++) {
    const id = data.tokenId(rollout, i);
    const number = formatNumber(values ? values[i] : Number.NaN, { signed: scale.scale === "diverging" });
    const part = h(
      "button",
      { type: "button", class: "opd-button", "aria-pressed": String(i === state.token) },
      `${id === null ? i + 1 : `#${id}`}  ${number}`,
    );
    part.addEventListener("click", () => actions.select({ token: i }));
    box.append(part);
  }
  return box;
}
