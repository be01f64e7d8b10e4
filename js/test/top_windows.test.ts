import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeScores } from "../dev/fixture";
import type { LiveEntry, ScoresTrait, TopBlock, WireRollout } from "../src/model/contract";
import { Dataset } from "../src/model/dataset";
import { type Answer, type BinaryRpc, RpcError } from "../src/model/rpc";
import { BLOCK, LOST_MS, PATIENCE_MS, SLOW_MS, TopWindows, TRIES } from "../src/model/top_windows";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const T = "Self + solution";
const whole = makeScores();
const sent = Dataset.read(whole, null);
const K = whole.meta.top_k;

/** The fixture's tokens as one long rollout, so that there are several blocks. */
function asked(generation = 1): ScoresTrait {
  const { meta } = whole;
  const length = meta.tokens;
  const cells = {
    starts: Array.from({ length }, (_, i) => i),
    texts: Array(length).fill("x"),
    kinds: "t".repeat(length),
  };
  const rollouts: WireRollout[] = [{ ...meta.rollouts[0], offset: 0, length, cells }];
  return {
    ...whole,
    meta: { ...meta, generation, rollouts, vocab: {}, top_source: "on_request" },
    student_top: null,
    teacher_top: {},
  };
}

interface Call {
  params: Record<string, number | string>;
  signal: AbortSignal;
  answer(change?: object): Promise<void>;
  refuse(error: Error): Promise<void>;
}

const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

/** What Python would give: cut out of the whole buffers. */
function cut(params: Call["params"]): Answer {
  const [start, stop] = [Number(params.start), Number(params.stop)];
  const part = (view: DataView): DataView => new DataView(view.buffer.slice(4 * K * start, 4 * K * stop));
  const own = whole.student_top!;
  const top = whole.teacher_top[String(params.teacher)];
  const parts = [own.ids, own.student, top.ids, top.teacher, top.student, top.at_student];
  return {
    result: { start, count: stop - start, k: K, vocab: { 3: ["three", "t"] } } as TopBlock,
    buffers: parts.map(part),
  };
}

function start() {
  const calls: Call[] = [];
  const fetch: BinaryRpc["fetch"] = (_, params, signal) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      const given = params as Call["params"];
      const answer = (change = {}): Promise<void> => {
        const full = cut(given);
        resolve({ ...full, result: { ...full.result, ...change } });
        return settled() as Promise<void>;
      };
      const refuse = (error: Error): Promise<void> => {
        reject(error);
        return settled() as Promise<void>;
      };
      calls.push({ params: given, signal, answer, refuse });
    });
  const life = new AbortController();
  const changed = vi.fn();
  const kernel = { ended: false };
  const tops = new TopWindows({ fetch, request: async () => ({}) }, life.signal, changed, () => kernel.ended);
  const data = Dataset.read(asked(), null);
  const look = async (token: number, of = data) => {
    const answer = tops.of(of).at(0, token, T);
    await settled();
    return answer;
  };
  return { calls, life, changed, tops, data, look, kernel };
}

const starts = (calls: Call[]): unknown[] => calls.map(({ params }) => params.start);

/** The rows of the whole, by the token's place in the rollout it was made for. */
function rowsOf(token: number) {
  const index = sent.meta.rollouts.findIndex((r) => token < r.offset + r.length);
  return sent.top(index, token - sent.rollout(index).offset, T);
}

describe("the likeliest tokens", () => {
  it("come with the scores, are left out, or were not recorded", () => {
    const { tops, calls } = start();
    const here = tops.of(sent).at(1, 3, T);
    expect(here.state === "here" && here.rows).toEqual(sent.top(1, 3, T));
    const page = asked();
    page.meta.top_source = "left_out";
    expect(tops.of(Dataset.read(page, null)).at(0, 0, T)).toEqual({ state: "left_out" });
    page.meta.top_k = 0;
    expect(tops.of(Dataset.read({ ...page }, null)).at(0, 0, T)).toEqual({ state: "absent" });
    expect(calls).toEqual([]);
  });

  it("are fetched by the block, equal to the whole, and the next block ahead in the reader's direction", async () => {
    const { calls, changed, data, tops, look } = start();
    const before = tops.of(data);
    expect(await look(BLOCK + 5)).toEqual({ state: "fetching" });
    const block = { generation: 1, teacher: T, rollout: 0, version: 0, start: BLOCK, stop: 2 * BLOCK };
    expect(calls.map((call) => call.params)).toEqual([block]);
    await calls[0].answer();
    expect(changed).toHaveBeenCalledTimes(1);
    expect(tops.of(data)).not.toBe(before);
    for (const token of [BLOCK, BLOCK + 5, 2 * BLOCK - 1]) {
      const found = await look(token);
      expect(found.state === "here" && found.rows).toEqual(rowsOf(token));
      expect(found.state === "here" && found.look(3)).toEqual(["three", "t"]);
    }
    expect(starts(calls)).toEqual([BLOCK, 2 * BLOCK]);
    await calls[1].answer();
    expect(changed).toHaveBeenCalledTimes(1); // what nobody looks at changes nothing
    await look(BLOCK + 3);
    expect(starts(calls)).toEqual([BLOCK, 2 * BLOCK, 0]); // and now backwards
  });

  it("ends a block at the rollout's end", async () => {
    const { calls, data, look } = start();
    const { length } = data.rollout(0);
    await look(length - 1);
    expect(calls[0].params.stop).toBe(length);
    await calls[0].answer();
    const found = await look(length - 1);
    expect(found.state === "here" && found.rows).toEqual(rowsOf(length - 1));
    expect(starts(calls)).toHaveLength(1);
  });
});

describe("a window that moves on", () => {
  it("gives up the request before it, and what comes of it later is not shown", async () => {
    const { calls, changed, look } = start();
    await look(0);
    await look(BLOCK);
    await look(2 * BLOCK);
    expect(starts(calls)).toEqual([0]); // one at a time
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    expect(calls[0].signal.aborted).toBe(true);
    expect(starts(calls)).toEqual([0, 2 * BLOCK]);
    await calls[0].answer();
    expect(changed).not.toHaveBeenCalled();
    expect(await look(2 * BLOCK)).toEqual({ state: "fetching" });
    await calls[1].answer();
    const found = await look(2 * BLOCK);
    expect(found.state === "here" && found.rows).toEqual(rowsOf(2 * BLOCK));
  });

  it("drops what was asked of other scores, and asks anew", async () => {
    const { calls, look } = start();
    await look(0);
    const next = Dataset.read(asked(2), null);
    await look(0, next);
    expect(calls[0].signal.aborted).toBe(true);
    expect(calls.map((call) => call.params.generation)).toEqual([1, 2]);
  });

  it("asks again a little later where Python has newer scores already", async () => {
    const { calls, changed, look } = start();
    await look(0);
    await calls[0].answer({ superseded: true });
    expect(changed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    expect(starts(calls)).toEqual([0, 0]);
  });

  it("asks a few times at most, ever more seldom, and then says why there is nothing", async () => {
    const { calls, changed, look } = start();
    await look(0);
    for (let tries = 0; tries < TRIES; tries++) {
      await calls[tries].answer({ superseded: true });
      await vi.advanceTimersByTimeAsync(PATIENCE_MS * 2 ** tries - 1);
      expect(calls).toHaveLength(tries + 1);
      await vi.advanceTimersByTimeAsync(1);
      expect(calls).toHaveLength(tries + 2);
    }
    expect(changed).not.toHaveBeenCalled();
    await calls[TRIES].answer({ superseded: true });
    expect(changed).toHaveBeenCalledTimes(1);
    const found = await look(0);
    expect(found.state === "failed" && found.message).toContain("newer scores");
    // The block ahead is no better off; after it there is silence.
    const first = calls.length;
    for (let i = first - 1; i < calls.length; i++) {
      await calls[i].answer({ superseded: true });
      await vi.advanceTimersByTimeAsync(PATIENCE_MS * 2 ** TRIES);
    }
    expect(starts(calls.slice(first - 1))).toEqual(Array(TRIES + 1).fill(BLOCK));
    await vi.advanceTimersByTimeAsync(10 * LOST_MS);
    expect(calls).toHaveLength(2 * TRIES + 2);
    const next = Dataset.read(asked(2), null);
    expect(await look(0, next)).toEqual({ state: "fetching" });
    await calls[2 * TRIES + 2].answer();
    expect((await look(0, next)).state).toBe("here");
  });

  it("does not keep a reader waiting elsewhere for newer scores", async () => {
    const { calls, look } = start();
    await look(0);
    for (let tries = 0; tries < 3; tries++) {
      await calls[tries].answer({ superseded: true });
      await vi.advanceTimersByTimeAsync(PATIENCE_MS * 2 ** tries);
    }
    await calls[3].answer({ superseded: true });
    await look(2 * BLOCK);
    expect(starts(calls)).toEqual([0, 0, 0, 0, 2 * BLOCK]);
  });

  it("asks for an edit by its version", async () => {
    const { calls, data, look } = start();
    await look(0);
    await calls[0].answer();
    const { meta } = data;
    const planes = meta.planes.filter((p) => p.teacher === T).length;
    const values = new DataView(new ArrayBuffer(4 * planes * meta.tokens));
    const prompt = { cells: { starts: [0], texts: ["x"], kinds: "t" }, tokens: 1, differs: null };
    const entry = { teacher: T, rollout: 0, context: { text: "", tokens: 0 }, prompt, values, top: null };
    const at = (version: number): LiveEntry => ({ ...entry, version });
    const lives = [4, 7].map((version) => ({ entries: [at(version)], vocab: {} }));
    const edited = Dataset.read(asked(), lives, null);
    expect(edited.version(0, T)).toBe(7); // the newer of two, whichever trait it lies in
    expect(Dataset.read(asked(), lives.reverse(), null).version(0, T)).toBe(7);
    expect(await look(0, edited)).toEqual({ state: "fetching" });
    expect(calls.at(-1)?.params.version).toBe(7);
  });
});

describe("a kernel", () => {
  it("that is busy is not asked again and again, and fills in when it is free", async () => {
    const { calls, changed, look } = start();
    await look(0);
    await vi.advanceTimersByTimeAsync(SLOW_MS);
    expect(changed).toHaveBeenCalledTimes(1);
    for (let token = 0; token < 3 * BLOCK; token += 50) {
      expect(await look(token)).toEqual({ state: "busy" });
      await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    }
    expect(calls).toHaveLength(1);
    const last = 3 * BLOCK - 3;
    await look(last);
    await calls[0].answer();
    expect(starts(calls)).toEqual([0, 2 * BLOCK]);
    expect(await look(last)).toEqual({ state: "fetching" });
    await calls[1].answer();
    expect((await look(last)).state).toBe("here");
  });

  it("is asked once more where no answer comes for long", async () => {
    const { calls, look } = start();
    await look(0);
    await vi.advanceTimersByTimeAsync(LOST_MS);
    expect(starts(calls)).toEqual([0, 0]);
    await vi.advanceTimersByTimeAsync(2 * LOST_MS - 1);
    expect(calls).toHaveLength(2);
    await calls[1].answer();
    expect((await look(0)).state).toBe("here");
  });

  it("that refuses says why, once, and is tried again elsewhere", async () => {
    const { calls, look } = start();
    await look(0);
    await calls[0].refuse(new RpcError("Disconnected", "run its cell again"));
    expect(await look(0)).toEqual({ state: "failed", message: "run its cell again" });
    await calls[1].refuse(new RpcError("Disconnected", "run its cell again")); // the block ahead
    await look(1);
    expect(starts(calls)).toEqual([0, BLOCK]);
    expect(await look(BLOCK)).toEqual({ state: "fetching" });
    expect(starts(calls)).toEqual([0, BLOCK, BLOCK]);
  });

  it("that has ended is sent nothing more, and what came before it ended is still shown", async () => {
    const { calls, data, tops, kernel, look } = start();
    await look(0);
    await calls[0].answer();
    await look(BLOCK);
    const before = tops.of(data);
    kernel.ended = true;
    expect(tops.of(data)).not.toBe(before); // views compare by identity
    expect(await look(BLOCK)).toEqual({ state: "ended" });
    expect((await look(0)).state).toBe("here");
    await vi.advanceTimersByTimeAsync(10 * LOST_MS);
    expect(await look(2 * BLOCK)).toEqual({ state: "ended" });
    expect(starts(calls)).toEqual([0, BLOCK]);
  });

  it("is left alone when the view ends", async () => {
    const { calls, life, look } = start();
    await look(0);
    life.abort();
    expect(calls[0].signal.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(10 * LOST_MS);
    expect(calls).toHaveLength(1);
  });
});
