import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeScores } from "../dev/fixture";
import { createContextSession, LOST_MS, PAUSE_MS, type Place, SLOW_MS } from "../src/model/context_session";
import type { LiveEntry } from "../src/model/contract";
import { Dataset } from "../src/model/dataset";
import { type Rpc, RpcError } from "../src/model/rpc";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Call {
  method: string;
  params: Record<string, unknown>;
  signal: AbortSignal;
  settle(error?: Error, result?: Record<string, unknown>): void;
}

function start() {
  const calls: Call[] = [];
  const rpc: Rpc = {
    request: (method, params, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        const settle: Call["settle"] = (error, result = {}) => (error ? reject(error) : resolve(result));
        calls.push({ method, params, signal, settle });
      }),
  };
  const life = new AbortController();
  return { calls, life, rpc, session: createContextSession(rpc, life.signal, () => {}) };
}

const place = (teacher = "T", question = "q", rollout = 1): Place => ({ teacher, question, rollout });
const T = place();
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

it("says that an edit may come, and does not mind being refused", async () => {
  const { calls, session: s } = start();
  s.prepare(T);
  expect(calls.map(({ method, params }) => [method, params])).toEqual([
    ["prepare_context", { teacher: "T", rollout: 1 }],
  ]);
  calls[0].settle(new RpcError("InvalidInputError", "only reads"));
  await pass(0);
  expect(s.draft(T)).toEqual({ text: null, phase: "rest", error: null });
});

describe("an edit", () => {
  it("waits for a pause, is sent once, and the newest wins", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    s.edit(T, "ab");
    expect(s.draft(T)).toMatchObject({ text: "ab", phase: "typing" });
    await pass(PAUSE_MS);
    expect(calls.map((c) => c.params)).toEqual([
      { teacher: "T", rollout: 1, text: "ab", view: expect.any(String), sequence: 1 },
    ]);
    s.edit(T, "abc");
    expect(calls[0].signal.aborted).toBe(true);
    await pass(PAUSE_MS);
    calls[1].settle();
    await pass(0);
    expect(s.draft(T)).toEqual({ text: "abc", phase: "rest", error: null });
  });

  it("carries its view and a number that rises over all places, resets among them", async () => {
    const { calls, session: s, rpc, life } = start();
    s.edit(T, "a");
    await pass(PAUSE_MS);
    s.edit(place("U"), "b");
    await pass(PAUSE_MS);
    s.reset(T);
    expect(calls.map((c) => [c.method, c.params.sequence])).toEqual([
      ["set_context", 1],
      ["set_context", 2],
      ["reset_context", 3],
    ]);
    expect(new Set(calls.map((c) => c.params.view)).size).toBe(1);
    const other = createContextSession(rpc, life.signal, () => {});
    other.reset(T);
    expect(calls[3].params).toMatchObject({ sequence: 1 });
    expect(calls[3].params.view).not.toBe(calls[0].params.view);
  });

  it("takes an answer of superseded as an answer, and keeps the text", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    await pass(PAUSE_MS);
    calls[0].settle(undefined, { superseded: true });
    await pass(0);
    expect(s.draft(T)).toEqual({ text: "a", phase: "rest", error: null });
  });

  it("leaves those of other teachers and questions on their way", async () => {
    const { calls, session: s } = start();
    s.edit(T, "for T");
    await pass(PAUSE_MS);
    s.edit(place("U"), "for U");
    s.edit(place("T", "other", 5), "for T, other question");
    expect(s.draft(T)).toEqual({ text: "for T", phase: "sent", error: null });
    await pass(PAUSE_MS);
    expect(calls.map((c) => [c.params.teacher, c.params.text, c.signal.aborted])).toEqual([
      ["T", "for T", false],
      ["U", "for U", false],
      ["T", "for T, other question", false],
    ]);
    calls[0].settle(new RpcError("ContextTooLongError", "too long"));
    await pass(0);
    expect(s.draft(T)).toEqual({ text: "for T", phase: "failed", error: "too long" });
    expect(s.draft(place("U")).phase).toBe("sent");
  });

  it("belongs to the question, not to the rollout; without a question to the rollout", () => {
    const { session: s } = start();
    s.edit(place("T", "q", 1), "a");
    expect(s.draft(place("T", "q", 2)).text).toBe("a");
    s.edit(place("T", "", 1), "b");
    expect(s.draft(place("T", "", 2)).text).toBeNull();
  });

  it("is not sent after the view has ended", async () => {
    const { calls, life, session: s } = start();
    s.edit(T, "a");
    life.abort();
    await pass(5000);
    expect(calls).toHaveLength(0);
  });
});

describe("a draft", () => {
  const scores = makeScores();
  const { question } = scores.meta.rollouts[0];
  const teacher = "Self + answer";
  const here = place(teacher, question, 0);
  const same = scores.meta.rollouts.flatMap((r, i) => (r.question === question ? [i] : []));
  const planes = scores.meta.planes.filter((p) => p.teacher === teacher).length;
  const entry = (rollout: number, text: string): LiveEntry => ({
    teacher,
    rollout,
    context: { text, tokens: 1 },
    prompt: { cells: { starts: [0], texts: [text], kinds: "t" }, tokens: 1, differs: null },
    values: new DataView(new ArrayBuffer(4 * planes * scores.meta.rollouts[rollout].length)),
    top: null,
  });
  const read = (rollouts: number[], text: string): Dataset =>
    Dataset.read(scores, { entries: rollouts.map((i) => entry(i, text)), vocab: {} });

  it("is kept when Python refuses it, and dropped when the whole question is scored under it", async () => {
    const { calls, session: s } = start();
    s.edit(here, "new");
    await pass(PAUSE_MS);
    calls[0].settle(new RpcError("ContextTooLongError", "300 tokens, limit 256"));
    await pass(0);
    expect(s.draft(here)).toEqual({ text: "new", phase: "failed", error: "300 tokens, limit 256" });
    expect(same.length).toBeGreaterThan(1);
    s.settle(read(same, "older"));
    s.settle(read(same.slice(1), "new"));
    expect(s.draft(here).text).toBe("new");
    s.settle(read(same, "new"));
    expect(s.draft(here)).toEqual({ text: null, phase: "rest", error: null });
  });

  it("outlives scores that do not have its question", () => {
    const { session: s } = start();
    s.edit(place(teacher, "gone", 0), "new");
    s.cancel(place(teacher, "gone", 0), null);
    s.settle(read(same, "new"));
    expect(s.draft(place(teacher, "gone", 0)).text).toBe("new");
  });

  it("is dropped by a reset", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    s.reset(T);
    await pass(PAUSE_MS);
    expect(calls.map((c) => c.method)).toEqual(["reset_context"]);
    expect(s.draft(T).text).toBeNull();
  });
});

describe("cancel", () => {
  it("names the running job, and leaves what waits elsewhere", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    await pass(PAUSE_MS);
    s.cancel(T, { teacher: "U", question: "q" });
    expect(calls[1]).toMatchObject({ method: "cancel_job", params: { teacher: "U", question: "q" } });
    expect(calls[0].signal.aborted).toBe(false);
    s.cancel(T, { teacher: "T", question: "q" });
    expect(calls[2].params).toEqual({ teacher: "T", question: "q" });
    expect(calls[0].signal.aborted).toBe(true);
    expect(s.draft(T)).toEqual({ text: "a", phase: "rest", error: null });
  });

  it("asks for nothing where nothing runs", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    s.cancel(T, null);
    await pass(PAUSE_MS);
    expect(calls).toHaveLength(0);
    expect(s.draft(T).text).toBe("a");
  });
});

describe("a kernel that does not answer", () => {
  it("is said to be busy, and waited for", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    await pass(PAUSE_MS + SLOW_MS);
    expect(s.draft(T).phase).toBe("queued");
    calls[0].settle();
    await pass(0);
    expect(s.draft(T).phase).toBe("rest");
    await pass(10 * LOST_MS);
    expect(calls).toHaveLength(1);
  });

  it("is said to be lost after long, and asked again, ever more seldom", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    await pass(PAUSE_MS + LOST_MS);
    expect(s.draft(T)).toEqual({ text: "a", phase: "lost", error: null });
    await pass(2 * LOST_MS + 4 * LOST_MS);
    expect(calls.map((c) => c.params.sequence)).toEqual([1, 2, 3, 4]);
    expect(calls.map((c) => c.signal.aborted)).toEqual([true, true, true, false]);
    expect(s.draft(T).phase).toBe("lost");
    calls[3].settle();
    await pass(0);
    expect(s.draft(T).phase).toBe("rest");
  });

  it("is sent what was typed last, also before the pause is over", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    await pass(PAUSE_MS + LOST_MS);
    s.edit(T, "ab");
    s.resend(T);
    expect(calls.at(-1)).toMatchObject({ method: "set_context", params: { text: "ab" } });
    s.edit(place("U"), "never sent yet");
    s.resend(place("U"));
    expect(calls.at(-1)).toMatchObject({ method: "set_context", params: { text: "never sent yet" } });
    const { length } = calls;
    await pass(PAUSE_MS);
    expect(calls).toHaveLength(length);
  });

  it("is asked again at once when the reader wants it", async () => {
    const { calls, session: s } = start();
    s.edit(T, "a");
    await pass(PAUSE_MS + LOST_MS);
    s.resend(T);
    expect(s.draft(T)).toMatchObject({ text: "a", phase: "sent" });
    expect(calls.at(-1)?.params).toMatchObject({ text: "a", sequence: 3 });
    s.cancel(T, null);
    await pass(10 * LOST_MS);
    expect(calls).toHaveLength(3);
  });
});
