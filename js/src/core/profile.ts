/**
 * A rollout's values as bars round a zero line, as SVG path data in a box `width` wide. The width is near the pixels it will take:
 * a box a few units wide, stretched fortyfold, is drawn with blurred edges.
 */
import { inNoise, position, type ScaleSpec } from "./scale";

export interface Profile {
  width: number;
  columns: number;
  /** Height of zero. */
  zero: number;
  above: string;
  below: string;
  /** Infinite values: full height, drawn in another way. */
  infinite: string;
  /** The zero line, only where something was scored. */
  base: string;
  /** Where nothing was. */
  gap: string;
}

/** The value that some tokens drawn as one stand for: the one farthest from zero of all, since that is what the eye looks for. */
export function strongest(values: ArrayLike<number>, mask: ArrayLike<number>, from: number, to: number): number {
  let best = Number.NaN;
  for (let i = from; i < to; i++) {
    if (mask[i] === 0 || Number.isNaN(values[i])) continue;
    if (Number.isNaN(best) || Math.abs(values[i]) > Math.abs(best)) best = values[i];
  }
  return best;
}

const round = (n: number): number => Math.round(n * 100) / 100;

export function profile(
  values: ArrayLike<number>,
  mask: ArrayLike<number>,
  spec: ScaleSpec,
  width: number,
  height: number,
): Profile {
  const n = values.length;
  const columns = Math.max(1, Math.min(n, width));
  const unit = width / columns;
  const zero = spec.scale === "diverging" ? height / 2 : height - 0.5;
  const inset = unit >= 3 ? Math.min(3, 0.08 * unit) : 0;
  const out: Profile = { width, columns, zero, above: "", below: "", infinite: "", base: "", gap: "" };
  for (let c = 0; c < columns && n > 0; c++) {
    const from = Math.floor((c * n) / columns);
    const value = strongest(values, mask, from, Math.max(from + 1, Math.floor(((c + 1) * n) / columns)));
    const line = `M${round(c * unit)} ${zero}h${round(unit)}`;
    if (Number.isNaN(value)) {
      out.gap += line;
      continue;
    }
    out.base += line;
    if (inNoise(value, spec)) continue;
    const bounded = Number.isFinite(value);
    const at = bounded ? position(value, spec) : Math.sign(value);
    const rise = round(-at * (spec.scale === "diverging" ? zero : zero - 0.5));
    if (rise === 0) continue;
    const bar = `M${round(c * unit + inset)} ${zero}v${rise}h${round(unit - 2 * inset)}v${-rise}z`;
    if (!bounded) out.infinite += bar;
    else if (at < 0) out.below += bar;
    else out.above += bar;
  }
  return out;
}
