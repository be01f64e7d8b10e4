/**
 * The tree as an outline: a row a run, moved in by how many branchings lie above it. Rows of one height stand where their number says, so
 * that only those in sight exist: a hundred thousand places cost no more than a screenful, and bars start on one line and can be compared.
 */

import type { SuccessScale } from "../../core/tree/colour";
import { Outline } from "../../core/tree/outline";
import type { TreeSearch } from "../../core/tree/search";
import { maker, setAttribute, uniqueId } from "../dom";
import { changed } from "../state";
import { followBox, RowWindow } from "../text/row_window";
import { treeRow } from "./row";
import type { TreeActions, TreeState } from "./state";

const ROW = 26;
/** Rows beyond the window; and the sizes taken where layout is not known yet. */
const SPARE = 8;
const UNKNOWN = { height: 560, width: 720 };
/** Width of a letter of the text, of a step inwards, and of all that stands beside the text (in a narrow widget). */
const LETTER = 7.3;
const STEP = 14;
const BESIDE = 350;
const BESIDE_NARROW = 190;
const NARROW = 560;
/** No row is moved in further than that share of the width; the number of its level stands for the rest. */
const DEEPEST = 0.35;

export interface OutlineView {
  node: HTMLElement;
  /** The tree itself, which takes the keys. */
  box: HTMLElement;
  outline(): Outline | null;
  /** Draws what was opened or closed elsewhere. */
  refresh(): void;
  search(search: TreeSearch | null): void;
  reveal(run: number): void;
  update(state: TreeState, scale: SuccessScale): void;
  destroy(): void;
}

class Sheet implements OutlineView {
  readonly node: HTMLElement;
  readonly box: HTMLElement;
  private readonly window: RowWindow;
  private readonly uid = uniqueId();
  private readonly life = new AbortController();
  private readonly outlines = new WeakMap<object, Outline>();
  private state: TreeState | null = null;
  private scale: SuccessScale | null = null;
  private found: TreeSearch | null = null;
  private path = new Set<number>();
  private awaited = -1;

  constructor(
    private readonly root: HTMLElement,
    private readonly actions: TreeActions,
  ) {
    const h = maker(root);
    this.window = new RowWindow({
      root,
      box: { class: "opd-tree", role: "tree", "aria-label": "Generation tree" },
      sheet: "opd-tree-sheet",
      row: ROW,
      spare: SPARE,
      unknown: UNKNOWN.height,
    });
    this.box = this.window.box;
    const column = (name: string, text: string): HTMLElement => h("span", { class: `opd-tree-${name}` }, text);
    const head = [
      column("visits", "rollouts"),
      column("bar", ""),
      column("success", "success"),
      column("line", "tokens"),
    ];
    this.node = h("div", {}, h("div", { class: "opd-tree-head opd-quiet", "aria-hidden": "true" }, ...head), this.box);
    const { signal } = this.life;
    const none = (): number => -1;
    followBox(this.window, () => this.fit(), none, signal);
    this.box.addEventListener("click", (event) => this.clicked(event), { signal });
  }

  outline(): Outline | null {
    return this.state ? (this.outlines.get(this.state.tree) ?? null) : null;
  }

  private clicked(event: Event): void {
    const target = event.target as Element;
    const run = Number(target.closest("[data-run]")?.getAttribute("data-run") ?? -1);
    const outline = this.outline();
    if (run < 0 || !outline) return;
    if (target.closest(".opd-tree-turn") || (run === this.state?.run && !target.closest(".opd-tree-mark"))) {
      outline.set(run, !outline.isOpen(run));
      this.refresh();
    }
    this.actions.select({ run });
  }

  refresh(): void {
    this.draw();
  }

  search(search: TreeSearch | null): void {
    this.found = search;
    this.draw();
  }

  reveal(run: number): void {
    this.outline()?.reveal(run);
    this.awaited = run;
    this.draw();
    this.scrollTo();
  }

  /** A box without a height is shown later: what is awaited stays so. */
  private scrollTo(): void {
    const row = this.outline()?.row(this.awaited) ?? -1;
    if (row < 0 || this.window.height === 0) return;
    this.awaited = -1;
    const before = this.window.top;
    this.window.reveal(row, 3 * ROW);
    if (this.window.top !== before) this.draw();
  }

  private fit(): void {
    this.draw();
    if (this.awaited >= 0) this.scrollTo();
  }

  private room(level: number): { room: number; indent: number; level: number | null } {
    const width = this.window.width || UNKNOWN.width;
    const text = width - (width < NARROW ? BESIDE_NARROW : BESIDE);
    const step = width < NARROW ? STEP / 2 : STEP;
    const most = Math.max(2, Math.floor((width * DEEPEST) / step));
    const indent = Math.min(level, most);
    const room = Math.max(8, Math.floor((text - indent * step) / LETTER));
    return { room, indent, level: level > indent ? level : null };
  }

  private row(run: number): HTMLElement {
    const state = this.state as TreeState;
    const outline = this.outline() as Outline;
    const { runs } = state.tree;
    const above = runs.parent[run];
    const place: [number, number] =
      above < 0 ? [1, 1] : [runs.children(above).indexOf(run) + 1, runs.childCount(above)];
    return treeRow(this.root, state, run, {
      id: `${this.uid}-${run}`,
      open: outline.isOpen(run),
      canOpen: outline.canOpen(run),
      onPath: this.path.has(run),
      place,
      scale: this.scale as SuccessScale,
      search: this.found,
      ...this.room(runs.level[run]),
    });
  }

  private draw(): void {
    const outline = this.outline();
    if (!this.state || !outline) return;
    const { rows } = outline;
    const { run } = this.state;
    let active = false;
    this.window.draw(rows.length, (i) => {
      active ||= rows[i] === run;
      return this.row(rows[i]);
    });
    setAttribute(this.box, "aria-activedescendant", active ? `${this.uid}-${run}` : null);
  }

  update(state: TreeState, scale: SuccessScale): void {
    const moved = changed(this.state, state, "tree", "run", "rollout");
    const fresh = !this.outlines.has(state.tree);
    const before = this.state;
    this.state = state;
    this.scale = scale;
    if (fresh) {
      const outline = new Outline(state.tree);
      outline.mostVisited(state.visits);
      this.outlines.set(state.tree, outline);
    }
    if (before?.tree !== state.tree) this.window.scroll(0);
    const { runs } = state.tree;
    const leaf = state.rollout >= 0 ? runs.of[state.tree.arrays.leaf[state.rollout]] : -1;
    this.path = new Set(leaf >= 0 ? runs.path(leaf) : []);
    if (moved && (state.run >= 0 || leaf >= 0)) this.reveal(state.run >= 0 ? state.run : leaf);
    else this.draw();
  }

  destroy(): void {
    this.life.abort();
    this.node.remove();
  }
}

export const treeOutline = (root: HTMLElement, actions: TreeActions): OutlineView => new Sheet(root, actions);
