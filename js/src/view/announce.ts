/** Says the selected token's value to a screen reader, once the selection has come to rest. */
import { formatNumber } from "../core/format";
import { groupOf } from "../core/groups";
import { inNoise } from "../core/scale";
import { maker, setText } from "./dom";
import { selectedCell, series } from "./series";
import { changed, type View, type ViewState } from "./state";

const REST_MS = 250;

export function sentence(state: ViewState): string {
  const { data, record, scale, rollout, teacher } = state;
  const cell = selectedCell(state);
  if (cell < 0) return "No token selected";
  const { value: valueAt, incomparable } = series(state);
  const value = valueAt(cell);
  const missing = incomparable(cell) ? "not comparable" : data.lack(rollout, state.signal, teacher, state.token);
  const number = formatNumber(value, { signed: scale.scale === "diverging", whole: scale.scale === "log", missing });
  const unit = Number.isNaN(value) ? "" : ` ${scale.unit}${inNoise(value, scale) ? ", inside the noise band" : ""}`;
  const groups = data.groups(rollout, state.signal, teacher);
  const [from, to] = (groups && groupOf(groups, state.token)) ?? [0, 1];
  const group = to - from > 1 ? `, for a group of ${to - from} tokens` : "";
  const under = (scale.per_teacher ? `, ${teacher}` : "") + group;
  return `${record.cells.texts[cell]}, token ${state.token + 1} of ${record.length}: ${scale.label} ${number}${unit}${under}`;
}

/** Says what `words` makes of the state where the reader has changed one of its parts. */
export function speaker<State extends object>(
  root: HTMLElement,
  parts: (keyof State)[],
  words: (state: State) => string,
): { update(state: State): void; destroy(): void } {
  const node = maker(root)("div", { class: "opd-announce", "aria-live": "polite", "aria-atomic": "true" });
  root.append(node);
  let last: State | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    update(state) {
      // Nothing is said on arrival: only what the reader did has an answer.
      const speak = last !== null && changed(last, state, ...parts);
      last = state;
      if (!speak) return;
      clearTimeout(timer);
      timer = setTimeout(() => last && setText(node, words(last)), REST_MS);
    },
    destroy() {
      clearTimeout(timer);
      node.remove();
    },
  };
}

export const announcer = (root: HTMLElement): View =>
  speaker(root, ["rollout", "token", "teacher", "signal", "data"], sentence);
