/**
 * What a view may ask of the data. Base scores are decoded once; edited contexts lie over them, and a change of either makes a new
 * Dataset, so that views can compare by identity. Rollout records keep theirs: a strip is rebuilt only for another rollout.
 */
import { groupOf } from "../core/groups";
import { own } from "../core/own";
import { type Stats, stats } from "../core/stats";
import { float32, int32, NO_ID, uint8, uint32 } from "./codec";
import type {
  ContextMeta,
  LiveEntry,
  LiveTrait,
  PromptMeta,
  RolloutMeta,
  ScoresMeta,
  ScoresTrait,
  SignalMeta,
  TeacherMeta,
} from "./contract";
import { readRollouts } from "./packed_cells";
import { readStudentTop, readTeacherTop, type StudentTop, type TeacherTop, type TopRows, topRows } from "./top";

interface Base {
  trait: ScoresTrait;
  meta: ScoresMeta;
  values: Float32Array;
  mask: Uint8Array;
  ids: Uint32Array;
  /** Row of `values` by plane. */
  planes: Map<string, number>;
  studentTop: StudentTop | null;
  teacherTops: Map<string, TeacherTop>;
  /** Of teachers of another tokenizer. */
  groups: Map<string, Int32Array>;
  /** Of what no edit lies over. */
  stats: Map<string, Stats>;
  overlays: WeakMap<LiveEntry, Overlay>;
}

interface Overlay {
  entry: LiveEntry;
  rows: Map<string, Float32Array>;
  top: TeacherTop | null;
  stats: Map<string, Stats>;
  /** Smallest and largest counted value by signal. */
  ends: Map<string, [number, number]>;
}

const key = (name: string, teacher: string | null): string => `${name}\u0000${teacher ?? ""}`;
const slot = (teacher: string, rollout: number): string => `${rollout}\u0000${teacher}`;

function decodeBase(trait: ScoresTrait): Base {
  const { looks: _, ...rest } = trait.meta;
  const meta: ScoresMeta = { ...rest, rollouts: readRollouts(trait.meta, trait.cells) };
  const planes = new Map(meta.planes.map((p, i) => [key(p.signal, p.teacher), i]));
  const items = meta.tokens * meta.top_k;
  const tops = items > 0 ? Object.entries(trait.teacher_top ?? {}) : [];
  return {
    trait,
    meta,
    planes,
    values: float32(trait.values, meta.planes.length * meta.tokens, "values"),
    mask: trait.mask ? uint8(trait.mask, meta.tokens, "mask") : new Uint8Array(meta.tokens).fill(1),
    ids: uint32(trait.token_ids, meta.tokens, "token_ids"),
    studentTop: trait.student_top && items > 0 ? readStudentTop(trait.student_top, items) : null,
    teacherTops: new Map(tops.map(([name, raw]) => [name, readTeacherTop(raw, items, name)])),
    groups: new Map(
      Object.entries(trait.groups ?? {}).map(([name, raw]) => [name, int32(raw, meta.tokens, `groups[${name}]`)]),
    ),
    stats: new Map(),
    overlays: new WeakMap(),
  };
}

/** Whether edits were made from these scores; those of a page from before generations were counted were. */
const sameScores = (meta: ScoresMeta, live: LiveTrait): boolean =>
  meta.generation === undefined || live.generation === undefined || meta.generation === live.generation;

/** Whether an entry can lie over these scores: one of replaced scores may still be on its way. */
function fits(meta: ScoresMeta, entry: LiveEntry): boolean {
  const record = meta.rollouts[entry.rollout];
  if (!record || !meta.teachers.some((t) => t.name === entry.teacher)) return false;
  const planes = meta.planes.filter((p) => p.teacher === entry.teacher).length;
  const items = 4 * record.length * meta.top_k;
  const { top } = entry;
  return (
    entry.values?.byteLength === 4 * planes * record.length &&
    (!top || [top.ids, top.teacher, top.student, top.at_student].every((part) => part.byteLength === items))
  );
}

function decodeOverlay({ meta, overlays }: Base, entry: LiveEntry): Overlay {
  const known = overlays.get(entry);
  if (known) return known;
  const own = meta.planes.filter((p) => p.teacher === entry.teacher);
  const length = meta.rollouts[entry.rollout].length;
  const values = float32(entry.values, own.length * length, `live values of ${entry.teacher}`);
  const rows = new Map(own.map((p, i) => [p.signal, values.subarray(i * length, (i + 1) * length)]));
  const top = entry.top && meta.top_k > 0 ? readTeacherTop(entry.top, length * meta.top_k, entry.teacher) : null;
  const made = { entry, rows, top, stats: new Map(), ends: new Map() };
  overlays.set(entry, made);
  return made;
}

/** Edits from all traits that hold some: of two for one place the newer. */
function decodeOverlays(base: Base, lives: readonly LiveTrait[]): Map<string, Overlay> {
  const newest = new Map<string, LiveEntry>();
  for (const entry of lives.flatMap((live) => live.entries)) {
    const at = slot(entry.teacher, entry.rollout);
    const other = newest.get(at);
    if (fits(base.meta, entry) && (entry.version ?? 0) >= (other?.version ?? 0)) newest.set(at, entry);
  }
  return new Map([...newest].map(([at, entry]) => [at, decodeOverlay(base, entry)]));
}

export class Dataset {
  readonly meta: ScoresMeta;

  private constructor(
    private readonly base: Base,
    private readonly overlays: Map<string, Overlay>,
    private readonly liveVocab: LiveTrait["vocab"],
  ) {
    this.meta = base.meta;
  }

  static read(
    scores: ScoresTrait,
    live: LiveTrait | readonly LiveTrait[] | null,
    earlier: Dataset | null = null,
  ): Dataset {
    const base = earlier?.base.trait === scores ? earlier.base : decodeBase(scores);
    const lives = live === null ? [] : Array.isArray(live) ? live : [live as LiveTrait];
    const applied = lives.filter((one) => sameScores(base.meta, one));
    const vocab = Object.assign({}, ...applied.map((one) => one.vocab));
    return new Dataset(base, decodeOverlays(base, applied), vocab);
  }

  get teachers(): TeacherMeta[] {
    return this.meta.teachers;
  }

  get signals(): SignalMeta[] {
    return this.meta.signals;
  }

  private edit(rollout: number, teacher: string): Overlay | undefined {
    return this.overlays.get(slot(teacher, rollout));
  }

  rollout(index: number): RolloutMeta {
    return this.meta.rollouts[index];
  }

  signal(name: string): SignalMeta | undefined {
    return this.meta.signals.find((s) => s.name === name);
  }

  /** One value a token, NaN where missing; null where this signal was not computed under this teacher. */
  values(rollout: number, name: string, teacher: string): Float32Array | null {
    const live = this.edit(rollout, teacher)?.rows.get(name);
    if (live) return live;
    const row = this.base.planes.get(key(name, teacher)) ?? this.base.planes.get(key(name, null));
    if (row === undefined) return null;
    const { offset, length } = this.rollout(rollout);
    const from = row * this.meta.tokens + offset;
    return this.base.values.subarray(from, from + length);
  }

  /** In which group each token is compared; null where tokens are compared one by one, and for a signal of the student alone. */
  groups(rollout: number, name: string, teacher: string): Int32Array | null {
    if (this.signal(name)?.per_teacher === false) return null;
    const { offset, length } = this.rollout(rollout);
    return this.base.groups.get(teacher)?.subarray(offset, offset + length) ?? null;
  }

  /** Whether a teacher has another tokenizer than the student. */
  otherTokenizer(teacher: string): boolean {
    return this.base.groups.has(teacher);
  }

  /** The teacher's own tokens of a group, as shown; none where they were not sent. */
  otherTokens(rollout: number, teacher: string, group: number): string[] {
    return own(this.rollout(rollout).other_tokens, teacher)?.[group] ?? [];
  }

  /** How many tokens a teacher reads a response as. */
  responseTokens(rollout: number, teacher: string): number {
    const record = this.rollout(rollout);
    return own(record.other_lengths, teacher) ?? record.length;
  }

  /** The value at a token, that of its group where it is in one; NaN where missing. */
  value(rollout: number, name: string, teacher: string, token: number): number {
    const values = this.values(rollout, name, teacher);
    const groups = this.groups(rollout, name, teacher);
    const group = groups ? groupOf(groups, token) : [token, token + 1];
    return values && group ? values[group[1] - 1] : Number.NaN;
  }

  /** Why a value is missing, in words. */
  lack(rollout: number, name: string, teacher: string, token: number): string {
    if (!this.values(rollout, name, teacher)) return "not available";
    const groups = this.groups(rollout, name, teacher);
    if (groups && groups[token] < 0) return "not comparable";
    if (this.signal(name)?.tier !== "L1") return "not scored";
    // Both log-probabilities are known, and one is -inf: what is made of them has no value.
    const student = this.values(rollout, "student_surprisal", teacher);
    const theirs = this.value(rollout, "teacher_surprisal", teacher, token);
    const [from, to] = (groups && groupOf(groups, token)) ?? [token, token + 1];
    const own = student?.subarray(from, to).reduce((sum, one) => sum + one, 0) ?? Number.NaN;
    if (own + theirs !== Number.POSITIVE_INFINITY) return "not scored";
    return own === theirs ? "undefined (∞ − ∞)" : "undefined";
  }

  mask(rollout: number): Uint8Array {
    const { offset, length } = this.rollout(rollout);
    return this.base.mask.subarray(offset, offset + length);
  }

  stats(rollout: number, name: string, teacher: string): Stats {
    const overlay = this.edit(rollout, teacher);
    const own = overlay?.rows.has(name) ? overlay.stats : this.base.stats;
    const at = `${slot(teacher, rollout)}\u0000${name}`;
    const known = own.get(at);
    if (known) return known;
    const made = stats(this.values(rollout, name, teacher) ?? [], this.mask(rollout));
    own.set(at, made);
    return made;
  }

  tokenId(rollout: number, token: number): number | null {
    const id = this.base.ids[this.rollout(rollout).offset + token];
    return id === undefined || id === NO_ID ? null : id;
  }

  /** Both top-k lists at one token; null where they did not come with the scores: see `TopWindows`. */
  top(rollout: number, token: number, teacher: string): TopRows | null {
    const k = this.meta.top_k;
    const row = this.rollout(rollout).offset + token;
    const live = this.edit(rollout, teacher);
    const other = live ? live.top : (this.base.teacherTops.get(teacher) ?? null);
    const { studentTop } = this.base;
    if (k === 0 || (!studentTop && !other)) return null;
    return topRows({ student: studentTop, row, other, otherRow: live ? token : row, k });
  }

  /** Which edit is shown of a rollout under a teacher; 0 for none. */
  version(rollout: number, teacher: string): number {
    return this.edit(rollout, teacher)?.entry.version ?? 0;
  }

  /** How to show a token id: text and kind of cell. */
  vocab(id: number): [string, string] {
    return this.meta.vocab[id] ?? this.liveVocab[id] ?? [`#${id}`, "p"];
  }

  studentPrompt(rollout: number): PromptMeta | null {
    return this.meta.prompts[this.rollout(rollout).prompt] ?? null;
  }

  teacherPrompt(rollout: number, teacher: string): PromptMeta | null {
    const live = this.edit(rollout, teacher);
    const index = own(this.rollout(rollout).teacher_prompts, teacher) ?? -1;
    return live?.entry.prompt ?? this.meta.prompts[index] ?? null;
  }

  /** The context the shown values belong to: the edited one where there is one. */
  context(rollout: number, teacher: string): ContextMeta | null {
    return this.edit(rollout, teacher)?.entry.context ?? own(this.rollout(rollout).contexts, teacher) ?? null;
  }

  edited(rollout: number, teacher: string): boolean {
    return this.edit(rollout, teacher) !== undefined;
  }

  /** Whether every rollout a context belongs to has been rescored under this text. A rollout without a question stands alone. */
  rescored(place: { teacher: string; question: string; rollout: number }, text: string): boolean {
    const { teacher, question, rollout } = place;
    const theirs = this.meta.rollouts.flatMap((record, i) =>
      record.question === question && (question !== "" || i === rollout) ? [i] : [],
    );
    return theirs.length > 0 && theirs.every((i) => this.edit(i, teacher)?.entry.context.text === text);
  }

  /** Whether a counted value lies beyond the ends of a signal's scale, also under the edited contexts, which Python's flags do not know. */
  beyond({ name, limit, below, above }: SignalMeta): { below: boolean; above: boolean } {
    const out = { below, above };
    for (const overlay of this.overlays.values()) {
      const [low, high] = this.ends(overlay, name);
      if (low < -limit) out.below = true;
      if (high > limit) out.above = true;
    }
    return out;
  }

  private ends({ entry, rows, ends }: Overlay, name: string): [number, number] {
    const known = ends.get(name);
    if (known) return known;
    const mask = this.mask(entry.rollout);
    let [low, high] = [0, 0];
    rows.get(name)?.forEach((value, i) => {
      if (mask[i] === 0) return;
      if (value < low) low = value;
      if (value > high) high = value;
    });
    ends.set(name, [low, high]);
    return [low, high];
  }
}
