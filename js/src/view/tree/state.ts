/** What the views of a tree are given, and what they may ask for. */
import type { Colouring } from "../../core/tree/colour";
import type { QuestionTree, Visits } from "../../core/tree/question";
import type { Places } from "../../model/places";

/** What a reader selects: the traits, and a row of the tree in their place. */
export interface TreeChange {
  question: string;
  rollout: string;
  token: number;
  node: number;
  teacher: string;
  visits: Visits;
  colour: Colouring;
  /** A run; what it means as a place follows from it. */
  run?: number;
}

export interface TreeState {
  places: Places;
  tree: QuestionTree;
  /** Indices: -1 for none. The rollout's is among all rollouts of the question, targeted ones too. */
  question: number;
  teacher: number;
  rollout: number;
  token: number;
  node: number;
  run: number;
  visits: Visits;
  colour: Colouring;
  verdicts: readonly string[];
  level: number;
}

export interface TreeActions {
  select(change: Partial<TreeChange>): void;
}
