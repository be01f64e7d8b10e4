/** The current signal of a rollout, cell by cell: what a strip colours and a jump follows. */
import { cellMasked, cellOf, cellValues, tokensOf } from "../core/cells";
import { extremeOrder } from "../core/extremes";
import { groupedValue, groupOf, NO_GROUP, once, spread } from "../core/groups";
import { colourClass } from "../core/scale";
import type { ViewState } from "./state";

export interface Series {
  /** One value a cell. */
  values: Float64Array;
  masked(cell: number): boolean;
  /** Whether a teacher of another tokenizer has no counterpart to a token of the cell. */
  incomparable(cell: number): boolean;
  /** The first cell of the group that a cell is compared in; the cell itself where tokens are compared one by one. */
  leader(cell: number): number;
  /** The class that colours a cell. */
  colour(cell: number): string;
}

export function series(state: ViewState, teacher = state.teacher): Series {
  const { data, rollout, record, scale, signal } = state;
  const { starts } = record.cells;
  const mask = data.mask(rollout);
  const raw = data.values(rollout, signal, teacher) ?? new Float32Array(record.length).fill(Number.NaN);
  const groups = data.groups(rollout, signal, teacher);
  const range = (cell: number): [number, number] => tokensOf(starts, cell, record.length);
  const values = groups
    ? groupedValues(
        raw,
        groups,
        starts.map((_, cell) => range(cell)),
        scale.aggregate,
      )
    : cellValues(raw, starts, record.length, scale.aggregate);
  const incomparable = (cell: number): boolean => {
    const [from, to] = range(cell);
    return groups?.subarray(from, to).includes(NO_GROUP) ?? false;
  };
  return {
    values,
    masked: (cell) => cellMasked(mask, ...range(cell)),
    incomparable,
    leader(cell) {
      const group = groups && cell >= 0 ? groupOf(groups, starts[cell]) : null;
      return group ? cellOf(starts, group[0]) : cell;
    },
    colour: (cell) => (incomparable(cell) ? "opd-v-apart" : colourClass(values[cell], scale)),
  };
}

function groupedValues(
  raw: ArrayLike<number>,
  groups: Int32Array,
  ranges: readonly [number, number][],
  how: Parameters<typeof groupedValue>[3],
): Float64Array {
  const values = spread(raw, groups);
  return Float64Array.from(ranges, (range) => groupedValue(values, groups, range, how));
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

/** Cells by falling |value|, one for each group. */
export function jumpOrder(state: ViewState): number[] {
  const { values, masked, leader } = series(state);
  return extremeOrder(values, (cell) => masked(cell) || leader(cell) !== cell, state.scale);
}

/** The first token of the cell `step` cells away from the selected one; the first or last cell from none. */
export function neighbour(state: ViewState, step: number): number {
  const { starts } = state.record.cells;
  const from = selectedCell(state);
  if (starts.length === 0) return -1;
  const to = from < 0 ? (step > 0 ? 0 : starts.length - 1) : from + step;
  return starts[Math.max(0, Math.min(starts.length - 1, to))];
}
