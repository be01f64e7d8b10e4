/** Success as a colour: around the question's own, or from 0 to 1. */
import { colourClass, legendSteps, position, type ScaleSpec } from "../scale";

export type Colouring = "mean" | "success";

export interface SuccessScale {
  /** Class of a success; NaN has one too. */
  colour(success: number): string;
  /** The scale's fields from 0 to 1 as classes; between `below` and `above` lies the middle. */
  below: string[];
  above: string[];
  /** NaN for the scale from 0 to 1. */
  middle: number;
}

/** `middle`: the question's own success; where it is not known, colour goes from 0 to 1. */
export function successScale(colouring: Colouring, middle: number): SuccessScale {
  if (colouring === "success" || Number.isNaN(middle)) {
    const spec: ScaleSpec = { scale: "sequential", limit: 1, noise: null };
    const { above } = legendSteps(spec);
    return { colour: (success) => colourClass(success, spec), below: [], above, middle: Number.NaN };
  }
  const spec: ScaleSpec = { scale: "diverging", limit: Math.max(middle, 1 - middle), noise: null };
  const { below, above } = legendSteps(spec);
  // The scale has one unit on both sides: the shorter side does not reach its end's colour.
  const reach = (end: number): number => Math.max(1, Math.round(Math.abs(position(end, spec)) * above.length));
  return {
    colour: (success) => colourClass(success - middle, spec),
    below: below.slice(below.length - reach(-middle)),
    above: above.slice(0, reach(1 - middle)),
    middle,
  };
}
