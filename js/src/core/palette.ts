/**
 * The colours of the scales. Zero is the page itself, so that a token nobody disagrees about vanishes into it; both ends of the
 * diverging scale have one lightness, so that neither sign looks stronger; text keeps one ink on every step of a theme.
 */
import { fromOklch, mix, parseHex, type Rgb, toHex } from "./colour";
import { type Ink, MORE } from "./contrast";
import { STEPS } from "./scale";

/** A theme of the host, as it is and with more contrast. */
export type ThemeName = "light" | "dark" | "light-more" | "dark-more";
export const THEMES: readonly ThemeName[] = ["light", "dark", "light-more", "dark-more"];
export type Ramp = "n" | "p" | "q";
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
  // Weaker fields and stronger ink than above: text keeps 7:1 on every step, and the marks carry what the fields lose.
  "light-more": {
    page: "#ffffff",
    ink: "#000000",
    noise: "#ececee",
    noiseInk: "#3f4246",
    ends: { n: fromOklch(0.72, 0.15, 54), p: fromOklch(0.72, 0.12, 250), q: fromOklch(0.72, 0.15, 325) },
    marks: { n: fromOklch(0.42, 0.12, 48), p: fromOklch(0.38, 0.15, 258), q: fromOklch(0.38, 0.16, 325) },
  },
  "dark-more": {
    page: "#000000",
    ink: "#ffffff",
    noise: "#1c1e21",
    noiseInk: "#c8ccd1",
    ends: { n: fromOklch(0.44, 0.11, 52), p: fromOklch(0.44, 0.14, 258), q: fromOklch(0.44, 0.15, 325) },
    marks: { n: fromOklch(0.86, 0.12, 70), p: fromOklch(0.85, 0.09, 250), q: fromOklch(0.85, 0.11, 325) },
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

/** The thin marks with the page, and with the strongest field they lie on. */
export function markPairs(theme: ThemeName): [Rgb, Rgb][] {
  const { page, ends, marks } = BASES[theme];
  return (["n", "p", "q"] as const).flatMap((name): [Rgb, Rgb][] => [
    [marks[name], parseHex(page)],
    [marks[name], ends[name]],
  ]);
}

function variables(theme: ThemeName): string {
  const { page, ink, noise, noiseInk, marks } = BASES[theme];
  const lines = [`--opd-page:${page}`, `--opd-ink:${ink}`, `--opd-noise:${noise}`, `--opd-noise-ink:${noiseInk}`];
  for (const name of ["n", "p", "q"] as const) {
    lines.push(`--opd-${name}-mark:${toHex(marks[name])}`);
    ramp(theme, name).forEach((rgb, i) => {
      lines.push(`--opd-${name}${i + 1}:${toHex(rgb)}`);
    });
  }
  const inks = theme === "light-more" ? MORE.light : theme === "dark-more" ? MORE.dark : {};
  for (const [name, rgb] of Object.entries(inks) as [Ink, Rgb][]) lines.push(`--opd-${name}:${toHex(rgb)}`);
  return `${lines.join(";")};`;
}

/** Sign without colour: a bar under what is below zero, over what is above. Drawn inside the cell, so that no switch moves text. */
function bar(name: Ramp, step: number): string {
  if (name === "q") return "";
  // Weak values have weak bars, or the bars of many small values would outshout one large field.
  const colour = `color-mix(in oklab,var(--opd-${name}-mark) ${Math.round(30 + (70 * step) / STEPS)}%,var(--opd-page))`;
  return `;box-shadow:inset 0 ${name === "n" ? -2 : 2}px ${colour}`;
}

const steps = (before: string, name: Ramp): string =>
  Array.from({ length: STEPS }, (_, i) => `${before}.opd-v-${name}${i + 1}`).join(",");

/** With more contrast every bar is full and thicker. `:where` keeps the weight of the rules it replaces. */
const MORE_ROOT = '.opd-root[data-opd-contrast="more"]';
const thick = (name: Ramp): string =>
  `${steps(`:where(${MORE_ROOT}) `, name)}{box-shadow:inset 0 ${name === "n" ? -3 : 3}px var(--opd-${name}-mark)}`;

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
    `${MORE_ROOT}{${variables("light-more")}}`,
    `@media not print{${MORE_ROOT}[data-opd-theme="dark"]{${variables("dark-more")}}}`,
    ...classes,
    thick("n"),
    thick("p"),
    // Where the host forces its own colours, only lines are left.
    `@media (forced-colors:active){${steps(".opd-cell", "n")}{border-bottom:2px solid}${steps(".opd-cell", "p")}{border-top:2px solid}}`,
  ].join("\n");
}
