/** The shape of what Python sends of a running diagnosis. Python's half is `opd_widgets/widgets/running/standing.py`. */

export type RunState = "waiting" | "running" | "stopping" | "stopped" | "done" | "failed";
export type RunPhase = "probe" | "initial" | "held out" | "nodes" | "targeted" | "end";

/** An estimate from the first rollouts. */
export interface RunCost {
  questions: number;
  /** Rollouts of each question from the prompt on. */
  initial: number;
  targeted: number;
  /** Of generating alone, at the probe's speed. */
  seconds: number;
  probe_rollouts: number;
  probe_tokens: number;
}

export interface RolloutCount {
  rollouts: number;
  tokens: number;
  /** How many there are to be; null where that is not known. */
  wanted?: number | null;
}

/** One teacher over all questions read; null where no node has an alignment. */
export interface TeacherBought {
  name: string;
  nodes: number;
  /** With an alignment, and those among them whose sign is sure. */
  scored: number;
  sure: number;
  width: number | null;
  mean_width: number | null;
  mean: number | null;
  low: number | null;
  high: number | null;
}

/** A node with a wide interval, under the teacher for whom it is widest. Hostile text: text nodes only. */
export interface OpenNode {
  question: string;
  title: string;
  node: number;
  /** Tokens before it. */
  depth: number;
  /** The last of them as text; `cut`: there are more. */
  before: string;
  cut: boolean;
  teacher: string;
  middle: number;
  low: number;
  high: number;
}

/** The `progress` trait. */
export interface ProgressTrait {
  version: 1;
  /** Whether Python is behind this view: without, nothing can be stopped. */
  live: boolean;
  state: RunState;
  /** Why it failed, one line. */
  message: string;
  phase: RunPhase;
  /** Tokens. */
  budget: number;
  spent: number;
  /** Whether it is kept in a folder. */
  stored: boolean;
  /** Probability that an interval holds. */
  level: number;
  estimator: string;
  cost: RunCost | null;
  initial: RolloutCount;
  targeted: RolloutCount;
  held_out: RolloutCount;
  /** How many are not begun, in work and done; and of how many the nodes are read. */
  questions: { waiting: number; working: number; done: number; read: number };
  warnings: string[];
  teachers: TeacherBought[];
  widest: OpenNode[];
  /** float32 [n, 3]: tokens spent, median and mean width of the intervals then. */
  line: DataView;
  /** It has run so long. */
  seconds: number;
  /** Tokens a second, and seconds left at that speed. */
  speed: number | null;
  left: number | null;
  /** When this was said, seconds since 1970. */
  at: number;
}

export interface ProgressSelection {
  /** Id of the selected node's question; "" for none. */
  question: string;
  /** Its index among the question's nodes; -1 is none. */
  node: number;
  teacher: string;
}
