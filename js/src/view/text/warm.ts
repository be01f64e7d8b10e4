/**
 * Between frames, works out what the next switch will ask for: the other teachers under this signal, and the other signals under this
 * teacher. What reads a whole rollout is then kept already, and a switch costs no more in a long rollout than in a short one.
 */

import { sizes } from "../series";
import type { ViewState } from "../state";
import { profileOf } from "./profile";

/** Milliseconds of a turn, where the browser does not say how many are left; and left unused where it does. */
const TURN = 4;

/** Milliseconds of rest before it begins: a reader who goes through teachers by their keys is not to be held up. */
const REST = 300;

type Step = () => void;

function* steps(state: ViewState, width: number, height: number): Generator<Step> {
  const { data, rollout, teacher, scale } = state;
  const names = scale.per_teacher ? data.teachers.map((t) => t.name) : [];
  const here = names.map((name): ViewState => ({ ...state, teacher: name }));
  const others = data.signals.filter((s) => s.available && s.name !== state.signal);
  const next = [...here, ...others.map((s): ViewState => ({ ...state, signal: s.name, scale: s }))];
  for (const one of next) {
    yield () => sizes(one);
    yield () => profileOf(one, rollout, width, height);
    yield () => data.stats(rollout, one.signal, one.teacher);
  }
  // All teachers' figures stand under the text whichever signal is chosen.
  for (const signal of others)
    if (signal.per_teacher)
      for (const t of data.teachers) if (t.name !== teacher) yield () => data.stats(rollout, signal.name, t.name);
}

export interface Warmer {
  /** Begins anew for another state; what is kept already costs nothing. */
  start(state: ViewState): void;
  stop(): void;
}

export function warmer(window: Window, width: number, height: number): Warmer {
  const idle = typeof window.requestIdleCallback === "function";
  let work: Generator<Step> | null = null;
  let asked = 0;
  let rest = 0;

  function turn(deadline?: IdleDeadline): void {
    asked = 0;
    const end = performance.now() + (deadline ? Math.max(0, deadline.timeRemaining() - TURN) : TURN);
    do {
      const step = work?.next();
      if (!step || step.done) return;
      step.value();
    } while (performance.now() < end);
    ask();
  }
  function ask(): void {
    if (asked === 0) asked = idle ? window.requestIdleCallback(turn) : window.setTimeout(turn, 16);
  }
  return {
    start(state) {
      work = steps(state, width, height);
      window.clearTimeout(rest);
      rest = window.setTimeout(ask, REST);
    },
    stop() {
      work = null;
      window.clearTimeout(rest);
      if (idle) window.cancelIdleCallback(asked);
      else window.clearTimeout(asked);
    },
  };
}
