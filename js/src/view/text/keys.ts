/** The keys of a view of scores. */

import { onKeys } from "../keyboard";
import { neighbour } from "../series";
import type { Actions, ViewState } from "../state";
import { nextSignal } from "../switches";
import { jumpTo } from "./jump_bar";
import { verdictTo } from "./verdicts";

export interface KeyTargets {
  state(): ViewState | null;
  actions: Actions;
  /** Selects the rollout `step` rows on; absent where there is no list. */
  move?(step: number): void;
  help?(): void;
  edit?(): void;
  find?(): void;
  /** The text's own find box, and the field of positions; absent where there is no text. */
  findText?(): void;
  goTo?(): void;
}

/** What a key does; null for a key that is not ours. */
function action(event: KeyboardEvent, state: ViewState, targets: KeyTargets): (() => void) | null {
  const { actions, move, help, edit, find, findText, goTo } = targets;
  const token = (token: number) => (): void => actions.select({ token });
  const starts = state.record.cells.starts;
  const inList = (event.target as Element).closest(".opd-list") !== null;
  if (/^[1-9]$/.test(event.key)) {
    const teacher = state.data.teachers[Number(event.key) - 1];
    return teacher ? () => actions.select({ teacher: teacher.name }) : null;
  }
  const signal = (step: number) => (): void =>
    actions.select({ signal: nextSignal(state.data.signals, state.signal, step) });
  const map: Record<string, (() => void) | undefined> = {
    s: signal(1),
    S: signal(-1),
    ArrowRight: token(neighbour(state, 1)),
    ArrowLeft: token(neighbour(state, -1)),
    Home: inList ? move && (() => move(-1e9)) : token(starts[0] ?? -1),
    End: inList ? move && (() => move(1e9)) : token(starts[starts.length - 1] ?? -1),
    n: () => jumpTo(state, 1, actions),
    p: () => jumpTo(state, -1, actions),
    j: move && (() => move(1)),
    k: move && (() => move(-1)),
    ArrowDown: inList ? move && (() => move(1)) : undefined,
    ArrowUp: inList ? move && (() => move(-1)) : undefined,
    "?": help,
    e: edit,
    "/": find,
    f: findText,
    g: goTo,
    v: () => verdictTo(state, 1, actions),
    V: () => verdictTo(state, -1, actions),
  };
  return map[event.key] ?? null;
}

export function keys(root: HTMLElement, targets: KeyTargets, signal: AbortSignal): void {
  onKeys(
    root,
    (event) => {
      const state = targets.state();
      return state && action(event, state, targets);
    },
    signal,
  );
}
