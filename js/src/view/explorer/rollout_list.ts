/** The list of rollouts. Only the rows near the window exist, so that thousands cost no more than a screenful. */
import { arrange, type ListEntry, type ListLine } from "../../core/listing";
import type { RolloutMeta } from "../../model/contract";
import { maker, setAttribute, uniqueId } from "../dom";
import { type Actions, changed, type View, type ViewState } from "../state";
import { followBox, type RowWindow, rolloutWindow } from "../text/row_window";
import { listControls } from "./list_controls";
import { type ListRow, listRow } from "./list_row";

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
    // Joined when something is looked for: at the first paint of a large run it would be most of the work.
    get text() {
      return searchText(r, texts);
    },
    outcome: r.outcome,
    length: r.length,
    mean: data.stats(index, signal, teacher).mean,
  }));
}

class Window {
  private readonly window: RowWindow;
  private readonly uid = uniqueId();
  private rows = new Map<number, ListRow>();
  private lines: ListLine[] = [];
  /** The place of each rollout among those shown, from 1; in that order. */
  private places = new Map<number, number>();

  constructor(private readonly root: HTMLElement) {
    this.window = rolloutWindow(root);
  }

  get box(): HTMLElement {
    return this.window.box;
  }

  /** Takes other lines; says how many rollouts are among them. */
  arrange(lines: ListLine[]): number {
    this.lines = lines;
    this.places = new Map();
    for (const line of lines) if (line.kind === "rollout") this.places.set(line.index, this.places.size + 1);
    return this.places.size;
  }

  /** Rows show records of one data set: another one starts afresh. */
  forget(): void {
    this.rows = new Map();
  }

  follow(now: () => ViewState | null, signal: AbortSignal): void {
    const draw = (): void => {
      const state = now();
      if (state) this.draw(state);
    };
    followBox(this.window, draw, () => this.line(now()?.rollout ?? -1), signal);
  }

  scroll(top: number): void {
    this.window.scroll(top);
  }

  draw(state: ViewState): void {
    const h = maker(this.root);
    const rows = new Map<number, ListRow>();
    this.window.draw(this.lines.length, (i) => {
      const line = this.lines[i];
      if (line.kind === "question") {
        const parts = [h("bdi", {}, line.title), h("span", {}, String(line.count))];
        return h("div", { class: "opd-list-question", role: "presentation" }, ...parts);
      }
      const row = this.rows.get(line.index) ?? listRow(this.root, state, line.index, `${this.uid}-${line.index}`);
      row.update(state, line.index === state.rollout);
      rows.set(line.index, row);
      // Headings stand between the rollouts and are none.
      setAttribute(row.node, "aria-posinset", String(this.places.get(line.index)));
      setAttribute(row.node, "aria-setsize", String(this.places.size));
      return row.node;
    });
    this.rows = rows;
    setAttribute(this.box, "aria-activedescendant", rows.get(state.rollout)?.node.id ?? null);
  }

  reveal(rollout: number): void {
    this.window.reveal(this.line(rollout));
  }

  private line(rollout: number): number {
    return this.lines.findIndex((l) => l.kind === "rollout" && l.index === rollout);
  }

  /** The rollout `step` lines from the given one, over question lines. */
  step(rollout: number, step: number): number {
    const order = [...this.places.keys()];
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
    const shown = view.arrange(arrange(all, controls.query));
    const count = (outcome: string): number => all.filter((e) => e.outcome === outcome).length;
    controls.counts(shown, all.length, count("correct"), count("incorrect"));
    empty.hidden = shown > 0;
  };
  const refresh = (): void => {
    if (!last) return;
    view.scroll(0);
    arrangeNow(last);
    view.draw(last);
  };
  const controls = listControls(root, refresh, life.signal);
  const empty = h("p", { class: "opd-quiet opd-list-empty" }, "No rollout fits.");
  root.append(controls.node, empty, view.box);
  view.follow(() => last, life.signal);
  view.box.addEventListener(
    "click",
    (event) => {
      const row = (event.target as Element).closest("[data-rollout]");
      if (row) actions.select({ rollout: Number(row.getAttribute("data-rollout")) });
    },
    { signal: life.signal },
  );

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
      controls.node.remove();
      view.box.remove();
      empty.remove();
    },
  };
}
