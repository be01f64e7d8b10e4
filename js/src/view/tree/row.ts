/** One row: a run of tokens on one line, its bar, what is known of it. */
import { isolated } from "../../core/plain_text";
import type { SuccessScale } from "../../core/tree/colour";
import type { TreeSearch } from "../../core/tree/search";
import { lineOf, type Part } from "../../core/tree/text";
import { type Maker, maker } from "../dom";
import { cellClass, fillText } from "../text/cell";
import type { TreeState } from "./state";
import { alignmentMark, ENDING_SIGNS, ofRollouts, rowName, share, told } from "./words";

export interface RowOptions {
  id: string;
  open: boolean;
  canOpen: boolean;
  onPath: boolean;
  /** Place among its siblings, and how many they are. */
  place: [number, number];
  /** Characters that the text may take. */
  room: number;
  /** Steps that the text is moved in; and the level, where that is more. */
  indent: number;
  level: number | null;
  scale: SuccessScale;
  search: TreeSearch | null;
}

/** One line has no breaks: they are drawn as signs. */
const oneLine = (text: string): string => text.replace(/\n/g, "⏎").replace(/\t/g, "→");

function part(h: Maker, one: Part, colour: string): HTMLElement {
  if ("folded" in one) {
    const title = `${one.folded} tokens are folded; the path of the selected row shows them`;
    return h("span", { class: "opd-tree-fold", title }, `⋯ ${one.folded} ⋯`);
  }
  const node = h("span", { class: `${cellClass(one.kind)} ${colour}`, "data-found": one.found });
  fillText(h, node, oneLine(one.text));
  return node;
}

function text(h: Maker, state: TreeState, run: number, options: RowOptions): HTMLElement {
  const { tree } = state;
  const marks = options.search?.marks(run) ?? new Set<number>();
  const colour = options.scale.colour(tree.success(run).mean);
  const parts = lineOf(tree, run, options.room, marks).map((one) => part(h, one, colour));
  const start = parts.length === 0 && h("span", { class: "opd-quiet" }, "start");
  return h("span", { class: "opd-tree-text", dir: "ltr" }, start, ...parts);
}

/** What stands at the end of the run: a node, as the selected teacher fares there, and how responses end. */
function marks(h: Maker, state: TreeState, run: number): HTMLElement[] {
  const found = state.tree
    .endings(run)
    .map((ending) => h("span", { class: `opd-tree-mark opd-ending-${ending}`, title: ending }, ENDING_SIGNS[ending]));
  const at = state.tree.node(run);
  if (at < 0) return found;
  const { sign, name, words } = alignmentMark(state, at);
  const teacher = state.places.teachers[state.teacher]?.name ?? "";
  const title = `node ${at}, ${isolated(teacher)}: ${words}`;
  return [h("span", { class: `opd-tree-mark opd-tree-${name}`, title }, sign), ...found];
}

function bar(h: Maker, state: TreeState, run: number, scale: SuccessScale): HTMLElement {
  const visits = state.tree.visits(state.visits);
  const width = visits[0] > 0 ? (100 * visits[run]) / visits[0] : 0;
  const fill = h("span", { class: `opd-tree-fill ${scale.colour(state.tree.success(run).mean)}` });
  fill.style.width = `${width}%`;
  fill.hidden = visits[run] === 0;
  return h("span", { class: "opd-tree-bar", title: `${ofRollouts(visits[run], state)} of ${visits[0]}` }, fill);
}

export function treeRow(root: Node, state: TreeState, run: number, options: RowOptions): HTMLElement {
  const h = maker(root);
  const { tree } = state;
  const success = tree.success(run);
  const line = h(
    "span",
    { class: "opd-tree-line" },
    options.level !== null && h("span", { class: "opd-tree-level opd-quiet" }, `${options.level}·`),
    h("span", { class: "opd-tree-turn", "aria-hidden": "true" }, options.canOpen ? (options.open ? "▾" : "▸") : ""),
    text(h, state, run, options),
    ...marks(h, state, run),
    !options.open &&
      options.canOpen &&
      h("span", { class: "opd-tree-below opd-quiet" }, `${tree.runs.childCount(run)} branches`),
  );
  line.style.setProperty("--opd-level", String(options.indent));
  return h(
    "div",
    {
      id: options.id,
      class: "opd-tree-row",
      role: "treeitem",
      "data-run": run,
      "data-path": options.onPath,
      "data-none": tree.visits(state.visits)[run] === 0,
      "aria-level": tree.runs.level[run] + 1,
      "aria-posinset": options.place[0],
      "aria-setsize": options.place[1],
      "aria-expanded": options.canOpen ? String(options.open) : null,
      "aria-selected": String(run === state.run),
      "aria-label": rowName(state, run),
    },
    h("span", { class: "opd-tree-visits" }, String(tree.visits(state.visits)[run])),
    bar(h, state, run, options.scale),
    h(
      "span",
      { class: "opd-tree-success", title: told(success, state.level) },
      Number.isNaN(success.mean) ? "–" : share(success.mean),
    ),
    line,
  );
}
