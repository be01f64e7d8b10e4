/** The current signal of a rollout, cell by cell: what a strip colours and a jump follows. Nothing here is computed for cells not asked about. */
import { aggregate, cellMasked, cellOf, tokensOf } from "../core/cells";
import { groupedValueAt, groupOf, NO_GROUP, once } from "../core/groups";
import { colourClass, inNoise } from "../core/scale";
import { kept } from "./cache";
import type { ViewState } from "./state";

export interface Series {
  /** Number of cells. */
  count: number;
  /** One value a cell. */
  value(cell: number): number;
  masked(cell: number): boolean;
  /** Whether a teacher of another tokenizer has no counterpart to a token of the cell. */
  incomparable(cell: number): boolean;
  /** The first cell of the group that a cell is compared in; the cell itself where tokens are compared one by one. */
  leader(cell: number): number;
  /** The class that colours a cell. */
  colour(cell: number): string;
}

const NOTHING = new Float32Array(0);

export function series(state: ViewState, teacher = state.teacher): Series {
  const { data, rollout, record, scale, signal } = state;
  const { starts } = record.cells;
  const mask = data.mask(rollout);
  const raw = data.values(rollout, signal, teacher) ?? NOTHING;
  const groups = data.groups(rollout, signal, teacher);
  const range = (cell: number): [number, number] => tokensOf(starts, cell, record.length);
  const value = (cell: number): number => {
    if (raw.length === 0 || !(cell >= 0)) return Number.NaN;
    const [from, to] = range(cell);
    return groups
      ? groupedValueAt(raw, groups, [from, to], scale.aggregate)
      : aggregate(raw, from, to, scale.aggregate);
  };
  const incomparable = (cell: number): boolean => {
    if (!groups) return false;
    const [from, to] = range(cell);
    return groups.subarray(from, to).includes(NO_GROUP);
  };
  return {
    count: starts.length,
    value,
    masked: (cell) => cellMasked(mask, ...range(cell)),
    incomparable,
    leader(cell) {
      const group = groups && cell >= 0 ? groupOf(groups, starts[cell]) : null;
      return group ? cellOf(starts, group[0]) : cell;
    },
    colour: (cell) => (incomparable(cell) ? "opd-v-apart" : colourClass(value(cell), scale)),
  };
}

/** The values a profile draws: a group has one bar, at its last token. */
export function drawn(state: ViewState, rollout: number): ArrayLike<number> {
  const { data, signal, teacher } = state;
  const values = data.values(rollout, signal, teacher) ?? [];
  const groups = data.groups(rollout, signal, teacher);
  return groups ? once(values, groups) : values;
}

export const selectedCell = (state: ViewState): number => cellOf(state.record.cells.starts, state.token);

/** The other cells that the selected one is compared together with. */
export function companions(state: ViewState): number[] {
  const groups = state.data.groups(state.rollout, state.signal, state.teacher);
  const range = groups && state.token >= 0 ? groupOf(groups, state.token) : null;
  if (!range) return [];
  const { starts } = state.record.cells;
  const [from, to] = [cellOf(starts, range[0]), cellOf(starts, range[1] - 1)];
  return Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((cell) => cell !== selectedCell(state));
}

/**
 * |value| of every cell that a reader may be led to, one for each group; NaN for the others: missing, masked, in the noise band. Kept by
 * rollout, signal and teacher, since it reads the whole rollout.
 */
export function sizes(state: ViewState): Float32Array {
  const { data, rollout, signal, teacher, scale } = state;
  return kept(data, "sizes", [rollout, signal, teacher], () => {
    const raw = data.values(rollout, signal, teacher);
    if (raw && !data.groups(rollout, signal, teacher)) return sizesAlone(state, raw);
    const { count, value, masked, leader } = series(state);
    const out = new Float32Array(count);
    for (let cell = 0; cell < count; cell++) {
      const one = value(cell);
      out[cell] = inNoise(one, scale) || masked(cell) || leader(cell) !== cell ? Number.NaN : Math.abs(one);
    }
    return out;
  });
}

/** The same where tokens are compared one by one, in one pass that makes nothing: it is waited for at each signal first seen. */
function sizesAlone({ data, rollout, record, scale }: ViewState, raw: Float32Array): Float32Array {
  const { starts } = record.cells;
  const mask = data.mask(rollout);
  const out = new Float32Array(starts.length);
  for (let cell = 0; cell < starts.length; cell++) {
    const from = starts[cell];
    const to = cell + 1 < starts.length ? starts[cell + 1] : record.length;
    const one = aggregate(raw, from, to, scale.aggregate);
    out[cell] = inNoise(one, scale) || cellMasked(mask, from, to) ? Number.NaN : Math.abs(one);
  }
  return out;
}

/** The first token of the cell `step` cells away from the selected one; the first or last cell from none. */
export function neighbour(state: ViewState, step: number): number {
  const { starts } = state.record.cells;
  const from = selectedCell(state);
  if (starts.length === 0) return -1;
  const to = from < 0 ? (step > 0 ? 0 : starts.length - 1) : from + step;
  return starts[Math.max(0, Math.min(starts.length - 1, to))];
}
