/** Rows of a comparison: what each one says of a cell, as colour and in words. */

import { cellMasked, tokensOf } from "../../core/cells";
import { difference, type Track, track } from "../../core/compare/track";
import { formatNumber } from "../../core/format";
import { isolated } from "../../core/plain_text";
import { colourClass, inNoise } from "../../core/scale";
import type { SignalMeta } from "../../model/contract";
import { kept } from "../cache";
import type { AlignedTrack } from "./aligned_rows";
import type { CompareState } from "./state";

export interface ShownTrack extends AlignedTrack {
  scale: SignalMeta;
  /** null: this signal was not computed here. */
  track: Track | null;
  /** Of a difference, what it is taken of. */
  sides?: readonly [Track, Track];
  /** Why a token has no value, in words; not known of a step's. */
  lack?(token: number): string;
}

export function teacherTrack(state: CompareState, teacher: string): ShownTrack {
  const { data, rollout, signal, scale } = state;
  const values = data.values(rollout, signal, teacher);
  const title = data.teachers.find((t) => t.name === teacher)?.description ?? "";
  return {
    id: teacher,
    name: teacher,
    title: `${isolated(teacher)}: ${values ? title : `has no ${scale.label}`}`,
    scale,
    track: values && track(values, data.groups(rollout, signal, teacher), scale.aggregate),
    lack: (token) => data.lack(rollout, signal, teacher, token),
  };
}

export function stepTrack(state: CompareState, index: number): ShownTrack {
  const { data, rollout, signal, teacher, scale, steps } = state;
  const values = steps!.values(index, rollout, signal, teacher);
  const name = `step ${steps!.steps[index]}`;
  const groups = data.groups(rollout, signal, teacher);
  return { id: name, name, title: name, scale, track: values && track(values, groups, scale.aggregate) };
}

/** The row under the others: `a` minus `b`; null where either is not there. */
export function differenceTrack(state: CompareState, a: ShownTrack, b: ShownTrack): ShownTrack | null {
  const { data, rollout, signal, teacher, across, scale } = state;
  if (!state.difference || !a.track || !b.track) return null;
  const parts = [across, teacher, rollout, signal, a.id, b.id];
  const made = kept(data, "difference row", parts, () => difference(a.track!, b.track!, scale.aggregate));
  return {
    id: "difference",
    name: "difference",
    title: `${isolated(a.name)} − ${isolated(b.name)}`,
    apart: true,
    scale: state.difference,
    track: made,
    sides: [a.track, b.track],
  };
}

const rangeOf = ({ record }: CompareState, cell: number): [number, number] =>
  tokensOf(record.cells.starts, cell, record.length);

export function trackClass(state: CompareState, shown: ShownTrack, cell: number): string {
  if (!shown.track) return "opd-compare-none";
  const [from, to] = rangeOf(state, cell);
  const colour = shown.track.apart(from, to) ? "opd-v-apart" : colourClass(shown.track.cell(from, to), shown.scale);
  return cellMasked(state.data.mask(state.rollout), from, to) ? `opd-masked ${colour}` : colour;
}

/** What a row says of a cell, in words and figures, with its unit. */
export function trackWords(state: CompareState, { track: own, scale, sides, lack }: ShownTrack, cell: number): string {
  if (!own) return `no ${scale.label}`;
  const [from, to] = rangeOf(state, cell);
  if (own.apart(from, to)) return "not comparable";
  const value = own.cell(from, to);
  const undefined_ = sides?.every((side) => !Number.isNaN(side.cell(from, to))) ?? false;
  const missing = undefined_ ? "undefined (∞ − ∞)" : lack?.(from);
  const text = formatNumber(value, { signed: scale.scale === "diverging", whole: scale.scale === "log", missing });
  if (Number.isNaN(value)) return text;
  return `${text}${scale.unit ? ` ${scale.unit}` : ""}${inNoise(value, scale) ? ", in the noise band" : ""}`;
}
