/** The selected row: its success with the interval, who passes, its node under every teacher, and the text it belongs to. */
import { formatNumber, plural } from "../../core/format";
import type { SuccessScale } from "../../core/tree/colour";
import type { Success } from "../../core/tree/question";
import type { Cells } from "../../model/contract";
import { maker, setText } from "../dom";
import { heading } from "../segmented";
import { changed } from "../state";
import { tokenText } from "../text/token_text";
import { shareWhisker } from "../whisker";
import type { TreeActions, TreeState } from "./state";
import { alignmentMark, countsOf, ENDING_SIGNS, ofRollouts, share, told } from "./words";

export interface TreePanel {
  node: HTMLElement;
  update(state: TreeState, scale: SuccessScale): void;
  destroy(): void;
}

/** Mean and interval from 0 to 1, the question's own success a line; the figures stand beside it. */
function whisker(root: HTMLElement, { mean, low, high }: Success, own: number): HTMLElement {
  const h = maker(root);
  const end = (text: string): HTMLElement => h("span", { class: "opd-quiet" }, text);
  const title = "line: the question’s own";
  return h("div", { class: "opd-tree-whisker", title }, end("0"), shareWhisker(root, low, mean, high, own), end("1"));
}

function successBlock(root: HTMLElement, state: TreeState, run: number, scale: SuccessScale): HTMLElement {
  const h = maker(root);
  const { tree, level } = state;
  const success = tree.success(run);
  const figure = (one: Success): string =>
    Number.isNaN(one.low)
      ? share(one.mean, 3)
      : `${share(one.mean, 3)} (${share(one.low, 3)} to ${share(one.high, 3)})`;
  const box = h(
    "div",
    { class: "opd-tree-block" },
    heading(root, "success from here"),
    h(
      "div",
      { class: "opd-tree-big" },
      h("span", { class: `opd-chip ${scale.colour(success.mean)}` }, figure(success)),
    ),
    whisker(root, success, tree.success(0).mean),
    h("p", { class: "opd-quiet" }, told(success, level)),
  );
  const node = tree.nodeSuccess(run);
  if (node && success.told === "candidate")
    box.append(h("p", { class: "opd-quiet" }, `at the node that ends this row: ${figure(node)}`));
  return box;
}

function countsBlock(root: HTMLElement, state: TreeState, run: number): HTMLElement {
  const h = maker(root);
  const { tree } = state;
  const line = (visits: "initial" | "all"): HTMLElement => {
    const every = tree.visits(visits)[run];
    const parts = countsOf(tree, run, visits).map(({ ending, n }) =>
      h(
        "span",
        { title: ending },
        `${n} `,
        h(
          "span",
          { class: `opd-outcome opd-ending-${ending}`, role: "img", "aria-label": ending },
          ENDING_SIGNS[ending],
        ),
      ),
    );
    return h("div", { class: "opd-tree-counts" }, h("span", {}, ofRollouts(every, { ...state, visits })), ...parts);
  };
  return h("div", { class: "opd-tree-block" }, heading(root, "pass here"), line("all"), line("initial"));
}

function nodeBlock(root: HTMLElement, state: TreeState, node: number): HTMLElement {
  const h = maker(root);
  const table = h("table", { class: "opd-values" });
  const body = h("tbody", {});
  state.places.teachers.forEach(({ name }, t) => {
    const { sign, name: way, words } = alignmentMark(state, node, t);
    const { at, low, high } = state.tree.alignment(node, t, state.places.teachers.length);
    const signed = (value: number): string => formatNumber(value, { signed: true });
    const range = Number.isNaN(at) ? words : `${signed(low)} to ${signed(high)}`;
    body.append(
      h(
        "tr",
        { "aria-current": t === state.teacher ? "true" : null },
        h("th", { scope: "row" }, h("bdi", { class: "opd-clamp", title: name }, name)),
        h("td", {}, h("span", { class: `opd-tree-mark opd-tree-${way}`, "aria-hidden": "true" }, sign)),
        h("td", { class: "opd-figure" }, Number.isNaN(at) ? "–" : signed(at)),
        h("td", { class: "opd-figure opd-quiet opd-tree-interval" }, range),
      ),
    );
  });
  table.append(body);
  return h("div", { class: "opd-tree-block" }, heading(root, `alignment at node ${node}`), table);
}

/** The text of a rollout that passes the row; clicking it goes to the row that holds the token. */
function pathText(root: HTMLElement, actions: TreeActions) {
  const life = new AbortController();
  let state: TreeState | null = null;
  let rollout = -1;
  const text = tokenText({
    root,
    label: "Text of the path",
    signal: life.signal,
    pick: (cell) => {
      const run = state && rollout >= 0 ? state.tree.runAt(rollout, cell) : -1;
      if (run >= 0) actions.select({ run });
    },
  });
  function cells(tree: TreeState["tree"]): Cells {
    const leaf = tree.runs.of[tree.arrays.leaf[rollout]];
    const shown = tree.runs.path(leaf).flatMap((run) => tree.tokens(run).map((token) => tree.texts[token]));
    return {
      starts: shown.map((_, i) => i),
      texts: shown.map(([one]) => one),
      kinds: shown.map(([, kind]) => kind).join(""),
    };
  }
  return {
    node: text.node,
    show(next: TreeState, run: number, scale: SuccessScale): number {
      const chosen = next.tree.rolloutAt(run, next.rollout);
      if (changed(state, next, "tree") || chosen !== rollout) {
        rollout = chosen;
        text.show(chosen < 0 ? { starts: [], texts: [], kinds: "" } : cells(next.tree));
      }
      state = next;
      const [from, to] = next.tree.span(run);
      text.paint((cell) => {
        if (cell >= to) return "opd-tree-after";
        const at = next.tree.runAt(chosen, cell);
        return at < 0 ? "" : scale.colour(next.tree.success(at).mean);
      });
      text.select(to > from ? to - 1 : -1);
      return chosen;
    },
    destroy() {
      life.abort();
      text.destroy();
    },
  };
}

export function treePanel(root: HTMLElement, actions: TreeActions): TreePanel {
  const h = maker(root);
  const title = heading(root);
  const body = h("div", { class: "opd-panel-body" });
  const about = heading(root);
  const box = h("div", { class: "opd-tree-path" });
  const node = h("div", { class: "opd-panel opd-tree-panel" }, title, body, about, box);
  const path = pathText(box, actions);
  let last: TreeState | null = null;
  let lastScale: SuccessScale | null = null;
  return {
    node,
    update(state, scale) {
      if (!changed(last, state, "tree", "run", "rollout", "teacher", "visits") && scale === lastScale) return;
      last = state;
      lastScale = scale;
      const run = Math.max(0, state.run);
      const { tree } = state;
      const [, depth] = tree.span(run);
      const on = tree.node(run);
      setText(title, run === 0 && depth === 0 ? "before the first token" : `after ${plural(depth, "token")}`);
      body.replaceChildren(
        successBlock(root, state, run, scale),
        countsBlock(root, state, run),
        ...(on >= 0 && state.teacher >= 0 ? [nodeBlock(root, state, on)] : []),
      );
      const rollout = path.show(state, run, scale);
      setText(about, rollout < 0 ? "" : `rollout ${rollout + 1} · ${plural(tree.lengthOf(rollout), "token")}`);
    },
    destroy: path.destroy,
  };
}
