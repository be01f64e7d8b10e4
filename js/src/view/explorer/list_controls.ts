/** Above the list: counts, filter, find, order. */
import type { ListQuery, OutcomeFilter, SortOrder } from "../../core/listing";
import { maker, setAttribute, setText } from "../dom";
import { heading, segmented } from "../segmented";

const ORDERS: [SortOrder, string][] = [
  ["given", "as given"],
  ["down", "mean, falling"],
  ["up", "mean, rising"],
  ["length", "longest first"],
  ["question", "by question"],
];

export interface ListControls {
  node: HTMLElement;
  query: ListQuery;
  counts(shown: number, all: number, correct: number, incorrect: number): void;
}

export function listControls(root: HTMLElement, changed: () => void, signal: AbortSignal): ListControls {
  const h = maker(root);
  const title = heading(root);
  const query: ListQuery = { filter: "all", find: "", sort: "given" };
  const filter = segmented(root, {
    label: "Show",
    data: "data-filter",
    signal,
    choose(value) {
      query.filter = value as OutcomeFilter;
      showFilter();
      changed();
    },
  });
  function showFilter(): void {
    filter.show(
      [
        { value: "all", label: "all" },
        { value: "correct", label: "✓", name: "correct", title: "correct only" },
        { value: "incorrect", label: "✗", name: "incorrect", title: "incorrect only" },
      ],
      query.filter,
    );
  }
  showFilter();
  const find = h("input", {
    type: "search",
    class: "opd-input opd-find",
    placeholder: "find",
    "aria-label": "Find in rollouts",
  });
  const read = (): void => {
    query.find = find.value;
    query.sort = sort.value as SortOrder;
    changed();
  };
  find.addEventListener("input", read, { signal });
  const options = ORDERS.map(([value, label]) => h("option", { value }, label));
  const sort = h("select", { class: "opd-select opd-sort", "aria-label": "Order of rollouts" }, ...options);
  sort.addEventListener("change", read, { signal });
  const node = h(
    "div",
    { class: "opd-list-controls" },
    title,
    h("div", { class: "opd-list-tools" }, filter.node, find, sort),
  );

  return {
    node,
    query,
    counts(shown, all, correct, incorrect) {
      setText(title, `Rollouts · ${shown === all ? all : `${shown} of ${all}`} · ${correct} ✓ ${incorrect} ✗`);
      setAttribute(
        title,
        "aria-label",
        `${shown} of ${all} rollouts shown; ${correct} correct, ${incorrect} incorrect`,
      );
    },
  };
}
