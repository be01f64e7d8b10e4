/** What the views of a comparison are given beside what every view of scores is. */
import type { SignalMeta } from "../../model/contract";
import type { Actions, ViewState } from "../state";

export type Layout = "teachers" | "rollouts" | "steps";

/** The same rollouts as scored by several checkpoints, by ascending step. */
export interface StepSeries {
  readonly steps: readonly number[];
  /** One value a token of a rollout; null where the signal was not computed under this teacher. */
  values(step: number, rollout: number, signal: string, teacher: string): Float32Array | null;
}

export interface Arrangement {
  /** What is laid side by side. Not called layout: notebooks keep the size of a widget's box under that name. */
  across: Layout;
  /** Teachers in rows, the first minus the second is the difference. */
  compared: readonly string[];
  /** The selected training step. */
  step: number;
  /** Ends of pinned scales by name of the scale. */
  limits: Readonly<Record<string, number>>;
}

/** `scale` is the signal's with the end in use: fitted to all, or pinned. */
export interface CompareState extends ViewState, Arrangement {
  steps: StepSeries | null;
  /** The scale of what is subtracted here; null where nothing is. */
  difference: SignalMeta | null;
  /** The end of a scale that would fit the rollout in view alone. */
  fit(scale: SignalMeta): number;
}

export interface CompareActions extends Actions {
  arrange(change: Partial<Arrangement>): void;
}

export interface CompareView {
  update(state: CompareState): void;
  destroy(): void;
}

/** Name of the scale of a signal's differences. */
export const differenceName = (signal: string): string => `${signal} difference`;
