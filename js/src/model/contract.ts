/**
 * The shape of what Python sends and what it answers, in one place.
 *
 * Python's half is `opd_widgets/widgets/_traits.py`. JSON carries names, texts and counts; every number that
 * can be missing (NaN) or infinite travels in a little-endian binary buffer, because JSON turns those into strings.
 */

/** One character a cell: t text, s white space, n line break, c control or invisible character, p special token, b bytes that are no text. */
export type CellKind = "t" | "s" | "n" | "c" | "p" | "b";

/** Tokens as a reader sees them. A cell covers the tokens from its start to the next cell's start. */
export interface Cells {
  /** First token of each cell, ascending from 0. */
  starts: number[];
  /** What to show: control characters and special tokens already carry a visible name. Hostile text: text nodes only. */
  texts: string[];
  /** One CellKind a cell. */
  kinds: string;
}

/** The cells of a rollout as they travel: a stretch of the `cells` buffer. */
export interface PackedCells {
  /** First item in the buffer, and how many. */
  at: number;
  count: number;
  /** Cell, tokens, cell, tokens, ...: the cells that cover several tokens, ascending; all others cover one. */
  joined: number[];
}

export interface PromptMeta {
  cells: Cells;
  /** Number of tokens. */
  tokens: number;
  /** First and one-past-last cell that the student's prompt does not have; null where both prompts are equal. */
  differs: [number, number] | null;
}

export interface TeacherMeta {
  name: string;
  /** "external" or the kind of its context: "one_correct", "free_text", ... */
  kind: string;
  /** One line: the model's name and what it sees beside the question. */
  description: string;
  /** Whether its context can be edited here (a self-distillation teacher with a live model). */
  editable: boolean;
  /** Longest prompt + response the model takes, in tokens; null where unknown. */
  limit: number | null;
  /** What its chat template is given beside the turns, as "name=value". Missing in pages of before. */
  arguments?: string[];
}

export type Scale = "diverging" | "sequential" | "log";

export interface SignalMeta {
  name: string;
  label: string;
  /** The formula, plain text. */
  formula: string;
  /** "nats", "nats²", "rank", "share", "cosine" or "". */
  unit: string;
  /** "L1", "L1+C", "L2", "L3", "L4". */
  tier: string;
  scale: Scale;
  /** False: belongs to the student alone, the teacher switch does not change it. */
  per_teacher: boolean;
  available: boolean;
  /** Why it is not available; null where it is. */
  reason: string | null;
  /** End of the colour scale, one for all rollouts and teachers: diverging runs -limit..limit, the others 0..limit (log: 1..limit). */
  limit: number;
  /** Whether some value lies below or above the scale's ends; it takes the end's colour. */
  below: boolean;
  above: boolean;
  /** Noise band: values closer to zero than this are grey; null where it was not measured. */
  noise: number | null;
  /** What the lower and the upper end mean, in words. */
  low: string;
  high: string;
  /** How the values of the tokens in one cell become one value. */
  aggregate: "sum" | "max" | "mean";
}

export type Outcome = "correct" | "incorrect" | "unverified" | "unknown";

export interface ContextMeta {
  /** What the teacher sees beside the question, as text. */
  text: string;
  /** Its length in tokens. */
  tokens: number;
  /** Whether the text holds the question's answer; null where no answer is known. Missing in pages of before. */
  leaks?: boolean | null;
}

export interface RolloutMeta {
  id: string;
  /** The question's id: rollouts of one question share it. */
  question: string;
  /** The question in short, one line. */
  title: string;
  /** The response in short, one line. */
  label: string;
  outcome: Outcome;
  /** "stop", "truncated", "aborted" or "unknown". */
  status: string;
  reward: number | null;
  step: number | null;
  /** "exact_ids", "retokenised" or "strings"; anything but exact_ids is said on the rollout's face. */
  text_source: string;
  /** First token in the data's token axis, and number of response tokens. */
  offset: number;
  length: number;
  cells: Cells;
  /** Index into `prompts`: what the student saw. */
  prompt: number;
  /** Teacher name -> index into `prompts`: what that teacher saw. */
  teacher_prompts: Record<string, number>;
  /** Teacher name -> its privileged context; absent for a teacher without one. */
  contexts: Record<string, ContextMeta>;
  /** Teacher name -> its own tokens of each group, as shown; only for a teacher of another tokenizer. Hostile text: text nodes only. */
  other_tokens?: Record<string, string[][]>;
  /** Teacher name -> how many tokens it reads the response as; likewise. */
  other_lengths?: Record<string, number>;
}

/** A rollout as it travels; pages of before hold the cells themselves. */
export type WireRollout = Omit<RolloutMeta, "cells"> & { cells: Cells | PackedCells };

export interface Plane {
  signal: string;
  /** null: the student's own signal. */
  teacher: string | null;
}

export interface ScoresMeta {
  version: 1;
  /**
   * Counts the scores this view has been given, so that an edit's result is never laid over scores it was not made from: `scores` and
   * `live` are two traits and may arrive in either order. Missing in pages of before: then all fit.
   */
  generation?: number;
  student: string;
  teachers: TeacherMeta[];
  signals: SignalMeta[];
  rollouts: RolloutMeta[];
  prompts: PromptMeta[];
  /** Token id -> how to show it ([text, kind]); every id in a top-k buffer of this trait is here. */
  vocab: Record<string, [string, string]>;
  /** N: response tokens of all rollouts together. */
  tokens: number;
  /** Row order of `values`. */
  planes: Plane[];
  /** K: columns of top-k; 0 where they were not recorded. */
  top_k: number;
  /** Where they are: in this trait, to be asked for by `top_block`, or not to be had here. Missing in pages of before: sent. */
  top_source?: "sent" | "on_request" | "left_out";
  /** Lines the reader must see (a warning of unlike engines, say). */
  notes: string[];
}

/** Log-probabilities in nats at a teacher's K likeliest ids and at the student's; id 0xFFFFFFFF fills an unused column. */
export interface TeacherTopBuffers {
  /** uint32 [n, K]: the teacher's likeliest ids. */
  ids: DataView;
  /** float32 [n, K]: teacher's log-probability of `ids`. */
  teacher: DataView;
  /** float32 [n, K]: student's log-probability of `ids`. */
  student: DataView;
  /** float32 [n, K]: teacher's log-probability of the student's likeliest ids. */
  at_student: DataView;
}

export type WireMeta = Omit<ScoresMeta, "rollouts"> & {
  rollouts: WireRollout[];
  /** Text and kind of a cell by the number it has in `cells`. */
  looks?: { texts: string[]; kinds: string };
};

/** The `scores` trait. */
export interface ScoresTrait {
  meta: WireMeta;
  /** The cells of all rollouts, a number each: uint16, or uint32 where there are more than 65,536 looks. Missing in pages of before. */
  cells?: DataView;
  /** float32 [planes, N]. */
  values: DataView;
  /** uint8 [N]: 1 = counted in aggregates, 0 = not the student's own token (a tool's output, say); null where all are. */
  mask: DataView | null;
  /** uint32 [N]; 0xFFFFFFFF where the id is not known. */
  token_ids: DataView;
  student_top: { ids: DataView; student: DataView } | null;
  /** By teacher name; empty where top-k is not in this trait. */
  teacher_top: Record<string, TeacherTopBuffers>;
  /**
   * By name of a teacher of another tokenizer, int32 [N]: the group of equal text that a token is compared in, counted from 0 in each
   * rollout; -1 not comparable. A group's value stands at its last token and is NaN at the others. An edit of a context leaves it as it
   * is. Missing in pages of before.
   */
  groups?: Record<string, DataView>;
}

/**
 * One rollout rescored under an edited context; overlays the same rollout and teacher in `scores`. An entry that does not fit them
 * (unknown teacher or rollout, another number of bytes) is passed over.
 */
export interface LiveEntry {
  teacher: string;
  rollout: number;
  context: ContextMeta;
  prompt: PromptMeta;
  /** float32 [planes of that teacher, in the order of `planes`; length of the rollout]. */
  values: DataView;
  /** null where top-k is not sent. */
  top: TeacherTopBuffers | null;
  /** Rises with every change of an entry: of two for one place the higher one holds. Missing in pages of before. */
  version?: number;
}

/**
 * Edited contexts lie in several traits, `live` in a page and LIVE_TRAITS in a notebook: what changes often lies in a small one, so that
 * a step of progress does not send again what stood before.
 */
export const LIVE_TRAITS = ["live_new", "live_older", "live_oldest"] as const;

export interface LiveTrait {
  /** `ScoresMeta.generation` of the scores that `entries` were made from; they are applied only where both are equal, or one is missing. */
  generation?: number;
  entries: LiveEntry[];
  /** Tokens that a top-k buffer in `entries` names and `meta.vocab` lacks. */
  vocab: Record<string, [string, string]>;
}

/** The `job` trait. "none": there is no model behind this view; scoring controls are hidden. */
export interface JobTrait {
  state: "none" | "idle" | "running" | "done" | "cancelled" | "failed";
  teacher: string | null;
  question: string | null;
  /** Rollouts rescored so far, of how many. What a cancelled or failed job had rescored stays in `live`. */
  done: number;
  total: number;
  seconds: number;
  /** A failed job's error, in one line. */
  message: string;
}

/** An edit's place in the order it was made in: a first message can be delivered after later ones. */
export type Order = {
  /** A random id of the view that asks. */
  view: string;
  /** Strictly increasing within a view, over all its edits and resets. */
  sequence: number;
};

/**
 * What is asked. A context belongs to a teacher and a question: all rollouts of that question are scored, `rollout` first.
 * The question is that of `rollout`; a rollout whose question is "" stands alone.
 */
export type RpcParams = {
  /** Someone is about to edit: what the edit will not change is read ahead. No harm where it is lost. */
  prepare_context: { teacher: string; rollout: number };
  /** Refused by `superseded` where the same view has already sent a higher sequence for the same teacher and question. */
  set_context: Order & { teacher: string; rollout: number; text: string };
  /** Takes part in the same order, so that an edit that comes after its own reset is refused. */
  reset_context: Order & { teacher: string; rollout: number };
  /** Names a job as the `job` trait does; exactly that one is cancelled, and none where it is over already. */
  cancel_job: { teacher: string; question: string };
  /**
   * The likeliest tokens at the response tokens from `start` up to `stop`. Teacher "" is none; `version` is that of the edit which is
   * shown, 0 for none. Superseded where the scores or the edit are not these any more.
   */
  top_block: { generation: number; teacher: string; rollout: number; version: number; start: number; stop: number };
  /** A running diagnosis: stop after the batch in hand; go on. */
  stop: Record<string, never>;
  resume: Record<string, never>;
};

/** What is answered where all went well. */
export type RpcResults = {
  prepare_context: Record<string, never>;
  set_context: { superseded?: boolean };
  reset_context: { superseded?: boolean };
  cancel_job: { cancelled: boolean };
  top_block: TopBlock | { superseded: true };
  stop: { stopping: boolean };
  resume: Record<string, never>;
};

/**
 * Buffers beside it, n = count: uint32 [n, k] the student's ids, float32 [n, k] their log-probabilities; where there is a teacher, those of
 * `TeacherTopBuffers` in the order there.
 */
export type TopBlock = {
  start: number;
  count: number;
  k: number;
  vocab: Record<string, [string, string]>;
};

export interface RpcRequest {
  kind: "request";
  id: string;
  method: keyof RpcParams;
  /** `RpcParams` of the method. */
  params: Record<string, unknown>;
}

/** The view no longer wants request `id`: the job which that very request made is cancelled, no other, and a request still to come is not begun. */
export interface RpcCancel {
  kind: "cancel";
  id: string;
}

export type RpcResponse =
  /** `result`: `RpcResults` of the method. */
  | { kind: "response"; id: string; ok: true; result: Record<string, unknown> }
  | { kind: "response"; id: string; ok: false; error: { type: string; message: string } };

/** The traits a view reads. Selection traits are written from both sides; the others only by Python. */
export interface ExplorerTraits {
  scores: ScoresTrait;
  /** null in a notebook. */
  live: LiveTrait | null;
  /** null in a page. */
  live_new: LiveTrait | null;
  live_older: LiveTrait | null;
  live_oldest: LiveTrait | null;
  job: JobTrait;
  rollout: number;
  /** Index of the selected response token, -1 for none. */
  token: number;
  teacher: string;
  signal: string;
}
