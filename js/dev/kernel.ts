/** A stand-in for Python: answers set_context after a while, with progress, so that the editor can be seen working. */

import { type StaticModel, staticModel } from "../src/host/static_model";
import type { JobTrait, LiveEntry, LiveTrait, RpcCancel, RpcRequest, ScoresTrait } from "../src/model/contract";
import { toCells } from "./fixture";

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** The rollout's own values, moved by the text: enough to see that colours follow. */
function rescore(scores: ScoresTrait, teacher: string, rollout: number, text: string): LiveEntry {
  const { meta, values } = scores;
  const record = meta.rollouts[rollout];
  const own = meta.planes.flatMap((p, i) => (p.teacher === teacher ? [i] : []));
  const out = new Float32Array(own.length * record.length);
  own.forEach((plane, row) => {
    for (let i = 0; i < record.length; i++) {
      const value = values.getFloat32(4 * (plane * meta.tokens + record.offset + i), true);
      out[row * record.length + i] =
        meta.planes[plane].signal === "advantage" ? value + 4 * Math.sin(text.length + i) : value;
    }
  });
  const context = { text, tokens: [...text].length };
  const tokens = [...`${text}\n${record.question}\n`];
  const prompt = {
    cells: toCells(tokens),
    tokens: tokens.length,
    differs: [0, context.tokens + 1] as [number, number],
  };
  return { teacher, rollout, context, prompt, values: new DataView(out.buffer), top: null };
}

type Asked = { teacher: string; rollout: number; text: string; question?: string; sequence: number };

/** `mute`: a kernel that never answers. */
export function liveModel(state: Record<string, unknown>, { delay = 120, mute = false } = {}): StaticModel {
  const model = staticModel(state);
  const heard = new Set<(...args: unknown[]) => void>();
  const scores = state.scores as ScoresTrait;
  const { rollouts } = scores.meta;
  /** Newest sequence by teacher and question; a job whose number is no longer here ends. */
  const newest = new Map<string, number>();
  const entries = (): LiveEntry[] => (model.get("live") as LiveTrait).entries;
  const job = (change: Partial<JobTrait>): void => model.set("job", { ...(model.get("job") as JobTrait), ...change });
  const others = (teacher: string, question: string): LiveEntry[] =>
    entries().filter((e) => e.teacher !== teacher || rollouts[e.rollout].question !== question);

  async function score({ teacher, rollout, text, sequence }: Asked, question: string): Promise<void> {
    const rest = rollouts.flatMap((r, i) => (r.question === question && i !== rollout ? [i] : []));
    const total = 1 + rest.length;
    for (const [done, index] of [rollout, ...rest].entries()) {
      job({ state: "running", teacher, question, done, total, seconds: done * 0.1 });
      await wait(delay);
      if (newest.get(teacher + question) !== sequence) return;
      const kept = entries().filter((e) => e.teacher !== teacher || e.rollout !== index);
      model.set("live", { entries: [...kept, rescore(scores, teacher, index, text)], vocab: {} });
    }
    job({ state: "done", done: total, seconds: 0.41 });
  }

  /** The result; what goes on after it is `after`'s. */
  function handle(method: string, asked: Asked): { result: object; after?: () => void } {
    const { teacher, rollout, text, sequence } = asked;
    const question = asked.question ?? rollouts[rollout].question;
    const place = teacher + question;
    if (method === "cancel_job") {
      const running = model.get("job") as JobTrait;
      const cancelled = running.state === "running" && running.teacher === teacher && running.question === question;
      if (cancelled) job({ state: "cancelled" });
      if (cancelled) newest.set(place, (newest.get(place) ?? 0) + 0.5);
      return { result: { cancelled } };
    }
    if (sequence < (newest.get(place) ?? 0)) return { result: { superseded: true } };
    newest.set(place, sequence);
    if (method === "reset_context") {
      model.set("live", { entries: others(teacher, question), vocab: {} });
      job({ state: "idle" });
      return { result: {} };
    }
    if (text.length > 200)
      throw new Error(
        `context has ${text.length} tokens and the response ${rollouts[rollout].length}; the model takes 256. Shorten the context by ${text.length - 220} tokens.`,
      );
    return { result: {}, after: () => void score(asked, question) };
  }

  async function receive(message: RpcRequest | RpcCancel): Promise<void> {
    if (message.kind === "cancel" || mute) return;
    await wait(delay);
    const answer = (body: object): void => {
      for (const hear of heard) hear({ kind: "response", id: message.id, ...body }, []);
    };
    try {
      const { result, after } = handle(message.method, message.params as Asked);
      answer({ ok: true, result });
      after?.();
    } catch (error) {
      answer({ ok: false, error: { type: "ContextTooLongError", message: (error as Error).message } });
    }
  }

  return {
    ...model,
    on: (event, listener) => (event === "msg:custom" ? void heard.add(listener) : model.on(event, listener)),
    off: (event, listener) =>
      event === "msg:custom" && listener ? void heard.delete(listener) : model.off(event, listener),
    send: ((content: RpcRequest | RpcCancel) => void receive(content)) as () => void,
  };
}
