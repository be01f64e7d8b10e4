/** What every view is given and what it may ask for. A view never sees where either comes from. */
import type { JobTrait, RolloutMeta, SignalMeta } from "../model/contract";
import type { Dataset } from "../model/dataset";
import type { Tops } from "../model/top_windows";

export interface Selection {
  rollout: number;
  /** -1: none. */
  token: number;
  teacher: string;
  signal: string;
}

export interface ViewState extends Selection {
  data: Dataset;
  /** The likeliest tokens at any place; to look at them asks for them. */
  tops: Tops;
  job: JobTrait;
  /** Of the selected rollout and signal. */
  record: RolloutMeta;
  scale: SignalMeta;
}

export interface Actions {
  select(change: Partial<Selection>): void;
}

export interface View {
  update(state: ViewState): void;
  destroy(): void;
}

/** What a context belongs to: rollouts of one question share it; `rollout` is the one in view. */
export interface Place {
  teacher: string;
  question: string;
  rollout: number;
}

/** The reader's edits, kept outside the view so that they outlive a switch of teacher or rollout. */
export interface ContextPort {
  draft(place: Place): { text: string | null; phase: string; error: string | null };
  /** Says that an edit may come. */
  prepare(place: Place): void;
  edit(place: Place, text: string): void;
  reset(place: Place): void;
  /** Stops the running job, if one is named; otherwise withdraws what waits at this place. */
  cancel(place: Place, running: { teacher: string; question: string } | null): void;
  resend(place: Place): void;
  /** Whether the kernel has ended, so that nothing can be scored here any more. */
  ended(): boolean;
}

/** True when any of the listed parts of the state differs: what a view compares before it works. */
export function changed<State extends object>(before: State | null, after: State, ...parts: (keyof State)[]): boolean {
  return before === null || parts.some((part) => before[part] !== after[part]);
}
