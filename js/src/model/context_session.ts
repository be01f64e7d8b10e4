/**
 * Edits of contexts on their way to Python. One draft a teacher and rollout; a draft is kept until Python's answer carries the same
 * text, so that nothing a reader typed is ever lost. The newest edit wins: it withdraws the request before it.
 */
import { type Rpc, RpcError } from "./rpc";

/** rest: nothing under way; typing: waiting for a pause; sent; queued: no answer for a while; failed: see `error`. */
export type Phase = "rest" | "typing" | "sent" | "queued" | "failed";

export interface Draft {
  /** null: the reader has not changed the text. */
  text: string | null;
  phase: Phase;
  error: string | null;
}

export interface ContextSession {
  draft(teacher: string, rollout: number): Draft;
  edit(teacher: string, rollout: number, text: string): void;
  reset(teacher: string, rollout: number): void;
  /** Withdraws what is waiting and stops the running job; the text stays. */
  cancel(teacher: string, rollout: number, running: boolean): void;
  /** Python's state has this text now: a draft equal to it is done. */
  settle(teacher: string, rollout: number, text: string): void;
}

export const PAUSE_MS = 250;
export const SLOW_MS = 1000;
const REST: Draft = { text: null, phase: "rest", error: null };

export function createContextSession(rpc: Rpc, life: AbortSignal, changed: () => void): ContextSession {
  const drafts = new Map<string, Draft>();
  let pause: ReturnType<typeof setTimeout> | undefined;
  let flight: AbortController | null = null;
  const at = (teacher: string, rollout: number): string => `${rollout}\u0000${teacher}`;
  const put = (slot: string, draft: Draft): void => {
    drafts.set(slot, draft);
    changed();
  };
  const withdraw = (): void => {
    clearTimeout(pause);
    flight?.abort(new DOMException("a newer edit", "AbortError"));
    flight = null;
  };
  life.addEventListener("abort", withdraw, { once: true });

  async function ask(
    method: "set_context" | "reset_context",
    slot: string,
    params: Record<string, unknown>,
  ): Promise<void> {
    const mine = new AbortController();
    flight = mine;
    const phase = (phase: Phase, error: string | null = null): void =>
      put(slot, { ...(drafts.get(slot) ?? REST), phase, error });
    phase("sent");
    const slow = setTimeout(() => phase("queued"), SLOW_MS);
    try {
      await rpc.request(method, params, mine.signal);
      if (flight === mine) phase("rest");
    } catch (error) {
      if (mine.signal.aborted || life.aborted) return;
      phase("failed", error instanceof RpcError ? error.message : String(error));
    } finally {
      clearTimeout(slow);
      if (flight === mine) flight = null;
    }
  }

  /** Drafts other than `keep` that were on their way were withdrawn with it. */
  function rest(keep: string): void {
    for (const [slot, draft] of drafts) {
      if (slot !== keep && draft.phase !== "failed") drafts.set(slot, { ...draft, phase: "rest" });
    }
  }

  return {
    draft: (teacher, rollout) => drafts.get(at(teacher, rollout)) ?? REST,
    edit(teacher, rollout, text) {
      const slot = at(teacher, rollout);
      withdraw();
      rest(slot);
      put(slot, { text, phase: "typing", error: null });
      pause = setTimeout(() => void ask("set_context", slot, { teacher, rollout, text }), PAUSE_MS);
    },
    reset(teacher, rollout) {
      const slot = at(teacher, rollout);
      withdraw();
      rest(slot);
      drafts.delete(slot);
      void ask("reset_context", slot, { teacher, rollout });
    },
    cancel(teacher, rollout, running) {
      withdraw();
      const slot = at(teacher, rollout);
      put(slot, { ...(drafts.get(slot) ?? REST), phase: "rest" });
      if (running) rpc.request("cancel_job", {}, life).catch(() => changed());
    },
    settle(teacher, rollout, text) {
      const slot = at(teacher, rollout);
      const draft = drafts.get(slot);
      if (draft?.text === text && draft.phase !== "typing") drafts.set(slot, { ...draft, text: null });
    },
  };
}
