import { describe, expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import { CodecError, float32, uint32 } from "../src/model/codec";
import type { LiveEntry, LiveTrait, RpcCancel, RpcRequest } from "../src/model/contract";
import { Dataset } from "../src/model/dataset";
import { createRpc } from "../src/model/rpc";

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

  const planes = scores.meta.planes.filter((p) => p.teacher === "Self + answer").length;
  const good = (value = -5): LiveEntry => liveEntry("Self + answer", 2, value, planes, data.rollout(2).length);

  it("passes over an entry that does not fit these scores", () => {
    const short = { ...good(), values: new DataView(new ArrayBuffer(12)) };
    const top = { ids: short.values, teacher: short.values, student: short.values, at_student: short.values };
    for (const entry of [short, { ...good(), teacher: "gone" }, { ...good(), rollout: 99 }, { ...good(), top }]) {
      const read = Dataset.read(scores, { entries: [entry, liveEntry("Self + answer", 1, 1, planes, 20)], vocab: {} });
      expect(read.values(2, "advantage", "Self + answer")).toEqual(data.values(2, "advantage", "Self + answer"));
      expect(read.edited(1, "Self + answer")).toBe(true);
    }
  });

  it("applies edits of the same generation only, whichever trait comes first", () => {
    const at = (generation?: number): typeof scores => ({ ...scores, meta: { ...scores.meta, generation } });
    const live = (generation?: number): LiveTrait => ({ entries: [good()], vocab: { 999: ["x", "t"] }, generation });
    const edited = (s?: number, l?: number): boolean => Dataset.read(at(s), live(l)).edited(2, "Self + answer");
    expect([edited(2, 2), edited(), edited(2), edited(undefined, 2)]).toEqual([true, true, true, true]);
    expect([edited(2, 1), edited(1, 2)]).toEqual([false, false]);
    expect(Dataset.read(at(1), live(2)).vocab(999)).toEqual(["#999", "p"]);
  });

  it("knows what an edit has put beyond the scale's ends", () => {
    const scale = data.signal("advantage")!;
    const beyond = (value: number): object => Dataset.read(scores, { entries: [good(value)], vocab: {} }).beyond(scale);
    expect(data.beyond(scale)).toEqual({ below: false, above: false });
    expect(beyond(-11)).toEqual({ below: true, above: false });
    expect(beyond(Number.POSITIVE_INFINITY)).toEqual({ below: false, above: true });
    expect(beyond(10)).toEqual({ below: false, above: false });
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
  it("says what to do where the kernel is gone", async () => {
    const closed = {
      send() {
        throw new Error("Cannot send");
      },
      listen: () => () => {},
    };
    const rpc = createRpc(closed, new AbortController().signal);
    const asked = rpc.request("reset_context", {}, new AbortController().signal);
    await expect(asked).rejects.toThrow("run its cell again");
  });

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
