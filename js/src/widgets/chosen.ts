/**
 * What is selected in one view. Alone, its model's own traits say it; linked, the model that all linked views share does, in the
 * browser, so that linked views follow each other also while the kernel is busy. A linked view does not listen to its own traits:
 * Python repeats there what is shared, later, and would undo a scrub. What linked views do not share stays with the own traits.
 */
import type { AnyModel, Host } from "@anywidget/types";
import type { SelectionTraits, SharedSelection } from "../model/shared_selection";

export interface Naming<C> {
  /** A change here, by names that all views know. Told with what is selected besides. */
  toShared(change: Partial<C>, whole: C): Partial<SharedSelection>;
  /** What of a shared place is to be found in this view; what is not stays as it is. */
  fromShared(shared: SharedSelection): Partial<C>;
}

export interface ChosenOptions<C> {
  // biome-ignore lint/suspicious/noExplicitAny: a model of any traits: the fields are read by name
  model: AnyModel<any>;
  host: Host | undefined;
  fields: readonly (keyof C & string)[];
  /** Those of them that linked views do not share. */
  apart?: readonly (keyof C & string)[];
  naming: Naming<C>;
  changed(): void;
  signal: AbortSignal;
  /** Whether there is still a kernel to tell: to one that has ended a write is an error in the host's console. */
  writable?(): boolean;
  frame(run: () => void): void;
}

export interface Chosen<C> {
  get(): C;
  set(change: Partial<C>): void;
}

type Shared = AnyModel<{ value: SharedSelection }>;
type Saved = Pick<Shared, "save_changes">;

/** One write a frame and model at most: scrubbing would otherwise fill the comm. */
function saver({ frame, writable }: Pick<ChosenOptions<object>, "frame" | "writable">): (model: Saved) => void {
  const unsaved = new Set<Saved>();
  return (model) => {
    unsaved.add(model);
    if (unsaved.size > 1) return;
    frame(() => {
      if (writable?.() !== false) for (const one of unsaved) one.save_changes();
      unsaved.clear();
    });
  };
}

export function createChosen<C extends object>(options: ChosenOptions<C>): Chosen<C> {
  const { model, host, fields, apart = [], naming, changed, signal } = options;
  const own = (names: typeof fields): C => Object.fromEntries(names.map((name) => [name, model.get(name)])) as C;
  const save = saver(options);
  let shared: Shared | null = null;
  let last = own(fields);

  /** Read anew each time: other data have the same rollout at another index. */
  function get(): C {
    const value = shared?.get("value");
    if (value) last = { ...last, ...naming.fromShared(value), ...own(apart) };
    else if (!shared) last = own(fields);
    return last;
  }

  const follow = (): void => {
    get(); // what is not to be found here stays as it was found last
    changed();
  };

  function leave(): void {
    shared?.off("change:value", follow);
    shared = null;
  }

  /** The reference is a trait: views are linked and unlinked while they are shown. */
  async function join(): Promise<void> {
    const ref = model.get("selection");
    leave();
    if (typeof ref !== "string" || !ref || !host?.getModel) return changed();
    try {
      const found = await host.getModel<SelectionTraits>(ref);
      if (signal.aborted || model.get("selection") !== ref) return;
      last = own(fields);
      shared = found as Shared;
      shared.on("change:value", follow);
      follow();
    } catch {
      changed(); // a host that cannot find it: Python passes selections on, through the own traits
    }
  }

  const heard = (): void => {
    if (!shared) changed();
  };
  const listeners: [string, () => void][] = [
    ...fields.map((name): [string, () => void] => [name, apart.includes(name) ? changed : heard]),
    ["selection", () => void join()],
  ];
  for (const [name, listener] of listeners) model.on(`change:${name}`, listener);
  signal.addEventListener(
    "abort",
    () => {
      leave();
      for (const [name, listener] of listeners) model.off(`change:${name}`, listener);
    },
    { once: true },
  );
  void join();

  return {
    get,
    set(change) {
      const before = get();
      const differing = (Object.keys(change) as (keyof C & string)[]).filter((name) => before[name] !== change[name]);
      last = { ...before, ...change };
      const here = (name: keyof C & string): boolean => !shared || apart.includes(name);
      for (const name of differing.filter(here)) {
        model.set(name, change[name]);
        save(model);
      }
      if (shared && Object.keys(change).some((name) => !here(name as keyof C & string))) {
        shared.set("value", { ...shared.get("value"), ...naming.toShared(change, last) });
        if (!differing.every(here)) save(shared);
      }
      changed();
    },
  };
}
