/** What linked views agree on. Python's half is `opd_widgets/widgets/selection.py`. */

/** A place by names that mean the same in every view; null where nobody has said. */
export interface SharedSelection {
  question: string | null;
  /** The rollout's id. */
  rollout: string | null;
  /** Index of a response token. */
  token: number | null;
  /** Index of a node among its question's nodes in a diagnosis. */
  node: number | null;
  teacher: string | null;
  signal: string | null;
}

/** The traits of the model that linked views share. One trait, so that a place is never half old and half new. */
export interface SelectionTraits {
  value: SharedSelection;
}
