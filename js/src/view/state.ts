/** What every view is given and what it may ask for. A view never sees where either comes from. */
import type { JobTrait, RolloutMeta, SignalMeta } from "../model/contract";
import type { Dataset } from "../model/dataset";

export interface Selection {
  rollout: number;
  /** -1: none. */
  token: number;
  teacher: string;
  signal: string;
}

export interface ViewState extends Selection {
  data: Dataset;
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

/** The reader's edits, kept outside the view so that they outlive a switch of teacher or rollout. */
export interface ContextPort {
  draft(teacher: string, rollout: number): { text: string | null; phase: string; error: string | null };
  edit(teacher: string, rollout: number, text: string): void;
  reset(teacher: string, rollout: number): void;
  cancel(teacher: string, rollout: number, running: boolean): void;
}

/** True when any of the listed parts of the state differs: what a view compares before it works. */
export function changed(before: ViewState | null, after: ViewState, ...parts: (keyof ViewState)[]): boolean {
  return before === null || parts.some((part) => before[part] !== after[part]);
}
