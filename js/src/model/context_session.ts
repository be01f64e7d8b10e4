/**
 * Edits of contexts on their way to Python: one draft, one pause and one request a teacher and question, whatever happens to the
 * others. A draft is kept until Python has scored the whole question under the same text, so that nothing a reader typed is ever
 * lost. The newest edit of a place wins: it withdraws the request before it.
 */
import type { RpcParams } from "./contract";
import type { Dataset } from "./dataset";
import { type Rpc, RpcError } from "./rpc";

/** rest: nothing under way; typing: waiting for a pause; sent; queued: no answer for a while; lost: none for long; failed: see `error`. */
export type Phase = "rest" | "typing" | "sent" | "queued" | "lost" | "failed";

export interface Draft {
  /** null: the reader has not changed the text. */
  text: string | null;
  phase: Phase;
  error: string | null;
}

/** What a context belongs to. Rollouts of one question share it; `rollout` is the one in view, which is scored first. */
export interface Place {
  teacher: string;
  question: string;
  rollout: number;
}

export interface JobName {
  teacher: string;
  question: string;
}

export interface ContextSession {
  draft(place: Place): Draft;
  /** Says that an edit may come, so that its first colours come sooner. */
  prepare(place: Place): void;
  edit(place: Place, text: string): void;
  reset(place: Place): void;
  /** Stops the running job, and no other; where none runs, or this place's own, withdraws what waits here. The text stays. */
  cancel(place: Place, running: JobName | null): void;
  /** Sends what has had no answer once more. */
  resend(place: Place): void;
  /** Drops the drafts that are in these scores now. */
  settle(data: Dataset): void;
  /** Whether the kernel has ended: drafts are kept, and nothing is sent any more. */
  ended(): boolean;
}

export const PAUSE_MS = 250;
export const SLOW_MS = 1000;
/** Without an answer for so long a request counts as lost and is sent again, then after twice the time, and so on. */
export const LOST_MS = 20_000;
const REST: Draft = { text: null, phase: "rest", error: null };

interface Slot {
  place: Place;
  draft: Draft;
  /** The text last sent; null: a reset. */
  sent: string | null;
  pause: ReturnType<typeof setTimeout> | undefined;
  flight: AbortController | null;
}

const keyOf = ({ teacher, question, rollout }: Place): string =>
  `${question}\u0000${question === "" ? rollout : ""}\u0000${teacher}`;

function withdraw(slot: Slot): void {
  clearTimeout(slot.pause);
  slot.flight?.abort();
  slot.flight = null;
}

/** Sends what a slot holds, in the order of this view's edits, until there is an answer. */
function sender(rpc: Rpc, life: AbortSignal, ended: () => boolean, put: (slot: Slot, change: Partial<Draft>) => void) {
  const view = Math.random().toString(36).slice(2, 12);
  let sequence = 0;

  function ask({ sent, place: { teacher, rollout } }: Slot, signal: AbortSignal): Promise<unknown> {
    const reset: RpcParams["reset_context"] = { teacher, rollout, view, sequence: ++sequence };
    if (sent === null) return rpc.request("reset_context", reset, signal);
    return rpc.request("set_context", { ...reset, text: sent } satisfies RpcParams["set_context"], signal);
  }

  return async function send(slot: Slot, patience = LOST_MS): Promise<void> {
    withdraw(slot);
    if (ended()) return;
    const mine = new AbortController();
    slot.flight = mine;
    const again = patience > LOST_MS;
    put(slot, { phase: again ? "lost" : "sent", error: null });
    const slow = setTimeout(() => again || put(slot, { phase: "queued" }), SLOW_MS);
    const lost = setTimeout(() => void send(slot, 2 * patience), patience);
    const settled = (): void => [slow, lost].forEach(clearTimeout);
    mine.signal.addEventListener("abort", settled, { once: true });
    try {
      await ask(slot, mine.signal);
      if (slot.flight === mine) put(slot, { phase: "rest" });
    } catch (error) {
      if (mine.signal.aborted || life.aborted) return;
      put(slot, { phase: "failed", error: error instanceof RpcError ? error.message : String(error) });
    } finally {
      settled();
      if (slot.flight === mine) slot.flight = null;
    }
  };
}

export function createContextSession(
  rpc: Rpc,
  life: AbortSignal,
  changed: () => void,
  ended: () => boolean = () => false,
): ContextSession {
  const slots = new Map<string, Slot>();
  const at = (place: Place): Slot => {
    const slot = slots.get(keyOf(place)) ?? { place, draft: REST, sent: null, pause: undefined, flight: null };
    slot.place = place;
    slots.set(keyOf(place), slot);
    return slot;
  };
  const put = (slot: Slot, change: Partial<Draft>): void => {
    slot.draft = { ...slot.draft, ...change };
    changed();
  };
  const send = sender(rpc, life, ended, put);
  life.addEventListener("abort", () => slots.forEach(withdraw), { once: true });

  return {
    draft: (place) => slots.get(keyOf(place))?.draft ?? REST,
    ended,
    prepare({ teacher, rollout }) {
      if (ended()) return;
      const ahead: RpcParams["prepare_context"] = { teacher, rollout };
      rpc.request("prepare_context", ahead, life).catch(() => undefined);
    },
    edit(place, text) {
      const slot = at(place);
      withdraw(slot);
      put(slot, { text, phase: "typing", error: null });
      slot.pause = setTimeout(() => {
        slot.sent = text;
        void send(slot);
      }, PAUSE_MS);
    },
    reset(place) {
      const slot = at(place);
      slot.sent = null;
      slot.draft = REST;
      void send(slot);
    },
    cancel(place, running) {
      const own = running === null || (running.teacher === place.teacher && running.question === place.question);
      if (own) {
        const slot = at(place);
        withdraw(slot);
        put(slot, { phase: "rest" });
      }
      if (!running || ended()) return;
      const job: RpcParams["cancel_job"] = { teacher: running.teacher, question: running.question };
      rpc.request("cancel_job", job, life).catch(() => changed());
    },
    resend(place) {
      const slot = at(place);
      // What was typed since, if its pause is not over.
      slot.sent = slot.draft.text ?? slot.sent;
      void send(slot);
    },
    settle(data) {
      for (const slot of slots.values()) {
        const { text, phase } = slot.draft;
        if (text === null || phase === "typing" || !data.rescored(slot.place, text)) continue;
        // What the scores show has been heard, whatever became of its answer.
        if (phase === "lost") withdraw(slot);
        slot.draft = { text: null, phase: phase === "lost" || phase === "failed" ? "rest" : phase, error: null };
      }
    },
  };
}
