/** What a tree's numbers say, in words: the same in a row's name, in the panel and in the legend. */
import { formatNumber, plural } from "../../core/format";
import { ENDINGS, type Ending, type QuestionTree, type Success } from "../../core/tree/question";
import type { TreeState } from "./state";

/** How a response ends: by sign, colour and name. A truncated one was never shown to the verifier. */
export const ENDING_SIGNS: Record<Ending, string> = { correct: "✓", incorrect: "✗", truncated: "⇥", unverified: "?" };

/** A success with two or three places: what is next to 0 or 1 and is neither says so. */
export function share(value: number, digits = 2): string {
  if (Number.isNaN(value)) return "not known";
  const least = 10 ** -digits;
  if (value > 0 && value < least / 2) return `<${least.toFixed(digits)}`;
  if (value < 1 && value > 1 - least / 2) return `>${(1 - least).toFixed(digits)}`;
  return value.toFixed(digits);
}

/** A node's alignment as a mark: which way by shape, hollow where its interval holds 0. */
export interface Mark {
  sign: string;
  /** Ending of the class. */
  name: "along" | "against" | "none";
  words: string;
}

export function alignmentMark(state: TreeState, node: number, teacher = state.teacher): Mark {
  if (teacher < 0) return { sign: "◇", name: "none", words: "no teacher" };
  const { at, low, high, verdict } = state.tree.alignment(node, teacher, state.places.teachers.length);
  if (Number.isNaN(at)) return { sign: "◇", name: "none", words: state.verdicts[verdict] || "no alignment" };
  const sure = low > 0 || high < 0;
  const range = `${signed(at)} (${signed(low)} to ${signed(high)})`;
  if (at >= 0) return { sign: sure ? "▲" : "△", name: "along", words: range };
  return { sign: sure ? "▼" : "▽", name: "against", words: range };
}

const signed = (value: number): string => formatNumber(value, { signed: true });

/** Where a success comes from. `level`: what an interval holds. */
export function told({ told: how, correct, own }: Success, level: number): string {
  const range = `; in brackets its ${Math.round(100 * level)}% interval`;
  if (how === "node") return `posterior mean of the diagnosis at a node${range}`;
  if (how === "candidate") return `posterior mean of the diagnosis behind a candidate${range}`;
  if (how === "share")
    return `share of rollouts: ${correct} of ${own} that go on by themselves from here, with a verdict`;
  return "no rollout with a verdict goes on by itself from here";
}

export const ofRollouts = (n: number, state: TreeState): string =>
  `${plural(n, state.visits === "initial" ? "initial rollout" : "rollout")}`;

/** A row for a screen reader. */
export function rowName(state: TreeState, run: number): string {
  const { tree, visits } = state;
  const node = tree.node(run);
  const text = tree
    .tokens(run)
    .slice(0, 40)
    .map((token) => tree.texts[token][0])
    .join("");
  const ends = tree.endings(run);
  return [
    text.replace(/\s+/g, " ") || "start",
    `success ${share(tree.success(run).mean)}`,
    ofRollouts(tree.visits(visits)[run], state),
    ends.length > 0 ? `ends ${ends.join(" or ")}` : "",
    node >= 0 ? `node ${node}, alignment ${alignmentMark(state, node).words}` : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}

/** "107 rollouts: 60 ✓ 47 ✗", without what is not there. */
export function countsOf(
  tree: QuestionTree,
  run: number,
  visits: TreeState["visits"],
): { ending: Ending; n: number }[] {
  const counts = tree.ended(run, visits);
  return ENDINGS.map((ending, e) => ({ ending, n: counts[e] })).filter(({ n }) => n > 0);
}
