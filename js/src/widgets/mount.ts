/** What all widgets share: a root in the host's theme, traits in, selection out, everything undone when the view ends. */
import type { AnyModel, RenderProps } from "@anywidget/types";
import { followKernel, type Kernel } from "../host/kernel";
import { followTheme } from "../host/theme";
import { maker, setText } from "../view/dom";
import { type Chosen, createChosen, type Naming } from "./chosen";

// biome-ignore lint/suspicious/noExplicitAny: the traits differ from widget to widget; each one's Source knows its own
export type AnyTraits = any;

export interface Source<State, Change> extends Naming<Change> {
  /** null where there is nothing to show yet. */
  state(chosen: Change): State | null;
  /** A change the reader asked for, with what follows from it. */
  complete(change: Partial<Change>, state: State | null): Partial<Change>;
}

export interface Kind<State, Change> {
  /** Class of the root. */
  name: string;
  /** The traits that only Python writes. */
  data: readonly string[];
  /** The selection traits, written from both sides. */
  chosen: readonly (keyof Change & string)[];
  /** Those of them that linked views do not share. */
  apart?: readonly (keyof Change & string)[];
  /** What is said where there is nothing to show. */
  empty: string;
  /** `redraw` asks for another state: something has come that is no trait. */
  source(model: AnyModel<AnyTraits>, redraw: () => void, signal: AbortSignal, kernel: Kernel): Source<State, Change>;
}

export interface Site<Change> {
  root: HTMLElement;
  actions: { select(change: Partial<Change>): void };
  model: AnyModel<AnyTraits>;
  /** The view is drawn again when it ends. */
  kernel: Kernel;
  /** Aborts when the view ends, in whichever of two ways the host says so. */
  signal: AbortSignal;
  /** Draws on the next frame. */
  refresh(): void;
}

export interface Drawn<State> {
  update(state: State): void;
  destroy(): void;
}

function message(error: unknown): string {
  return `The data could not be read: ${error instanceof Error ? error.message : String(error)}`;
}

export function mount<State, Change extends object>(
  props: RenderProps<AnyTraits>,
  kind: Kind<State, Change>,
  create: (site: Site<Change>) => Drawn<State>,
): () => void {
  const { model, el } = props;
  const life = new AbortController();
  const window = el.ownerDocument.defaultView as Window;
  const h = maker(el);
  const root = h("div", { class: `opd-root ${kind.name}`, "data-lm-suppress-shortcuts": "true" });
  const empty = h("p", { class: "opd-quiet opd-empty", role: "status" });
  root.append(empty);
  el.append(root);
  followTheme(root, life.signal);
  let state: State | null = null;

  const draw = (): void => {
    try {
      state = source.state(chosen.get());
      empty.textContent = state ? "" : kind.empty;
      empty.hidden = state !== null;
      if (state) view.update(state);
    } catch (error) {
      empty.hidden = false;
      setText(empty, message(error));
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
  // A key steps from what is selected: two keys within one frame are two steps.
  const drawFirst = (): void => {
    if (!asked) return;
    window.cancelAnimationFrame(asked);
    asked = 0;
    draw();
  };
  root.addEventListener("keydown", drawFirst, { capture: true, signal: life.signal });
  const kernel = followKernel(model.widget_manager, el, life.signal, refresh);
  const source = kind.source(model, refresh, life.signal, kernel);
  const chosen: Chosen<Change> = createChosen({
    model,
    host: props.host,
    fields: kind.chosen,
    apart: kind.apart,
    naming: source,
    changed: refresh,
    signal: life.signal,
    writable: () => !kernel.ended,
    frame: (run) => window.requestAnimationFrame(run),
  });
  const actions = { select: (change: Partial<Change>) => chosen.set(source.complete(change, state)) };
  const view = create({ root, actions, model, kernel, signal: life.signal, refresh });
  for (const trait of kind.data) model.on(`change:${trait}`, refresh);

  const end = (): void => {
    if (life.signal.aborted) return;
    life.abort();
    window.cancelAnimationFrame(asked);
    for (const trait of kind.data) model.off(`change:${trait}`, refresh);
    view.destroy();
    root.remove();
  };
  props.signal?.addEventListener("abort", end, { once: true });
  draw();
  return end;
}
