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

export function liveModel(state: Record<string, unknown>, delay = 120): StaticModel {
  const model = staticModel(state);
  const heard = new Set<(...args: unknown[]) => void>();
  const scores = state.scores as ScoresTrait;
  let newest = "";
  const job = (change: Partial<JobTrait>): void => model.set("job", { ...(model.get("job") as JobTrait), ...change });

  async function handle(message: RpcRequest | RpcCancel): Promise<void> {
    if (message.kind === "cancel") return;
    newest = message.id;
    await wait(delay);
    const { teacher, rollout, text } = message.params as { teacher: string; rollout: number; text: string };
    const answer = (body: object): boolean =>
      [...heard].map((hear) => hear({ kind: "response", id: message.id, ...body }, [])).length > 0;
    if (message.method === "cancel_job") {
      job({ state: "cancelled" });
      return void answer({ ok: true, result: {} });
    }
    const others = ((model.get("live") as LiveTrait).entries ?? []).filter(
      (e) => e.teacher !== teacher || e.rollout !== rollout,
    );
    if (message.method === "reset_context") {
      model.set("live", { entries: others, vocab: {} });
      return void answer({ ok: true, result: {} });
    }
    if (text.length > 200) {
      const tokens = text.length;
      return void answer({
        ok: false,
        error: {
          type: "ContextTooLongError",
          message: `context has ${tokens} tokens and the response ${scores.meta.rollouts[rollout].length}; the model takes 256. Shorten the context by ${tokens - 220} tokens.`,
        },
      });
    }
    answer({ ok: true, result: {} });
    for (let done = 0; done <= 4; done++) {
      if (newest !== message.id) return;
      job({ state: "running", teacher, done, total: 4, seconds: done * 0.1 });
      await wait(delay);
    }
    model.set("live", { entries: [...others, rescore(scores, teacher, rollout, text)], vocab: {} });
    job({ state: "done", seconds: 0.41 });
  }

  return {
    ...model,
    on: (event, listener) => (event === "msg:custom" ? void heard.add(listener) : model.on(event, listener)),
    off: (event, listener) =>
      event === "msg:custom" && listener ? void heard.delete(listener) : model.off(event, listener),
    send: ((content: RpcRequest | RpcCancel) => void handle(content)) as () => void,
  };
}
