/**
 * The colours of the scales. Zero is the page itself, so that a token nobody disagrees about vanishes into it; both ends of the
 * diverging scale have one lightness, so that neither sign looks stronger; text keeps one ink on every step of a theme.
 */
import { contrast, fromOklch, mix, parseHex, type Rgb, toHex } from "./colour";

export type ThemeName = "light" | "dark";
export type Ramp = "n" | "p" | "q";
/** Steps on each side of zero. */
export const STEPS = 12;
/** The first step starts a little off the page, or it could not be told from it. */
const FIRST = 0.1;

interface Base {
  page: string;
  ink: string;
  /** Inside the noise band: neither the page nor a colour. */
  noise: string;
  noiseInk: string;
  ends: Record<Ramp, Rgb>;
  /** Thin marks and lines, which need more strength than fields. */
  marks: Record<Ramp, Rgb>;
}

const BASES: Record<ThemeName, Base> = {
  light: {
    page: "#ffffff",
    ink: "#16191d",
    noise: "#f5f5f6",
    noiseInk: "#63676d",
    ends: { n: fromOklch(0.66, 0.15, 54), p: fromOklch(0.64, 0.12, 250), q: fromOklch(0.64, 0.14, 325) },
    marks: { n: fromOklch(0.55, 0.16, 48), p: fromOklch(0.47, 0.14, 254), q: fromOklch(0.47, 0.16, 325) },
  },
  dark: {
    page: "#16181b",
    ink: "#f5f6f7",
    noise: "#1e2124",
    noiseInk: "#9b9fa5",
    ends: { n: fromOklch(0.53, 0.13, 52), p: fromOklch(0.53, 0.14, 254), q: fromOklch(0.52, 0.15, 325) },
    marks: { n: fromOklch(0.76, 0.15, 58), p: fromOklch(0.76, 0.12, 250), q: fromOklch(0.76, 0.14, 325) },
  },
};

/** Colours of steps 1 to STEPS. */
export function ramp(theme: ThemeName, name: Ramp): Rgb[] {
  const { page, ends } = BASES[theme];
  const from = parseHex(page);
  return Array.from({ length: STEPS }, (_, i) => mix(from, ends[name], FIRST + ((1 - FIRST) * (i + 1)) / STEPS));
}

/** Every pair of ink and ground that text of a cell can stand in, for the contrast test. */
export function textPairs(theme: ThemeName): [Rgb, Rgb][] {
  const { page, ink, noise, noiseInk } = BASES[theme];
  const fields = (["n", "p", "q"] as const).flatMap((name) => ramp(theme, name));
  return [
    [parseHex(noiseInk), parseHex(noise)],
    ...[parseHex(page), ...fields].map((field): [Rgb, Rgb] => [parseHex(ink), field]),
  ];
}

/** Lowest contrast of any text on any step. */
export const worstContrast = (theme: ThemeName): number =>
  Math.min(...textPairs(theme).map(([a, b]) => contrast(a, b)));

function variables(theme: ThemeName): string {
  const { page, ink, noise, noiseInk, marks } = BASES[theme];
  const lines = [`--opd-page:${page}`, `--opd-ink:${ink}`, `--opd-noise:${noise}`, `--opd-noise-ink:${noiseInk}`];
  for (const name of ["n", "p", "q"] as const) {
    lines.push(`--opd-${name}-mark:${toHex(marks[name])}`);
    ramp(theme, name).forEach((rgb, i) => {
      lines.push(`--opd-${name}${i + 1}:${toHex(rgb)}`);
    });
  }
  return `${lines.join(";")};`;
}

/** Sign without colour: a bar under what is below zero, over what is above. Drawn inside the cell, so that no switch moves text. */
function bar(name: Ramp, step: number): string {
  if (name === "q") return "";
  // Weak values have weak bars, or the bars of many small values would outshout one large field.
  const colour = `color-mix(in oklab,var(--opd-${name}-mark) ${Math.round(30 + (70 * step) / STEPS)}%,var(--opd-page))`;
  return `;box-shadow:inset 0 ${name === "n" ? -2 : 2}px ${colour}`;
}

/** Where the host forces its own colours, only lines are left. */
const forced = (name: Ramp): string =>
  Array.from({ length: STEPS }, (_, i) => `.opd-cell.opd-v-${name}${i + 1}`).join(",");

/**
 * The palette as style rules: variables once on the root, one class a step (a selector that matches a part of a class name would be
 * tried on every cell at every switch). Print and export are light.
 */
export function paletteCss(): string {
  const classes = (["n", "p", "q"] as const).flatMap((name) =>
    Array.from(
      { length: STEPS },
      (_, i) => `.opd-v-${name}${i + 1}{background-color:var(--opd-${name}${i + 1})${bar(name, i + 1)}}`,
    ),
  );
  return [
    `.opd-root{${variables("light")}}`,
    `@media not print{.opd-root[data-opd-theme="dark"]{${variables("dark")}}}`,
    ...classes,
    `@media (forced-colors:active){${forced("n")}{border-bottom:2px solid}${forced("p")}{border-top:2px solid}}`,
  ].join("\n");
}
