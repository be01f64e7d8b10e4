/** The tree of a question: tools over it, the outline, and the selected row explained. */
import { type SuccessScale, successScale } from "../../core/tree/colour";
import { TreeSearch } from "../../core/tree/search";
import { furthestApart } from "../../core/tree/spread";
import { diagnosisTeacherSwitch, questionSwitch } from "../diagnosis_switches";
import { maker } from "../dom";
import { help } from "../help";
import { changed } from "../state";
import { TREE_KEYS, TREE_MARKS, treeKeys } from "./keys";
import { treeLegend } from "./legend";
import { type OutlineView, treeOutline } from "./outline";
import { treePanel } from "./panel";
import type { TreeActions, TreeState } from "./state";
import { type TreeTools, treeTools } from "./tools";

export interface TreeViewParts {
  update(state: TreeState): void;
  destroy(): void;
}

/** What the tools and the keys do to the outline. */
class Walk {
  state: TreeState | null = null;
  private search: TreeSearch | null = null;
  private levels = 1;
  private apart: { tree: object; visits: string; runs: number[]; at: number } | null = null;
  tools: TreeTools | null = null;

  constructor(
    private readonly outline: OutlineView,
    private readonly actions: TreeActions,
  ) {}

  /** Goes to a row, opening the way. */
  private go(run: number): void {
    this.outline.reveal(run);
    this.actions.select({ run });
  }

  deeper = (step: 1 | -1): void => {
    const state = this.state;
    if (!state) return;
    const deepest = state.tree.runs.level.reduce((most, level) => Math.max(most, level), 0);
    this.levels = Math.max(0, Math.min(deepest, this.levels + step));
    this.outline.outline()?.toDepth(this.levels);
    this.tools?.depth(this.levels);
    this.outline.refresh();
  };

  mostVisited = (): void => {
    if (!this.state) return;
    this.outline.outline()?.mostVisited(this.state.visits);
    this.outline.refresh();
  };

  furthestApart = (): void => {
    const state = this.state;
    if (!state) return;
    const { tree, visits } = state;
    if (this.apart?.tree !== tree || this.apart.visits !== visits)
      this.apart = { tree, visits, runs: furthestApart(tree, visits), at: -1 };
    const { runs } = this.apart;
    if (runs.length === 0) return;
    this.apart.at = (this.apart.at + 1) % runs.length;
    const run = runs[this.apart.at];
    this.outline.outline()?.reveal(run);
    this.outline.outline()?.set(run, true);
    this.go(run);
  };

  find = (text: string): void => {
    const state = this.state;
    if (!state) return;
    this.search = text === "" ? null : new TreeSearch(state.tree, text);
    this.outline.search(this.search);
    this.said();
    // The match nearest below comes into view, but nothing is selected by typing.
    const first = this.search?.matches(state.run) ? state.run : (this.search?.next(state.run, 1) ?? -1);
    if (first >= 0) this.outline.reveal(first);
  };

  match = (step: 1 | -1): void => {
    const run = this.search && this.state ? this.search.next(this.state.run, step) : -1;
    if (run >= 0) this.go(run);
  };

  private said(): void {
    if (!this.search || !this.state) {
      this.tools?.found("");
      return;
    }
    const { found } = this.search;
    const at = this.state.run >= 0 && this.search.matches(this.state.run) ? found.indexOf(this.state.run) + 1 : 0;
    const rows = found.length === 1 ? "1 row" : `${found.length} rows`;
    this.tools?.found(found.length === 0 ? "not found" : at > 0 ? `${at} of ${rows}` : rows);
  }

  update(state: TreeState, text: string): void {
    const other = changed(this.state, state, "tree");
    this.state = state;
    if (other && (this.search || text)) {
      this.search = text === "" ? null : new TreeSearch(state.tree, text);
      this.outline.search(this.search);
    }
    this.said();
  }
}

export function treeView(root: HTMLElement, actions: TreeActions): TreeViewParts {
  const h = maker(root);
  const life = new AbortController();
  const { signal } = life;
  const top = h("div", { class: "opd-bar-top" });
  const guide = help(root, signal, TREE_KEYS, TREE_MARKS);
  const outline = treeOutline(root, actions);
  const walk = new Walk(outline, actions);
  let sought = "";
  const find = (text: string): void => {
    sought = text;
    walk.find(text);
  };
  const tools = treeTools(root, { ...walkTools(walk), actions, find, leave: () => outline.box.focus() }, signal);
  walk.tools = tools;
  const legend = treeLegend(root);
  const panel = treePanel(root, actions);
  const body = h("div", { class: "opd-tree-body" }, outline.node, panel.node);
  const frame = h("div", { class: "opd-frame" }, top, guide.panel, tools.node, legend.node, body);
  root.append(frame);
  const switches = [questionSwitch(top, actions), diagnosisTeacherSwitch(top, actions)];
  top.append(guide.button);
  const targets = {
    ...walkTools(walk),
    state: () => walk.state,
    outline: () => outline.outline(),
    actions,
    refresh: () => outline.refresh(),
    find: () => tools.focus(),
    help: guide.toggle,
  };
  treeKeys(root, targets, signal);
  let last: TreeState | null = null;
  let scale: SuccessScale | null = null;
  return {
    update(state) {
      if (!scale || changed(last, state, "tree", "colour")) {
        scale = successScale(state.colour, state.tree.success(0).mean);
        legend.draw(state, scale);
      } else if (changed(last, state, "teacher")) legend.draw(state, scale);
      last = state;
      for (const one of switches) one.update(state);
      tools.update(state);
      outline.update(state, scale);
      walk.update(state, sought);
      panel.update(state, scale);
    },
    destroy() {
      life.abort();
      for (const one of switches) one.destroy();
      outline.destroy();
      panel.destroy();
      frame.remove();
    },
  };
}

const walkTools = ({ deeper, mostVisited, furthestApart, match }: Walk) => ({
  deeper,
  mostVisited,
  furthestApart,
  match,
});
