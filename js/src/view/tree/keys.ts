/** The keyboard of the tree, after the pattern that ARIA has for trees. */
import type { Outline } from "../../core/tree/outline";
import { onKeys } from "../keyboard";
import type { TreeActions, TreeState } from "./state";

export interface TreeKeyTargets {
  state(): TreeState | null;
  outline(): Outline | null;
  actions: TreeActions;
  /** Draws what was opened or closed. */
  refresh(): void;
  find(): void;
  /** The next match, or the one before. */
  match(step: 1 | -1): void;
  deeper(step: 1 | -1): void;
  mostVisited(): void;
  furthestApart(): void;
  help(): void;
}

export const TREE_KEYS: [string, string][] = [
  ["↑ ↓", "row above, below; Home and End: the first, the last"],
  ["→", "open; when it is open, go to the first branch"],
  ["←", "close; when it is closed, go to the row that it branches from"],
  ["Enter, Space", "open or close"],
  ["*", "open all branches beside this one"],
  ["[ ]", "one level less, one more, everywhere"],
  ["m", "open the most visited"],
  ["d", "go where success parts most, then where it parts next most"],
  ["/, n, p", "find in the paths; next match, previous match"],
  ["1 – 9", "teacher"],
  ["?", "this panel; Esc closes it"],
];

export const TREE_MARKS: [string, string, string][] = [
  ["opd-v-p8", "12", "bar above: success above the question’s own"],
  ["opd-v-n8", "12", "bar below: success below it"],
  ["opd-v-nan", "12", "hatched: no rollout with a verdict tells"],
  ["opd-tree-along", "▲", "a node where the teacher pulls along the ideal gradient; △ its interval holds 0"],
  ["opd-tree-against", "▼", "a node where it pulls against it; ▽ its interval holds 0"],
  ["opd-tree-none", "◇", "a node without an alignment"],
  ["opd-ending-truncated", "⇥", "a response ends cut by the length limit; ✓ correct, ✗ incorrect, ? unverified"],
];

const PAGE = 15;

function sideways(targets: TreeKeyTargets, run: number, open: boolean): void {
  const outline = targets.outline();
  const runs = targets.state()?.tree.runs;
  if (!outline || !runs) return;
  const isOpen = outline.isOpen(run);
  if (isOpen !== open && outline.canOpen(run)) {
    outline.set(run, open);
    targets.refresh();
    return;
  }
  const next = open ? (isOpen ? runs.children(run)[0] : -1) : runs.parent[run];
  if (next >= 0) targets.actions.select({ run: next });
}

/** What a key does; null for a key that is not ours. */
function action(key: string, state: TreeState, outline: Outline, targets: TreeKeyTargets): (() => void) | null {
  const { actions } = targets;
  const at = outline.row(state.run);
  const run = at < 0 ? 0 : state.run;
  const to = (row: number) => (): void => {
    actions.select({ run: outline.rows[Math.max(0, Math.min(outline.rows.length - 1, row))] });
  };
  const turn = (): void => {
    outline.set(run, !outline.isOpen(run));
    targets.refresh();
  };
  const beside = (): void => {
    const above = state.tree.runs.parent[run];
    for (const one of above < 0 ? [run] : state.tree.runs.children(above)) outline.set(one, true);
    targets.refresh();
  };
  if (/^[1-9]$/.test(key)) {
    const teacher = state.places.teachers[Number(key) - 1];
    return teacher ? () => actions.select({ teacher: teacher.name }) : null;
  }
  const map: Record<string, () => void> = {
    ArrowDown: to(at + 1),
    ArrowUp: to(at < 0 ? 0 : at - 1),
    PageDown: to(at + PAGE),
    PageUp: to(at - PAGE),
    Home: to(0),
    End: to(outline.rows.length - 1),
    ArrowRight: () => sideways(targets, run, true),
    ArrowLeft: () => sideways(targets, run, false),
    Enter: turn,
    " ": turn,
    "*": beside,
    "[": () => targets.deeper(-1),
    "]": () => targets.deeper(1),
    m: targets.mostVisited,
    d: targets.furthestApart,
    "/": targets.find,
    n: () => targets.match(1),
    p: () => targets.match(-1),
    "?": targets.help,
  };
  return map[key] ?? null;
}

export function treeKeys(root: HTMLElement, targets: TreeKeyTargets, signal: AbortSignal): void {
  onKeys(
    root,
    (event) => {
      const state = targets.state();
      const outline = targets.outline();
      // Keys that press a button or move in a switch or a text stay what they are there.
      const inTree = (event.target as Element).closest(".opd-tree") !== null;
      if (!state || !outline || (!inTree && /^(Arrow|Page|Home|End|Enter| )/.test(event.key))) return null;
      return action(event.key, state, outline, targets);
    },
    signal,
  );
}
