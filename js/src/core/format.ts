/** Numbers and signs as a reader meets them. A real minus sign, no false zeros, words where there is no number. */

const MINUS = "−";
const SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scientific(size: number): string {
  const [digits, power] = size.toExponential(1).split("e");
  const figures = [...String(Math.abs(Number(power)))].map((d) => SUPER[Number(d)]).join("");
  return `${digits}×10${Number(power) < 0 ? "⁻" : ""}${figures}`;
}

function magnitude(size: number, digits: number): string {
  if (size === 0) return "0";
  if (size >= 1e6) return scientific(size);
  if (size >= 1000) return size.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u2009");
  const text = size.toFixed(size >= 100 ? Math.min(1, digits) : digits);
  return Number(text) === 0 ? scientific(size) : text;
}

export interface NumberStyle {
  /** Decimal places for ordinary sizes. */
  digits?: number;
  /** Show a plus sign. */
  signed?: boolean;
  /** For NaN. */
  missing?: string;
  /** Whole numbers (a rank) carry no decimals. */
  whole?: boolean;
}

export function formatNumber(value: number, style: NumberStyle = {}): string {
  const { digits = 2, signed = false, missing = "not scored", whole = false } = style;
  if (Number.isNaN(value)) return missing;
  const sign = value < 0 ? MINUS : signed && value > 0 ? "+" : "";
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return `${sign}∞`;
  return sign + magnitude(size, whole && Number.isInteger(size) ? 0 : digits);
}

/** A number for a narrow column: tiny values read as zero there, the panel has the digits. */
export function formatShort(value: number, style: NumberStyle = {}): string {
  const { digits = 2 } = style;
  return Math.abs(value) < 0.5 * 10 ** -digits ? (0).toFixed(digits) : formatNumber(value, style);
}

export function formatProbability(logp: number): string {
  if (Number.isNaN(logp)) return "–";
  const p = Math.exp(logp);
  return p > 0 && p < 0.0005 ? "<0.001" : p.toFixed(3);
}

export const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`;
