/** The keyboard of the AlignmentView, and what its help panel says. */
import { jump, nextFinite } from "../../core/extremes";
import { onKeys } from "../keyboard";
import { type AlignmentActions, type AlignmentState, alignments } from "./state";

export const ALIGNMENT_KEYS: [string, string][] = [
  ["1 – 9", "teacher"],
  ["v, Shift+V", "next, previous node with an alignment"],
  ["n p", "next largest |alignment|, back to the larger"],
  ["← →", "previous, next token"],
  ["Home End", "first, last token"],
  ["f", "find in the text; Enter the next, Esc back"],
  ["g", "go to a token by its number"],
  ["j k", "next, previous rollout; ↓ ↑ in the list"],
  ["] [", "next, previous question"],
  ["?", "this panel; Esc closes it"],
  ["click, drag", "select a token, scrub; Shift+drag selects text"],
];

export const ALIGNMENT_MARKS: [string, string, string][] = [
  ["opd-v-p8", "12", "blue, bar above: along the ideal gradient"],
  ["opd-v-n8", "12", "orange, bar below: against it"],
  ["opd-v-p8 opd-a-open", "12", "striped: the interval holds 0, the sign is not settled"],
  ["opd-a-silent", "12", "dotted ground: no signal, no outcome differs or nothing to compare"],
  ["opd-a-outside", "12", "dashed frame: points outside the support"],
  ["opd-a-few", "12", "underlined: not enough visits"],
  ["opd-a-unscored", "12", "grey: never scored, not a node"],
];

function step(state: AlignmentState, by: number, actions: AlignmentActions): void {
  const record = state.place.rollouts[Math.max(0, Math.min(state.place.rollouts.length - 1, state.shown + by))];
  if (record) actions.select({ rollout: state.places.rolloutId(state.place, record) });
}

/** What is selected stays so where there is no other token with an alignment. */
function led(state: AlignmentState, actions: AlignmentActions, way: 1 | -1, next: typeof jump): void {
  const token = state.record ? next(alignments(state, state.record), state.token, way) : -1;
  if (token >= 0) actions.select({ token });
}

const nextLargest: typeof jump = (values, from, way) => jump(Array.from(values, Math.abs), from, way);

function action(
  event: KeyboardEvent,
  state: AlignmentState,
  actions: AlignmentActions,
  { help, enter }: Pick<AlignmentKeyTargets, "help" | "enter">,
): (() => void) | null {
  const { places, record } = state;
  const inList = (event.target as Element).closest(".opd-list") !== null;
  const length = record?.length ?? 0;
  const go = (token: number) => (): void => actions.select({ token });
  const beside = (by: number) =>
    go(Math.max(0, Math.min(length - 1, state.token < 0 ? (by > 0 ? 0 : length - 1) : state.token + by)));
  const question = (by: number) => (): void => {
    const next = places.questions[state.question + by];
    if (next) actions.select({ question: next.id });
  };
  const rollout = (by: number) => (): void => step(state, by, actions);
  if (/^[1-9]$/.test(event.key)) {
    const teacher = places.teachers[Number(event.key) - 1];
    return teacher ? () => actions.select({ teacher: teacher.name }) : null;
  }
  const map: Record<string, (() => void) | undefined> = {
    ArrowRight: beside(1),
    ArrowLeft: beside(-1),
    Home: inList ? rollout(-1e9) : go(0),
    End: inList ? rollout(1e9) : go(length - 1),
    ArrowDown: inList ? rollout(1) : undefined,
    ArrowUp: inList ? rollout(-1) : undefined,
    v: () => led(state, actions, 1, nextFinite),
    V: () => led(state, actions, -1, nextFinite),
    n: () => led(state, actions, 1, nextLargest),
    p: () => led(state, actions, -1, nextLargest),
    j: rollout(1),
    k: rollout(-1),
    "]": question(1),
    "[": question(-1),
    f: () => enter(".opd-text-find"),
    g: () => enter(".opd-goto"),
    "?": help,
  };
  return map[event.key] ?? null;
}

export interface AlignmentKeyTargets {
  state(): AlignmentState | null;
  actions: AlignmentActions;
  help(): void;
  /** Puts the cursor into a field. */
  enter(field: string): void;
}

export function alignmentKeys(root: HTMLElement, targets: AlignmentKeyTargets, signal: AbortSignal): void {
  onKeys(
    root,
    (event) => {
      const state = targets.state();
      return state && action(event, state, targets.actions, targets);
    },
    signal,
  );
}
