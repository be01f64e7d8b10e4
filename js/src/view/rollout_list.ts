/** The list of rollouts. Only the rows near the window exist, so that thousands cost no more than a screenful. */
import { arrange, type ListEntry, type ListLine } from "../core/listing";
import type { RolloutMeta } from "../model/contract";
import { maker, setAttribute, uniqueId } from "./dom";
import { listControls } from "./list_controls";
import { type ListRow, listRow } from "./list_row";
import { type Actions, changed, type View, type ViewState } from "./state";

const ROW = 32;
/** Rows beyond the window, so that a scroll does not outrun them; and the height taken where layout is not known yet. */
const SPARE = 12;
const UNKNOWN_HEIGHT = 640;

/** What the find box looks through, joined once a rollout. */
type Texts = WeakMap<RolloutMeta, string>;

function searchText(record: RolloutMeta, texts: Texts): string {
  const known = texts.get(record);
  if (known !== undefined) return known;
  const text = `${record.title}\n${record.label}\n${record.cells.texts.join("")}`;
  texts.set(record, text);
  return text;
}

function entries(state: ViewState, texts: Texts): ListEntry[] {
  const { data, signal, teacher } = state;
  return data.meta.rollouts.map((r, index) => ({
    index,
    question: r.question,
    title: r.title,
    text: searchText(r, texts),
    outcome: r.outcome,
    length: r.length,
    mean: data.stats(index, signal, teacher).mean,
  }));
}

class Window {
  readonly box: HTMLElement;
  private readonly sheet: HTMLElement;
  private readonly uid = uniqueId();
  private rows = new Map<number, ListRow>();
  lines: ListLine[] = [];

  constructor(private readonly root: HTMLElement) {
    const h = maker(root);
    this.sheet = h("div", { class: "opd-list-sheet", role: "presentation" });
    this.box = h("div", { class: "opd-list", role: "listbox", tabindex: 0, "aria-label": "Rollouts" }, this.sheet);
  }

  /** Rows show records of one data set: another one starts afresh. */
  forget(): void {
    this.rows = new Map();
  }

  draw(state: ViewState): void {
    const h = maker(this.root);
    const height = this.box.clientHeight || UNKNOWN_HEIGHT;
    const from = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const to = Math.min(this.lines.length, Math.ceil((this.box.scrollTop + height) / ROW) + SPARE);
    const rows = new Map<number, ListRow>();
    const nodes: HTMLElement[] = [];
    for (let i = from; i < to; i++) {
      const line = this.lines[i];
      let node: HTMLElement;
      if (line.kind === "question") {
        node = h(
          "div",
          { class: "opd-list-question", role: "presentation" },
          h("bdi", {}, line.title),
          h("span", {}, String(line.count)),
        );
      } else {
        const row = this.rows.get(line.index) ?? listRow(this.root, state, line.index, `${this.uid}-${line.index}`);
        row.update(state, line.index === state.rollout);
        rows.set(line.index, row);
        node = row.node;
        setAttribute(node, "aria-posinset", String(i + 1));
        setAttribute(node, "aria-setsize", String(this.lines.length));
      }
      node.style.top = `${i * ROW}px`;
      nodes.push(node);
    }
    this.rows = rows;
    this.sheet.style.height = `${this.lines.length * ROW}px`;
    this.sheet.replaceChildren(...nodes);
    setAttribute(this.box, "aria-activedescendant", rows.get(state.rollout)?.node.id ?? null);
  }

  reveal(rollout: number): void {
    const top = this.lines.findIndex((l) => l.kind === "rollout" && l.index === rollout) * ROW;
    const { scrollTop, clientHeight } = this.box;
    if (top < 0 || clientHeight === 0) return;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.box.scrollTop = top + ROW - clientHeight;
  }

  /** The rollout `step` lines from the given one, over question lines. */
  step(rollout: number, step: number): number {
    const order = this.lines.flatMap((l) => (l.kind === "rollout" ? [l.index] : []));
    const at = order.indexOf(rollout);
    return at < 0 ? (order[0] ?? rollout) : order[Math.max(0, Math.min(order.length - 1, at + step))];
  }
}

export interface RolloutListView extends View {
  /** Selects the rollout `step` rows down in the order shown. */
  move(step: number): void;
}

export function rolloutList(root: HTMLElement, actions: Actions): RolloutListView {
  const h = maker(root);
  const life = new AbortController();
  let last: ViewState | null = null;
  const texts: Texts = new WeakMap();
  const view = new Window(root);
  const arrangeNow = (state: ViewState): void => {
    const all = entries(state, texts);
    view.lines = arrange(all, controls.query);
    const count = (outcome: string): number => all.filter((e) => e.outcome === outcome).length;
    const shown = view.lines.filter((l) => l.kind === "rollout").length;
    controls.counts(shown, all.length, count("correct"), count("incorrect"));
    empty.hidden = shown > 0;
  };
  const refresh = (): void => {
    if (!last) return;
    view.box.scrollTop = 0;
    arrangeNow(last);
    view.draw(last);
  };
  const controls = listControls(root, refresh, life.signal);
  const empty = h("p", { class: "opd-quiet opd-list-empty" }, "No rollout fits.");
  root.append(controls.node, empty, view.box);
  view.box.addEventListener("scroll", () => last && view.draw(last), { signal: life.signal, passive: true });
  view.box.addEventListener(
    "click",
    (event) => {
      const row = (event.target as Element).closest("[data-rollout]");
      if (row) actions.select({ rollout: Number(row.getAttribute("data-rollout")) });
    },
    { signal: life.signal },
  );
  const onResize = (): void => {
    if (!last) return;
    if (!shown) view.reveal(last.rollout); // a list that gets its height only now
    shown ||= view.box.clientHeight > 0;
    view.draw(last);
  };
  let shown = false;
  const resized = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(onResize);
  resized?.observe(view.box);

  return {
    update(state) {
      if (changed(last, state, "data")) view.forget();
      if (changed(last, state, "data", "signal", "teacher")) arrangeNow(state);
      const moved = changed(last, state, "rollout");
      const touched = moved || changed(last, state, "data", "signal", "teacher");
      last = state;
      if (touched) view.draw(state);
      if (moved) {
        view.reveal(state.rollout); // after the sheet has its height
        view.draw(state);
      }
    },
    move: (step) => last && actions.select({ rollout: view.step(last.rollout, step) }),
    destroy() {
      life.abort();
      resized?.disconnect();
      controls.node.remove();
      view.box.remove();
      empty.remove();
    },
  };
}
