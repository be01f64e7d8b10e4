/** What the colours of the tree mean, which way is which, and the marks of nodes. */

import { formatNumber } from "../../core/format";
import { isolated } from "../../core/plain_text";
import type { SuccessScale } from "../../core/tree/colour";
import { maker, setAttribute } from "../dom";
import type { TreeState } from "./state";

export interface TreeLegend {
  node: HTMLElement;
  draw(state: TreeState, scale: SuccessScale): void;
}

export function treeLegend(root: HTMLElement): TreeLegend {
  const h = maker(root);
  const node = h("div", { class: "opd-tree-legend", role: "note" });
  const field = (name: string): HTMLElement => h("span", { class: `opd-legend-step ${name}` });
  const number = (text: string): HTMLElement => h("span", { class: "opd-legend-number" }, text);
  const mark = (sign: string, name: string, words: string): HTMLElement =>
    h(
      "span",
      { class: "opd-tree-key" },
      h("span", { class: `opd-tree-mark opd-tree-${name}`, "aria-hidden": "true" }, sign),
      ` ${words}`,
    );

  return {
    node,
    draw({ teacher, places }, scale) {
      const own = formatNumber(scale.middle);
      const around = !Number.isNaN(scale.middle);
      const gap = h(
        "span",
        { class: "opd-legend-gap opd-tree-own", title: "the question’s own success: no colour" },
        own,
      );
      const range = h(
        "span",
        { class: "opd-legend-range" },
        number("0"),
        h(
          "span",
          { class: "opd-legend-scale", "aria-hidden": "true" },
          ...scale.below.map(field),
          around && gap,
          ...scale.above.map(field),
        ),
        number("1"),
      );
      const name = places.teachers[teacher]?.name;
      node.replaceChildren(
        h("span", {}, around ? "success below the question’s own" : "none ends correct"),
        range,
        h("span", {}, around ? "above it" : "all do"),
        ...(name
          ? [
              h(
                "span",
                { class: "opd-tree-keys" },
                mark("▲", "along", `${isolated(name)} pulls along`),
                mark("▼", "against", "against the ideal gradient"),
                mark("◇", "none", "no alignment"),
              ),
            ]
          : []),
      );
      setAttribute(
        node,
        "aria-label",
        `Scale of success: from 0 to 1${around ? `, without colour at the question’s own, ${own}` : ""}`,
      );
    },
  };
}
