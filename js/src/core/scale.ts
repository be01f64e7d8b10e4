/** From a value to the class that colours it. A class, not a colour: recolouring then is one string a cell. */

/** Steps on each side of zero. */
export const STEPS = 12;

export interface ScaleSpec {
  scale: "diverging" | "sequential" | "log";
  /** End of the scale; what lies beyond takes the end's colour. */
  limit: number;
  /** Values nearer to zero than this cannot be told from zero; null where it was not measured. */
  noise: number | null;
}

const names = (side: string): string[] => Array.from({ length: STEPS }, (_, i) => `opd-v-${side}${i + 1}`);
const BELOW = names("n");
const ABOVE = names("p");
const LEVEL = names("q");

/** Position of a finite value on its scale: -1 to 1 (diverging), 0 to 1 (the others), clipped. */
export function position(value: number, spec: ScaleSpec): number {
  const { scale, limit } = spec;
  const raw =
    scale === "log" ? Math.log(Math.max(1, value)) / Math.log(Math.max(limit, 1 + 1e-6)) : value / (limit || 1);
  return Math.max(scale === "diverging" ? -1 : 0, Math.min(1, raw));
}

/** Whether a value is too small to be told from zero. Ranks have no zero, so no noise band. */
export function inNoise(value: number, spec: ScaleSpec): boolean {
  return spec.noise !== null && spec.scale !== "log" && Math.abs(value) < spec.noise;
}

export function colourClass(value: number, spec: ScaleSpec): string {
  if (Number.isNaN(value)) return "opd-v-nan";
  if (value === Number.POSITIVE_INFINITY) return "opd-v-inf";
  if (value === Number.NEGATIVE_INFINITY) return "opd-v-ninf";
  if (inNoise(value, spec)) return "opd-v-noise";
  if (value < 0 && spec.scale !== "diverging") return "opd-v-under";
  const at = position(value, spec);
  const step = Math.round(Math.abs(at) * STEPS);
  if (step === 0) return "opd-v-zero";
  if (spec.scale !== "diverging") return LEVEL[step - 1];
  return (at < 0 ? BELOW : ABOVE)[step - 1];
}

/** The legend's fields from the lower end to the upper, as classes; the gap between them is the caller's. */
export function legendSteps(spec: ScaleSpec): { below: string[]; above: string[] } {
  if (spec.scale !== "diverging") return { below: [], above: LEVEL };
  return { below: [...BELOW].reverse(), above: ABOVE };
}
