/** What all widgets share: a root in the host's theme, traits in, selection out, everything undone when the view ends. */
import type { RenderProps } from "@anywidget/types";
import { followTheme } from "../host/theme";
import type { ExplorerTraits } from "../model/contract";
import { maker } from "../view/dom";
import type { Actions, Selection, View } from "../view/state";
import { complete, type Model, Source, TRAITS } from "./traits";

export interface Site {
  root: HTMLElement;
  actions: Actions;
  model: Model;
  /** Aborts when the view ends, in whichever of two ways the host says so. */
  signal: AbortSignal;
  /** Draws on the next frame. */
  refresh(): void;
}

function message(error: unknown): string {
  return `The scores could not be read: ${error instanceof Error ? error.message : String(error)}`;
}

/** One write a frame at most: scrubbing would otherwise fill the comm. */
function selectionWriter(model: Model, source: Source, refresh: () => void, frame: (run: () => void) => void): Actions {
  let pending = false;
  return {
    select(change: Partial<Selection>) {
      const whole = complete(change, source.state());
      let differs = false;
      for (const [name, value] of Object.entries(whole) as [keyof Selection, never][]) {
        if (model.get(name) === value) continue;
        model.set(name, value);
        differs = true;
      }
      refresh();
      if (!differs || pending) return;
      pending = true;
      frame(() => {
        pending = false;
        model.save_changes();
      });
    },
  };
}

export function mount(props: RenderProps<ExplorerTraits>, name: string, create: (site: Site) => View): () => void {
  const { model, el } = props;
  const life = new AbortController();
  const window = el.ownerDocument.defaultView as Window;
  const h = maker(el);
  const root = h("div", { class: `opd-root ${name}`, "data-lm-suppress-shortcuts": "true" });
  const empty = h("p", { class: "opd-quiet opd-empty", role: "status" });
  root.append(empty);
  el.append(root);
  followTheme(root, life.signal);
  const source = new Source(model);

  const draw = (): void => {
    try {
      const state = source.state();
      empty.textContent = state ? "" : "No scores yet.";
      empty.hidden = state !== null;
      if (state) view.update(state);
    } catch (error) {
      empty.hidden = false;
      empty.textContent = message(error);
      throw error;
    }
  };
  let asked = 0;
  const refresh = (): void => {
    if (asked || life.signal.aborted) return;
    asked = window.requestAnimationFrame(() => {
      asked = 0;
      draw();
    });
  };
  const actions = selectionWriter(model, source, refresh, (run) => window.requestAnimationFrame(run));
  const view = create({ root, actions, model, signal: life.signal, refresh });
  for (const trait of TRAITS) model.on(`change:${trait}`, refresh);

  const end = (): void => {
    if (life.signal.aborted) return;
    life.abort();
    window.cancelAnimationFrame(asked);
    for (const trait of TRAITS) model.off(`change:${trait}`, refresh);
    view.destroy();
    root.remove();
  };
  props.signal?.addEventListener("abort", end, { once: true });
  draw();
  return end;
}
