/** "Stop" and "resume" on their way to Python: what became of the last one, so that a busy or dead kernel is told from a slow one. */
import { LOST_MS, SLOW_MS } from "./context_session";
import type { RunState } from "./progress_contract";
import { type Rpc, RpcError } from "./rpc";

export type CommandName = "stop" | "resume";

/** sent: on its way; queued: no answer for a while; lost: none for long; failed: see `error`. */
export interface Command {
  name: CommandName | null;
  phase: "rest" | "sent" | "queued" | "lost" | "failed";
  error: string | null;
}

export interface RunCommands {
  now(): Command;
  ask(name: CommandName): void;
  /** What the run's own state shows has been heard, whatever became of its answer. */
  settle(state: RunState): void;
}

const REST: Command = { name: null, phase: "rest", error: null };
const HEARD: Record<CommandName, readonly RunState[]> = {
  stop: ["stopping", "stopped", "done", "failed"],
  resume: ["waiting", "running"],
};

export function createRunCommands(rpc: Rpc, life: AbortSignal, changed: () => void): RunCommands {
  let command = REST;
  let flight: AbortController | null = null;
  const put = (next: Command): void => {
    command = next;
    changed();
  };
  const withdraw = (): void => {
    flight?.abort();
    flight = null;
  };
  life.addEventListener("abort", withdraw, { once: true });

  async function ask(name: CommandName): Promise<void> {
    withdraw();
    const mine = new AbortController();
    flight = mine;
    put({ name, phase: "sent", error: null });
    const later = (phase: "queued" | "lost", after: number) =>
      setTimeout(() => put({ name, phase, error: null }), after);
    const timers = [later("queued", SLOW_MS), later("lost", LOST_MS)];
    const settled = (): void => timers.forEach(clearTimeout);
    mine.signal.addEventListener("abort", settled, { once: true });
    try {
      await rpc.request(name, {}, mine.signal);
      if (flight === mine) put(REST);
    } catch (error) {
      if (mine.signal.aborted || life.aborted) return;
      put({ name, phase: "failed", error: error instanceof RpcError ? error.message : String(error) });
    } finally {
      settled();
      if (flight === mine) flight = null;
    }
  }

  return {
    now: () => command,
    ask: (name) => void ask(name),
    settle(state) {
      if (command.name === null || !HEARD[command.name].includes(state)) return;
      withdraw();
      command = REST;
    },
  };
}
