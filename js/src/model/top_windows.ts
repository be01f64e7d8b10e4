/**
 * The likeliest tokens at a place: from the scores where they came with them, otherwise from Python, a block of one rollout and teacher at
 * a time, kept for a while, and the next block in the reader's direction ahead of need. Python's half is `wire/top_windows.py`.
 */
import { CodecError } from "./codec";
import type { RpcParams, ScoresMeta, TopBlock } from "./contract";
import type { Dataset } from "./dataset";
import { type Answer, type BinaryRpc, RpcError } from "./rpc";
import { readStudentTop, readTeacherTop, type StudentTop, type TeacherTop, type TopRows, topRows } from "./top";

export type Look = [text: string, kind: string];

/** What there is to say: the rows; not recorded; not in this page; on their way; waiting for the kernel, or it has ended; refused. */
export type TopAnswer =
  | { state: "here"; rows: TopRows; look(id: number): Look }
  | { state: "absent" | "left_out" | "fetching" | "busy" | "ended" }
  | { state: "failed"; message: string };

/** Another object whenever another answer may be had. */
export interface Tops {
  at(rollout: number, token: number, teacher: string): TopAnswer;
}

/** Tokens of one request, and how many of them are kept: some 60 KB each. */
export const BLOCK = 256;
export const KEPT = 64;
/** A request for what is out of sight is given up after so long; without any answer for SLOW_MS the kernel counts as busy, and nothing more is sent. */
export const PATIENCE_MS = 250;
export const SLOW_MS = 1000;
/** After so long it is sent once more, then after twice the time, and so on. */
export const LOST_MS = 20_000;
/** What is older than Python's scores is asked for so often again, after PATIENCE_MS and then twice as long each time. */
export const TRIES = 5;
const OLD = "Python has newer scores than are shown here; if they do not come, run this cell again.";

interface Block {
  start: number;
  student: StudentTop;
  teacher: TeacherTop | null;
  k: number;
  vocab: TopBlock["vocab"];
}

type Want = RpcParams["top_block"] & { key: string };

interface Flight {
  want: Want;
  since: number;
  abort: AbortController;
}

function readBlock({ result, buffers }: Answer, teacher: boolean): Block | null {
  if (result.superseded) return null;
  const { start, count, k, vocab } = result as TopBlock;
  const needed = teacher ? 6 : 2;
  if (buffers.length < needed) throw new CodecError(`top_block: ${buffers.length} buffers found, ${needed} expected`);
  const items = count * k;
  const [ids, student, ...rest] = buffers;
  const [theirs, own, seen, atStudent] = rest;
  const raw = { ids: theirs, teacher: own, student: seen, at_student: atStudent };
  return {
    start,
    student: readStudentTop({ ids, student }, items),
    teacher: teacher ? readTeacherTop(raw, items, "block") : null,
    k,
    vocab,
  };
}

export class TopWindows {
  private readonly blocks = new Map<string, Block>();
  private wanted: Want[] = [];
  private ahead: Want[] = [];
  private collecting = false;
  private flight: Flight | null = null;
  /** Of what is wanted now: elsewhere it is tried anew. */
  private readonly failures = new Map<string, string>();
  /** How often an answer was that there are newer scores. */
  private readonly old = new Map<string, number>();
  private busy = false;
  private timers: ReturnType<typeof setTimeout>[] = [];
  private pause: ReturnType<typeof setTimeout> | undefined;
  private meta: ScoresMeta | null = null;
  private shown: { data: Dataset; over: boolean; tops: Tops } | null = null;
  private last = { rollout: -1, token: -1 };

  constructor(
    private readonly rpc: BinaryRpc,
    private readonly life: AbortSignal,
    private readonly changed: () => void,
    /** Whether the kernel has ended: nothing is sent any more. */
    private readonly ended: () => boolean = () => false,
  ) {
    life.addEventListener("abort", () => this.forget(), { once: true });
  }

  /** The same object until something has come, the data are others, or the kernel has ended. */
  of(data: Dataset): Tops {
    if (this.meta !== data.meta) {
      this.forget();
      this.meta = data.meta;
    }
    const over = this.ended();
    if (this.shown?.data !== data || this.shown.over !== over) {
      this.shown = { data, over, tops: { at: (rollout, token, teacher) => this.at(data, rollout, token, teacher) } };
    }
    return this.shown.tops;
  }

  private at(data: Dataset, rollout: number, token: number, teacher: string): TopAnswer {
    const { top_k, top_source = "sent" } = data.meta;
    if (top_k === 0) return { state: "absent" };
    if (top_source === "sent") {
      const rows = data.top(rollout, token, teacher);
      return rows ? { state: "here", rows, look: (id) => data.vocab(id) } : { state: "absent" };
    }
    if (top_source === "left_out" || this.life.aborted) return { state: "left_out" };
    const want = this.want(data, rollout, token, teacher);
    const block = this.blocks.get(want.key);
    if (block) {
      this.blocks.delete(want.key);
      this.blocks.set(want.key, block); // the latest used is given up last
      const row = token - block.start;
      return {
        state: "here",
        rows: topRows({ student: block.student, row, other: block.teacher, otherRow: row, k: block.k }),
        look: (id) => block.vocab[id] ?? data.vocab(id),
      };
    }
    const message = this.failures.get(want.key);
    if (message !== undefined) return { state: "failed", message };
    return { state: this.ended() ? "ended" : this.busy ? "busy" : "fetching" };
  }

  /** Notes what a reader looks at, and what comes next in their direction; all that is asked for in one turn belongs together. */
  private want(data: Dataset, rollout: number, token: number, teacher: string): Want {
    const { last } = this;
    const step = rollout === last.rollout && token < last.token ? -1 : 1;
    if (rollout !== last.rollout || token !== last.token) this.last = { rollout, token };
    const { length } = data.rollout(rollout);
    const make = (block: number): Want => {
      const version = data.version(rollout, teacher);
      const start = block * BLOCK;
      const generation = data.meta.generation ?? 1;
      const key = [rollout, teacher, version, start].join("\u0000");
      return { key, generation, teacher, rollout, version, start, stop: Math.min(length, start + BLOCK) };
    };
    const block = Math.floor(token / BLOCK);
    const want = make(block);
    if (!this.collecting) this.collect(want);
    this.wanted.push(want);
    const next = block + step;
    if (next >= 0 && next * BLOCK < length) this.ahead.push(make(next));
    return want;
  }

  private collect(first: Want): void {
    if (this.wanted[0]?.key !== first.key) this.anew();
    this.wanted = [];
    this.ahead = [];
    this.collecting = true;
    queueMicrotask(() => {
      this.collecting = false;
      this.pump();
    });
  }

  private pump(): void {
    if (this.life.aborted || this.ended() || this.pause !== undefined) return;
    const all = [...this.wanted, ...this.ahead];
    if (this.flight) {
      if (this.busy || all.some((want) => want.key === this.flight?.want.key)) return;
      const left = this.flight.since + PATIENCE_MS - Date.now();
      if (left > 0) {
        this.later(left);
        return;
      }
      this.end();
    }
    const next = all.find((want) => !this.blocks.has(want.key) && !this.failures.has(want.key));
    if (next) void this.fetch(next, LOST_MS);
  }

  private later(ms: number): void {
    this.pause = setTimeout(() => {
      this.pause = undefined;
      this.pump();
    }, ms);
  }

  private async fetch(want: Want, patience: number): Promise<void> {
    const { key, ...params } = want;
    const flight: Flight = { want, since: Date.now(), abort: new AbortController() };
    this.flight = flight;
    this.timers = [
      setTimeout(() => this.slow(), SLOW_MS),
      setTimeout(() => {
        this.end();
        if (this.ended()) return;
        const still = this.wanted[0] ?? want;
        void this.fetch(still, 2 * patience);
      }, patience),
    ];
    try {
      const answer = await this.rpc.fetch("top_block", params, flight.abort.signal);
      if (this.flight !== flight) return;
      this.settle();
      const block = readBlock(answer, params.teacher !== "");
      if (block) this.keep(key, block);
      else if (this.again(key)) return;
    } catch (error) {
      if (flight.abort.signal.aborted || this.life.aborted) return;
      this.settle();
      this.fail(key, error instanceof RpcError ? error.message : String(error));
    }
    this.pump();
  }

  /** The scores or the edit are newer than what is drawn here, and should be here soon: whether they are waited for. */
  private again(key: string): boolean {
    const tries = this.old.get(key) ?? 0;
    const wait = tries < TRIES;
    this.old.set(key, tries + 1);
    if (wait) this.later(PATIENCE_MS * 2 ** tries);
    else this.fail(key, OLD);
    return wait;
  }

  private fail(key: string, message: string): void {
    this.failures.set(key, message);
    this.tellOf(key);
  }

  private keep(key: string, block: Block): void {
    this.blocks.set(key, block);
    for (const old of this.blocks.keys()) {
      if (this.blocks.size <= KEPT) break;
      this.blocks.delete(old);
    }
    this.tellOf(key);
  }

  private slow(): void {
    if (this.busy) return;
    this.busy = true;
    this.tell();
  }

  /** An answer has come, of whatever kind: somebody is there. */
  private settle(): void {
    this.flight = null;
    this.timers.forEach(clearTimeout);
    this.unpause();
    if (this.busy) this.tell();
    this.busy = false;
  }

  /** Elsewhere nothing is waited for, and what failed is tried again. */
  private anew(): void {
    this.failures.clear();
    this.old.clear();
    this.unpause();
  }

  private unpause(): void {
    clearTimeout(this.pause);
    this.pause = undefined;
  }

  /** The request under way is given up, where it has had no answer. */
  private end(): void {
    const { flight } = this;
    this.flight = null;
    this.timers.forEach(clearTimeout);
    flight?.abort.abort();
  }

  private tellOf(key: string): void {
    if (this.wanted.some((want) => want.key === key)) this.tell();
  }

  private tell(): void {
    this.shown = null;
    this.changed();
  }

  private forget(): void {
    this.anew();
    this.end();
    this.blocks.clear();
    this.wanted = [];
    this.ahead = [];
    this.busy = false;
    this.shown = null;
  }
}
