import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeScores } from "../dev/fixture";
import { CodecError, float32, uint32 } from "../src/model/codec";
import { createContextSession, PAUSE_MS, SLOW_MS } from "../src/model/context_session";
import type { LiveEntry, RpcCancel, RpcRequest } from "../src/model/contract";
import { Dataset } from "../src/model/dataset";
import { createRpc, type Rpc, RpcError } from "../src/model/rpc";

describe("codec", () => {
  it("copies where bytes are not aligned, and says what it expected", () => {
    const bytes = new Uint8Array(9);
    new DataView(bytes.buffer).setFloat32(1, Number.NEGATIVE_INFINITY, true);
    new DataView(bytes.buffer).setFloat32(5, Number.NaN, true);
    const read = float32(new DataView(bytes.buffer, 1, 8), 2, "values");
    expect(read[0]).toBe(Number.NEGATIVE_INFINITY);
    expect(read[1]).toBeNaN();
    expect(() => uint32(new DataView(bytes.buffer), 2, "ids")).toThrow(CodecError);
    expect(() => uint32(new DataView(bytes.buffer), 2, "ids")).toThrow("ids: 9 bytes found, 8 expected");
  });
});

function liveEntry(teacher: string, rollout: number, value: number, planes: number, length: number): LiveEntry {
  const values = new Float32Array(planes * length).fill(value);
  const prompt = { cells: { starts: [0], texts: ["new"], kinds: "t" }, tokens: 1, differs: null };
  return {
    teacher,
    rollout,
    context: { text: "new", tokens: 1 },
    prompt,
    values: new DataView(values.buffer),
    top: null,
  };
}

describe("dataset", () => {
  const scores = makeScores();
  const data = Dataset.read(scores, null);

  it("reads a plane by signal and teacher, the student's own under any", () => {
    const { length } = data.rollout(1);
    expect(data.values(1, "advantage", "Teacher 0.5M")).toHaveLength(length);
    expect(data.values(1, "student_entropy", "Other style")).toEqual(data.values(1, "student_entropy", "Teacher 0.5M"));
    expect(data.values(1, "gradient_alignment", "Teacher 0.5M")).toBeNull();
  });

  it("has both top lists at a token, with each side's view of the other's", () => {
    const top = data.top(1, 3, "Self + solution")!;
    expect(top.student).toHaveLength(8);
    expect(top.student[0].student).toBeGreaterThanOrEqual(top.student[1].student);
    expect(top.student[0].teacher).not.toBeNaN();
    expect(data.vocab(0)).toEqual(["⟨eos⟩", "p"]);
    expect(data.vocab(12345)).toEqual(["#12345", "p"]);
  });

  it("lays an edited context over one rollout and teacher, and nothing else", () => {
    const planes = scores.meta.planes.filter((p) => p.teacher === "Self + answer").length;
    const entry = liveEntry("Self + answer", 2, -5, planes, data.rollout(2).length);
    const next = Dataset.read(scores, { entries: [entry], vocab: {} }, data);
    expect(next).not.toBe(data);
    expect(next.rollout(2)).toBe(data.rollout(2));
    expect([...next.values(2, "advantage", "Self + answer")!].every((v) => v === -5)).toBe(true);
    expect(next.stats(2, "advantage", "Self + answer").mean).toBe(-5);
    expect(next.stats(1, "advantage", "Self + answer")).toEqual(data.stats(1, "advantage", "Self + answer"));
    expect(next.values(2, "advantage", "Self + solution")).toEqual(data.values(2, "advantage", "Self + solution"));
    expect(next.values(2, "student_entropy", "Self + answer")).toEqual(
      data.values(2, "student_entropy", "Self + answer"),
    );
    expect(next.context(2, "Self + answer")?.text).toBe("new");
    expect(next.teacherPrompt(2, "Self + answer")?.cells.texts).toEqual(["new"]);
    expect(next.edited(2, "Self + answer")).toBe(true);
  });
});

function wire() {
  const sent: (RpcRequest | RpcCancel)[] = [];
  const heard = new Set<(content: unknown) => void>();
  const life = new AbortController();
  const channel = {
    send: (content: RpcRequest | RpcCancel) => void sent.push(content),
    listen(receive: (content: unknown) => void) {
      heard.add(receive);
      return () => void heard.delete(receive);
    },
  };
  const answer = (content: object): void => {
    for (const hear of heard) hear({ kind: "response", ...content });
  };
  return { sent, heard, life, answer, rpc: createRpc(channel, life.signal) };
}

describe("rpc", () => {
  it("resolves by id and ignores what is not its own", async () => {
    const { rpc, sent, answer } = wire();
    const waiting = rpc.request("set_context", { text: "a" }, new AbortController().signal);
    answer({ id: "someone else", ok: true, result: { no: 1 } });
    answer({ id: sent[0].id, ok: true, result: { yes: 1 } });
    expect(await waiting).toEqual({ yes: 1 });
  });

  it("rejects with Python's class and text", async () => {
    const { rpc, sent, answer } = wire();
    const waiting = rpc.request("set_context", {}, new AbortController().signal);
    answer({ id: sent[0].id, ok: false, error: { type: "ContextTooLongError", message: "300 > 256" } });
    await expect(waiting).rejects.toMatchObject({
      name: "RpcError",
      type: "ContextTooLongError",
      message: "300 > 256",
    });
  });

  it("cancels on abort, once, and only while waiting", async () => {
    const { rpc, sent, answer } = wire();
    const abort = new AbortController();
    const waiting = rpc.request("set_context", {}, abort.signal);
    abort.abort();
    await expect(waiting).rejects.toThrow();
    expect(sent[1]).toEqual({ kind: "cancel", id: sent[0].id });
    answer({ id: sent[0].id, ok: true, result: {} });
    expect(sent).toHaveLength(2);
  });

  it("rejects what waits when the view ends, and stops listening", async () => {
    const { rpc, heard, life } = wire();
    const waiting = rpc.request("cancel_job", {}, new AbortController().signal);
    life.abort();
    await expect(waiting).rejects.toThrow();
    expect(heard.size).toBe(0);
  });
});

describe("context session", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function session() {
    const calls: {
      method: string;
      params: Record<string, unknown>;
      signal: AbortSignal;
      settle(error?: Error): void;
    }[] = [];
    const rpc: Rpc = {
      request: (method, params, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          calls.push({ method, params, signal, settle: (error) => (error ? reject(error) : resolve({})) });
        }),
    };
    const life = new AbortController();
    return { calls, life, session: createContextSession(rpc, life.signal, () => {}) };
  }

  it("waits for a pause, sends once, and the newest wins", async () => {
    const { calls, session: s } = session();
    s.edit("T", 1, "a");
    s.edit("T", 1, "ab");
    expect(s.draft("T", 1)).toMatchObject({ text: "ab", phase: "typing" });
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    expect(calls.map((c) => c.params)).toEqual([{ teacher: "T", rollout: 1, text: "ab" }]);
    s.edit("T", 1, "abc");
    expect(calls[0].signal.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    calls[1].settle();
    await vi.advanceTimersByTimeAsync(0);
    expect(s.draft("T", 1)).toEqual({ text: "abc", phase: "rest", error: null });
  });

  it("says when the kernel does not answer, and keeps waiting", async () => {
    const { calls, session: s } = session();
    s.edit("T", 1, "a");
    await vi.advanceTimersByTimeAsync(PAUSE_MS + SLOW_MS);
    expect(s.draft("T", 1).phase).toBe("queued");
    calls[0].settle();
    await vi.advanceTimersByTimeAsync(0);
    expect(s.draft("T", 1).phase).toBe("rest");
  });

  it("keeps the text when Python refuses it, and drops it when Python has it", async () => {
    const { calls, session: s } = session();
    s.edit("T", 1, "too long");
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    calls[0].settle(new RpcError("ContextTooLongError", "300 tokens, limit 256"));
    await vi.advanceTimersByTimeAsync(0);
    expect(s.draft("T", 1)).toEqual({ text: "too long", phase: "failed", error: "300 tokens, limit 256" });
    s.settle("T", 1, "older");
    expect(s.draft("T", 1).text).toBe("too long");
    s.settle("T", 1, "too long");
    expect(s.draft("T", 1).text).toBeNull();
    expect(s.draft("T", 2).text).toBeNull();
  });

  it("cancels a running job, keeping the text, and resets", async () => {
    const { calls, session: s } = session();
    s.edit("T", 1, "a");
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    s.cancel("T", 1, true);
    expect(calls[0].signal.aborted).toBe(true);
    expect(calls[1].method).toBe("cancel_job");
    expect(s.draft("T", 1).text).toBe("a");
    s.reset("T", 1);
    expect(calls[2]).toMatchObject({ method: "reset_context", params: { teacher: "T", rollout: 1 } });
    expect(s.draft("T", 1).text).toBeNull();
  });

  it("sends nothing after the view has ended", async () => {
    const { calls, life, session: s } = session();
    s.edit("T", 1, "a");
    life.abort();
    await vi.advanceTimersByTimeAsync(5000);
    expect(calls).toHaveLength(0);
  });
});
