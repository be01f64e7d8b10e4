/** What the parts of the progress view are given, and what they may ask for. */
import type { ProgressSelection, ProgressTrait } from "../../model/progress_contract";

/** A run as it is shown. */
export interface ShownRun extends ProgressTrait {
  /** Whether the kernel has ended, and the run with it. */
  ended?: boolean;
}

export interface ProgressState {
  run: ShownRun;
  /** [n, 3]: tokens spent, median and mean width. */
  line: Float32Array;
  chosen: ProgressSelection;
}

export interface ProgressActions {
  select(change: Partial<ProgressSelection>): void;
}

export interface CommandPort {
  now(): { name: "stop" | "resume" | null; phase: string; error: string | null };
  ask(name: "stop" | "resume"): void;
}

export interface ProgressPart {
  update(state: ProgressState): void;
  destroy(): void;
}
