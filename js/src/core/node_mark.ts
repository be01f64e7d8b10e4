/** How a token of a diagnosed rollout is drawn: by the alignment of the node it stands at, or by why there is none. */
import { own } from "./own";
import { colourClass, type ScaleSpec } from "./scale";

export type Standing = "scored" | "open" | "silent" | "outside" | "few" | "unscored";

/** A cosine: one scale for every teacher and question. */
export const COSINE: ScaleSpec = { scale: "diverging", limit: 1, noise: null };

export interface NodeScore {
  /** The result's word; "" where there is an alignment. */
  verdict: string;
  alignment: number;
  low: number;
  high: number;
}

const WORDS: Record<string, Standing> = {
  "no signal": "silent",
  "points outside the support": "outside",
  "not enough visits": "few",
};

/** "open": the interval holds 0, so that the sign is not settled. */
export function standing(score: NodeScore | null): Standing {
  if (score === null) return "unscored";
  if (score.verdict !== "") return own(WORDS, score.verdict) ?? "silent";
  return score.low <= 0 && score.high >= 0 ? "open" : "scored";
}

export function markClass(score: NodeScore | null): string {
  const how = standing(score);
  if (score === null || how === "unscored") return "opd-a-unscored";
  if (how === "scored") return colourClass(score.alignment, COSINE);
  return how === "open" ? `${colourClass(score.alignment, COSINE)} opd-a-open` : `opd-a-${how}`;
}

/** What a standing is called, in the legend and to a screen reader. */
export const STANDINGS: Record<Exclude<Standing, "scored">, string> = {
  open: "interval holds 0",
  silent: "no signal",
  outside: "points outside the support",
  few: "not enough visits",
  unscored: "not scored",
};
