/** One rollout among others of its question: its head, its coloured text, and how far it goes along with them. */
import { cellOf } from "../../core/cells";
import type { Prefix } from "../../core/compare/prefix";
import { plural } from "../../core/format";
import { formatFigure } from "../../core/stats";
import type { RolloutMeta } from "../../model/contract";
import { maker, setAttribute, setText } from "../dom";
import { outcomeMark } from "../outcome";
import { series } from "../series";
import { tokenText } from "../text/token_text";
import type { CompareActions, CompareState } from "./state";

export interface Column {
  readonly rollout: number;
  readonly node: HTMLElement;
  update(state: CompareState, prefix: Prefix, repaint: boolean): void;
  destroy(): void;
}

/** Where a rollout leaves the others, in words. */
function words({ own, all, others }: Prefix, { length, cells: { starts } }: RolloutMeta): string {
  if (own === 0) return "shares no beginning with the others";
  const tokens = (cells: number): number => starts[cells] ?? length;
  const whole = all > 0 ? `first ${plural(tokens(all), "token")} shared by all` : "";
  const some =
    own > all ? `first ${plural(tokens(own), "token")} with ${others > 1 ? `${others} others` : "another"}` : "";
  const shared = [whole, some].filter((part) => part !== "").join(", ");
  return own === starts.length ? `${shared}, to its end` : `${shared}; leaves at token ${tokens(own) + 1}`;
}

export function compareColumn(
  root: HTMLElement,
  actions: CompareActions,
  rollout: number,
  first: CompareState,
): Column {
  const h = maker(root);
  const life = new AbortController();
  const record = first.data.rollout(rollout);
  const { starts } = record.cells;
  const figures = h("span", { class: "opd-figure opd-compare-mean" });
  const choose = h(
    "button",
    { type: "button", class: "opd-link opd-compare-choose", "aria-label": `Select rollout ${rollout + 1}` },
    `rollout ${rollout + 1}`,
  );
  choose.addEventListener("click", () => actions.select({ rollout }), { signal: life.signal });
  const shared = h("span", { class: "opd-quiet opd-compare-shared" });
  const head = h(
    "div",
    { class: "opd-compare-column-head" },
    outcomeMark(h, record.outcome),
    choose,
    h("span", { class: "opd-quiet" }, `${record.outcome} · ${plural(record.length, "token")}`),
    figures,
  );
  const node = h("section", { class: "opd-compare-column", "aria-label": `Rollout ${rollout + 1}, ${record.outcome}` });
  node.append(head, shared);
  root.append(node);
  const text = tokenText({
    root: node,
    label: `Tokens of rollout ${rollout + 1}, ${record.outcome}`,
    signal: life.signal,
    pick: (cell) => actions.select({ rollout, token: starts[cell] }),
  });
  text.show(record.cells);

  function paint(state: CompareState, { own, all }: Prefix): void {
    const { colour, masked } = series({ ...state, rollout, record });
    text.paint((cell) => {
      const along = cell < all ? " opd-compare-all" : cell < own ? " opd-compare-some" : "";
      const leaves = cell === own && own > 0 ? " opd-compare-leaves" : "";
      return `${masked(cell) ? "opd-masked " : ""}${colour(cell)}${along}${leaves}`;
    });
  }

  return {
    rollout,
    node,
    update(state, prefix, repaint) {
      if (repaint) {
        paint(state, prefix);
        setText(shared, words(prefix, record));
        const all = state.data.stats(rollout, state.signal, state.teacher);
        const { mean, below, above } = all;
        const signed = state.scale.scale === "diverging";
        setText(figures, `${Number.isNaN(mean) ? "" : "mean "}${formatFigure(mean, all, { signed })}`);
        const aside = below + above ? `; beside ${below} of −∞ and ${above} of +∞` : "";
        setAttribute(figures, "title", `mean ${state.scale.label}${aside}`);
      }
      const here = state.rollout === rollout;
      setAttribute(node, "data-current", here ? "" : null);
      const cell = cellOf(state.record.cells.starts, state.token);
      if (here) text.select(cell);
      // The same token, where this rollout still goes along with the selected one's beginning.
      else text.select(-1, cell >= 0 && cell < prefix.all ? [cell] : []);
    },
    destroy() {
      life.abort();
      text.destroy();
      node.remove();
    },
  };
}
