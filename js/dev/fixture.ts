/** Invented scores that look like the lab's, for tests and for looking: five teachers, fourteen signals, one rollout of hostile text. */
import type {
  CellKind,
  Cells,
  Plane,
  PromptMeta,
  RolloutMeta,
  ScoresTrait,
  TeacherMeta,
  TeacherTopBuffers,
} from "../src/model/contract";
import { hostileTokens, TEACHERS } from "./fixture_parts";
import { SIGNALS, signalValues } from "./fixture_signals";

const K = 8;
const NO_ID = 0xffffffff;
export const SYMBOLS = ["<eos>", "<think>", "</think>", ..."0123456789+-=;", "?", " ", "Q", ":", "\n"];

/** A small seeded generator: the same fixture every time. */
export function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const kindOf = (text: string): CellKind => (/^<.*>$/.test(text) ? "p" : text === "\n" ? "n" : text === " " ? "s" : "t");
const show = (text: string): string => text.replace(/^<(.*)>$/, "⟨$1⟩");

export function toCells(tokens: readonly string[]): Cells {
  return { starts: tokens.map((_, i) => i), texts: tokens.map(show), kinds: tokens.map(kindOf).join("") };
}

const split = (text: string): string[] => text.match(/<\/?\w+>|[\s\S]/gu) ?? [];

function prompt(question: string, context: string): PromptMeta {
  const own = split(`${context}${question}\n`);
  const length = split(context).length;
  return { cells: toCells(own), tokens: own.length, differs: length > 0 ? [0, length] : null };
}

interface Sample {
  question: string;
  tokens: string[];
  /** Index of the first wrong digit; -1 where all is right. */
  wrong: number;
  answer: string;
  working: string;
}

function sample(rand: () => number, wrongly: boolean): Sample {
  const number = (): number => 1 + Math.floor(rand() * 49);
  const [a, b, c] = [number(), number(), number()];
  const first = a - b;
  const slip = wrongly ? first + [3, -1, 10, 2][Math.floor(rand() * 4)] : first;
  const working = `${a}-${b}=${first};${first}+${c}=${first + c}`;
  const tokens = split(`<think>${a}-${b}=${slip};${slip}+${c}=${slip + c}</think>${slip + c}<eos>`);
  const right = String(first);
  const start = 1 + `${a}-${b}=`.length;
  let wrong = wrongly ? start : -1;
  while (wrong >= 0 && tokens[wrong] === right[wrong - start]) wrong++;
  return { question: `Q: ${a}-${b}+${c}=?`, tokens, wrong, answer: String(first + c), working };
}

/** Logits in which `likely` stands out by `height` nats. */
function logits(rand: () => number, likely: number, height: number): number[] {
  const out = SYMBOLS.map(() => 2.2 * (rand() - 0.5));
  if (likely >= 0) out[likely] += height;
  return out;
}

export function logSoftmax(raw: readonly number[]): number[] {
  const top = Math.max(...raw);
  const total = top + Math.log(raw.reduce((sum, x) => sum + Math.exp(x - top), 0));
  return raw.map((x) => x - total);
}

/** log p over SYMBOLS of the student and every teacher at one token. */
function distributions(rand: () => number, token: string, atWrong: boolean, afterWrong: boolean): number[][] {
  const id = SYMBOLS.indexOf(token);
  const student = logits(rand, id, atWrong ? 4.5 : 7 + 3 * rand());
  const rightDigit = SYMBOLS.indexOf(String((Number(token) + 7) % 10));
  if (atWrong) student[rightDigit] += 4.2;
  const teachers = TEACHERS.map((t) => {
    const raw = student.map((x) => x + 0.25 * (rand() - 0.5));
    if (atWrong && rightDigit >= 0) {
      raw[rightDigit] += 6 * t.strength;
      if (id >= 0) raw[id] -= 5 * t.strength;
    } else if (afterWrong && /\d/.test(token) && id >= 0) raw[id] += t.strength > 0.6 ? -11 * rand() : -2 * rand();
    else if (t.name === "Other style" && rand() < 0.3 && id >= 0) raw[id] -= 3.5 * rand();
    return raw;
  });
  return [student, ...teachers].map(logSoftmax);
}

const ranked = (logp: readonly number[]): number[] => logp.map((_, i) => i).sort((a, b) => logp[b] - logp[a]);

function view(array: Float32Array | Uint32Array | Uint8Array): DataView {
  return new DataView(array.buffer, array.byteOffset, array.byteLength);
}

interface Tops {
  ids: Uint32Array;
  teacher: Float32Array;
  student: Float32Array;
  atStudent: Float32Array;
}

function makeTops(items: number): Tops {
  const floats = (): Float32Array => new Float32Array(items * K).fill(Number.NaN);
  return { ids: new Uint32Array(items * K).fill(NO_ID), teacher: floats(), student: floats(), atStudent: floats() };
}

function records(samples: Sample[], prompts: PromptMeta[]): RolloutMeta[] {
  let offset = 0;
  return samples.map((s, i) => {
    const text = s.tokens.join("");
    const contexts: RolloutMeta["contexts"] = {};
    const teacherPrompts: Record<string, number> = {};
    const own = prompts.push(prompt(s.question, "")) - 1;
    for (const t of TEACHERS) {
      const context = t.context(s.working, s.answer);
      if (context) contexts[t.name] = { text: context, tokens: split(context).length };
      teacherPrompts[t.name] = context ? prompts.push(prompt(s.question, `${context}\n`)) - 1 : own;
    }
    const record: RolloutMeta = {
      id: `r${i}`,
      question: s.question,
      title: s.question.replace(/^Q: /, ""),
      label: text.replace(/<\/?\w+>/g, " ").trim(),
      outcome: s.wrong >= 0 ? "incorrect" : i === 23 ? "unverified" : "correct",
      status: i === 5 ? "truncated" : "stop",
      reward: s.wrong >= 0 ? 0 : 1,
      step: null,
      text_source: i === 7 ? "retokenised" : "exact_ids",
      offset,
      length: s.tokens.length,
      cells: toCells(s.tokens),
      prompt: own,
      teacher_prompts: teacherPrompts,
      contexts,
    };
    offset += s.tokens.length;
    return record;
  });
}

/** A joined cell, a tool's output and values that are no numbers, so that every mark is seen once. */
function disturb(trait: ScoresTrait, hostile: number): void {
  const { meta, values } = trait;
  const record = meta.rollouts[hostile];
  record.cells = hostileTokens().cells;
  const set = (plane: number, token: number, value: number): void =>
    values.setFloat32(4 * (plane * meta.tokens + record.offset + token), value, true);
  meta.planes.forEach((p, i) => {
    if (p.signal === "advantage") {
      set(i, 3, Number.NEGATIVE_INFINITY);
      set(i, 5, Number.POSITIVE_INFINITY);
    }
    if (p.teacher !== null) for (const token of [8, 9]) set(i, token, Number.NaN);
  });
  for (let i = 20; i < 26; i++) trait.mask?.setUint8(record.offset + i, 0);
}

interface Sink {
  n: number;
  values: Float32Array;
  ids: Uint32Array;
  student: { ids: Uint32Array; student: Float32Array };
  tops: Tops[];
}

function writeTops(into: Sink, at: number, own: readonly number[], others: readonly number[][]): void {
  const best = ranked(own).slice(0, K);
  const pick = (array: Float32Array, ids: number[], logp: readonly number[]): void =>
    array.set(
      ids.map((v) => logp[v]),
      at * K,
    );
  into.student.ids.set(best, at * K);
  pick(into.student.student, best, own);
  others.forEach((logp, t) => {
    const theirs = ranked(logp).slice(0, K);
    const top = into.tops[t];
    top.ids.set(theirs, at * K);
    pick(top.teacher, theirs, logp);
    pick(top.student, theirs, own);
    pick(top.atStudent, best, logp);
  });
}

/** Draws distributions for every token and writes all that follows from them. */
function fill(rand: () => number, samples: Sample[], planes: Plane[], into: Sink): void {
  let at = 0;
  for (const s of samples) {
    s.tokens.forEach((token, i) => {
      const [own, ...others] = distributions(rand, token, i === s.wrong, s.wrong >= 0 && i > s.wrong);
      const id = SYMBOLS.indexOf(token);
      into.ids[at] = id < 0 ? NO_ID : id;
      planes.forEach((p, row) => {
        const t = TEACHERS.findIndex((x) => x.name === p.teacher);
        into.values[row * into.n + at] = signalValues(p.signal, own, t < 0 ? null : others[t], Math.max(0, id));
      });
      writeTops(into, at, own, others);
      at++;
    });
  }
}

function drawSamples(rand: () => number, rollouts: number): Sample[] {
  const samples = Array.from({ length: rollouts }, (_, i) => sample(rand, i % 5 < 2 || i === 1));
  // Three rollouts a question, to have something to group.
  samples.forEach((s, i) => {
    if (i % 3) s.question = samples[i - (i % 3)].question;
  });
  samples[rollouts - 1] = { ...samples[rollouts - 1], tokens: hostileTokens().tokens, wrong: -1 };
  return samples;
}

export function makeScores(rollouts = 24, seed = 7): ScoresTrait {
  const rand = random(seed);
  const samples = drawSamples(rand, rollouts);
  const prompts: PromptMeta[] = [];
  const rolls = records(samples, prompts);
  const n = samples.reduce((sum, s) => sum + s.tokens.length, 0);
  const planes = SIGNALS.filter((s) => s.available).flatMap((s): Plane[] =>
    s.per_teacher ? TEACHERS.map((t) => ({ signal: s.name, teacher: t.name })) : [{ signal: s.name, teacher: null }],
  );
  const sink: Sink = {
    n,
    values: new Float32Array(planes.length * n),
    ids: new Uint32Array(n),
    student: { ids: new Uint32Array(n * K), student: new Float32Array(n * K) },
    tops: TEACHERS.map(() => makeTops(n)),
  };
  fill(rand, samples, planes, sink);
  const trait: ScoresTrait = {
    meta: {
      version: 1,
      student: "student 0.3M",
      teachers: TEACHERS.map(({ strength: _, context: __, ...meta }): TeacherMeta => meta),
      signals: SIGNALS,
      rollouts: rolls,
      prompts,
      vocab: Object.fromEntries(SYMBOLS.map((s, i) => [String(i), [show(s), kindOf(s)]])),
      tokens: n,
      planes,
      top_k: K,
      notes: [],
    },
    values: view(sink.values),
    mask: view(new Uint8Array(n).fill(1)),
    token_ids: view(sink.ids),
    student_top: { ids: view(sink.student.ids), student: view(sink.student.student) },
    teacher_top: Object.fromEntries(TEACHERS.map((t, i) => [t.name, topBuffers(sink.tops[i])])),
  };
  disturb(trait, rollouts - 1);
  return trait;
}

const topBuffers = (top: Tops): TeacherTopBuffers => ({
  ids: view(top.ids),
  teacher: view(top.teacher),
  student: view(top.student),
  at_student: view(top.atStudent),
});

/** The same as a student without any teacher: what needs one is not available. */
export function withoutTeachers(trait: ScoresTrait): ScoresTrait {
  const { meta } = trait;
  const kept = meta.planes.flatMap((p, row) => (p.teacher === null ? [row] : []));
  const all = new Float32Array(trait.values.buffer);
  const values = new Float32Array(kept.length * meta.tokens);
  for (const [i, row] of kept.entries())
    values.set(all.subarray(row * meta.tokens, (row + 1) * meta.tokens), i * meta.tokens);
  const untaught = { available: false, reason: "needs a teacher" };
  return {
    ...trait,
    meta: {
      ...meta,
      teachers: [],
      planes: kept.map((row) => meta.planes[row]),
      signals: meta.signals.map((s) => (s.per_teacher ? { ...s, ...untaught } : s)),
      rollouts: meta.rollouts.map((r) => ({ ...r, contexts: {}, teacher_prompts: {} })),
    },
    values: view(values),
    teacher_top: {},
  };
}
