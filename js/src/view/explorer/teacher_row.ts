/** What one teacher's row comes to, from the whole rollout. */

import { plural } from "../../core/format";
import { isolated } from "../../core/plain_text";
import { formatFigure } from "../../core/stats";
import { setAttribute, setText } from "../dom";
import type { ViewState } from "../state";
import type { CellRow } from "../text/cell_row";

export function sayFigures({ node, teacher, figures: [mean, sum] }: CellRow, state: ViewState): void {
  node.toggleAttribute("data-none", state.data.values(state.rollout, state.signal, teacher) === null);
  const figures = state.data.stats(state.rollout, state.signal, teacher);
  const signed = state.scale.scale === "diverging";
  const infinite = figures.below + figures.above;
  setText(mean, formatFigure(figures.mean, figures, { signed }));
  // A sum of ranks or of shares means nothing.
  const adds = state.scale.aggregate === "sum";
  setText(sum, adds ? formatFigure(figures.sum, figures, { signed, digits: 1 }) : "–");
  const aside = infinite ? `; beside ${figures.below} of −∞ and ${figures.above} of +∞` : "";
  setAttribute(node, "aria-label", `${isolated(teacher)}: mean ${mean.textContent}, sum ${sum.textContent}${aside}`);
  const grouped = state.data.groups(state.rollout, state.signal, teacher) !== null;
  setAttribute(sum, "title", `sum over ${plural(figures.finite, grouped ? "group" : "token")}${aside}`);
}
