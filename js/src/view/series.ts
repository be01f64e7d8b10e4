/** The current signal of a rollout, cell by cell: what a strip colours and a jump follows. */
import { cellMasked, cellOf, cellValues, tokensOf } from "../core/cells";
import { extremeOrder } from "../core/extremes";
import type { ViewState } from "./state";

export interface Series {
  /** One value a cell. */
  values: Float64Array;
  masked(cell: number): boolean;
}

export function series(state: ViewState, teacher = state.teacher): Series {
  const { data, rollout, record, scale, signal } = state;
  const { starts } = record.cells;
  const mask = data.mask(rollout);
  const raw = data.values(rollout, signal, teacher) ?? new Float32Array(record.length).fill(Number.NaN);
  return {
    values: cellValues(raw, starts, record.length, scale.aggregate),
    masked: (cell) => cellMasked(mask, ...tokensOf(starts, cell, record.length)),
  };
}

export const selectedCell = (state: ViewState): number => cellOf(state.record.cells.starts, state.token);

/** Cells by falling |value|. */
export function jumpOrder(state: ViewState): number[] {
  const { values, masked } = series(state);
  return extremeOrder(values, masked, state.scale);
}

/** The first token of the cell `step` cells away from the selected one; the first or last cell from none. */
export function neighbour(state: ViewState, step: number): number {
  const { starts } = state.record.cells;
  const from = selectedCell(state);
  if (starts.length === 0) return -1;
  const to = from < 0 ? (step > 0 ? 0 : starts.length - 1) : from + step;
  return starts[Math.max(0, Math.min(starts.length - 1, to))];
}
