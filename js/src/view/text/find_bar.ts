/** Finding in the text, and going to a position. Keys f and g lead here, Escape leads back to the text. */

import { cellOf } from "../../core/cells";
import { cellsOf, type Found, find, type Joined, join, step } from "../../core/find";
import type { Cells } from "../../model/contract";
import { maker, setAttribute, setText } from "../dom";

/** What the find box asks of the text and its minimap. */
export interface FindTarget {
  mark(found: Found, cells: ReadonlySet<number> | null, current: number): void;
  scrollTo(cell: number): void;
  focus(): void;
}

/** A text, and the selected token of it. */
export interface Sought {
  record: { cells: Cells; length: number };
  token: number;
}

export interface FindView {
  update(state: Sought): void;
  destroy(): void;
}

const selectedCell = ({ record, token }: Sought): number => cellOf(record.cells.starts, token);

const NONE: Found = { first: [], last: [] };
/** Joined once a rollout: finding runs with every letter typed. */
const joined = new WeakMap<Cells, Joined>();

function textOf(cells: Cells): Joined {
  let text = joined.get(cells);
  if (!text) {
    text = join(cells.texts);
    joined.set(cells, text);
  }
  return text;
}

function makeFields(root: HTMLElement) {
  const h = maker(root);
  const field = (name: string, label: string, hint: string, key: string): HTMLInputElement =>
    h("input", {
      type: "text",
      class: `opd-input ${name}`,
      "aria-label": label,
      placeholder: hint,
      "aria-keyshortcuts": key,
    });
  const needle = field("opd-text-find", "Find in the text", "find in text", "f");
  needle.type = "search";
  const count = h("span", { class: "opd-quiet opd-find-count", role: "status" });
  const position = field("opd-goto", "Go to token number", "go to", "g");
  position.inputMode = "numeric";
  const keyed = (input: HTMLInputElement, key: string): HTMLElement =>
    h("label", { class: "opd-keyed" }, input, h("kbd", { class: "opd-key" }, key));
  return { needle, count, position, nodes: [keyed(needle, "f"), count, keyed(position, "g")] };
}

class Finder {
  private found = NONE;
  private cells: ReadonlySet<number> | null = null;
  private now = -1;

  constructor(
    private readonly target: FindTarget,
    private readonly count: HTMLElement,
  ) {}

  /** Looks anew. `lead`: brings the first place from here on into view. */
  look(state: Sought, needle: string, lead: boolean): void {
    this.found = find(textOf(state.record.cells), needle);
    this.cells = needle === "" ? null : cellsOf(this.found);
    this.now = -1;
    const next = step(this.found, -1, Math.max(0, selectedCell(state)), 1);
    if (lead && next >= 0) this.target.scrollTo(this.found.first[next]);
    this.show(needle);
  }

  /** The next or previous place; -1 where there is none. */
  go(state: Sought, direction: 1 | -1): number {
    this.now = step(this.found, this.now, selectedCell(state), direction);
    this.show("");
    return this.now < 0 ? -1 : this.found.first[this.now];
  }

  private show(needle: string): void {
    const all = this.found.first.length;
    const here = this.now >= 0 ? `${this.now + 1} of ${all}` : `${all} found`;
    setText(this.count, this.cells === null ? "" : all === 0 && needle !== "" ? "not found" : here);
    this.target.mark(this.found, this.cells, this.now >= 0 ? this.found.first[this.now] : -1);
  }
}

export function findBar(
  root: HTMLElement,
  actions: { select(change: { token: number }): void },
  target: FindTarget,
): FindView {
  const life = new AbortController();
  const { signal } = life;
  const { needle, count, position, nodes } = makeFields(root);
  root.append(...nodes);
  const finder = new Finder(target, count);
  let last: Sought | null = null;

  needle.addEventListener("input", () => last && finder.look(last, needle.value, true), { signal });
  needle.addEventListener(
    "keydown",
    (event) => {
      if (event.isComposing) return; // the key ends a word of another script
      if (event.key === "Escape") {
        needle.value = "";
        if (last) finder.look(last, "", false);
        target.focus();
      } else if (event.key === "Enter" && last) {
        const cell = finder.go(last, event.shiftKey ? -1 : 1);
        if (cell >= 0) actions.select({ token: last.record.cells.starts[cell] });
      } else return;
      event.preventDefault();
    },
    { signal },
  );
  position.addEventListener(
    "keydown",
    (event) => {
      if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      if (event.key === "Enter" && last) {
        const wanted = Number.parseInt(position.value.replace(/[\s,.]/g, ""), 10);
        setAttribute(position, "aria-invalid", String(!(wanted >= 1)));
        if (!(wanted >= 1)) return;
        actions.select({ token: Math.min(last.record.length, wanted) - 1 });
      }
      position.value = "";
      position.removeAttribute("aria-invalid");
      target.focus();
    },
    { signal },
  );

  return {
    update(state) {
      const other = last !== null && last.record.cells !== state.record.cells;
      last = state;
      if (other && needle.value !== "") finder.look(state, needle.value, false);
    },
    destroy() {
      life.abort();
      for (const node of nodes) node.remove();
    },
  };
}
