/**
 * What is selected in one view. Alone, its model's own traits say it; linked, the model that all linked views share does, in the
 * browser, so that linked views follow each other also while the kernel is busy. A linked view does not listen to its own traits:
 * Python repeats there what is shared, later, and would undo a scrub.
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

export function createChosen<C extends object>(options: ChosenOptions<C>): Chosen<C> {
  const { model, host, fields, naming, changed, signal } = options;
  let shared: Shared | null = null;
  let last = own();
  let pending = false;

  function own(): C {
    return Object.fromEntries(fields.map((field) => [field, model.get(field)])) as C;
  }

  function get(): C {
    if (!shared) last = own();
    return last;
  }

  const follow = (): void => {
    const value = shared?.get("value");
    if (value) last = { ...last, ...naming.fromShared(value) };
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
      last = own();
      shared = found as Shared;
      shared.on("change:value", follow);
      follow();
    } catch {
      changed(); // a host that cannot find it: Python passes selections on, through the own traits
    }
  }

  /** One write a frame at most: scrubbing would otherwise fill the comm. */
  function save(): void {
    if (pending) return;
    pending = true;
    options.frame(() => {
      pending = false;
      if (options.writable?.() !== false) (shared ?? model).save_changes();
    });
  }

  const heard = (): void => {
    if (!shared) changed();
  };
  for (const field of fields) model.on(`change:${field}`, heard);
  model.on("change:selection", join);
  signal.addEventListener(
    "abort",
    () => {
      leave();
      for (const field of fields) model.off(`change:${field}`, heard);
      model.off("change:selection", join);
    },
    { once: true },
  );
  void join();

  return {
    get,
    set(change) {
      const before = get();
      const differs = (Object.keys(change) as (keyof C)[]).some((name) => before[name] !== change[name]);
      if (shared) {
        last = { ...before, ...change };
        shared.set("value", { ...shared.get("value"), ...naming.toShared(change, last) });
      } else {
        for (const [name, value] of Object.entries(change)) if (model.get(name) !== value) model.set(name, value);
      }
      changed();
      if (differs) save();
    },
  };
}
