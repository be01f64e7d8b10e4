import { describe, expect, it } from "vitest";
import { parseHex, type Rgb, toOklab } from "../src/core/colour";
import { paletteCss, ramp, THEMES, type ThemeName } from "../src/core/palette";
import { STEPS } from "../src/core/scale";

/**
 * Colours as a dichromat sees them: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
 * Deficiency", IEEE TVCG 15(6), 2009, the matrices of severity 1, on linear RGB.
 */
const SEEN = {
  all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protan: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deutan: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritan: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
type Vision = keyof typeof SEEN;
const VISIONS = Object.keys(SEEN) as Vision[];

const linear = (c: number): number => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const gamma = (c: number): number => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);

function seen(colour: Rgb, vision: Vision): Rgb {
  const m = SEEN[vision];
  const [r, g, b] = colour.map(linear);
  const at = (i: number): number => gamma(Math.min(1, Math.max(0, m[i] * r + m[i + 1] * g + m[i + 2] * b)));
  return [at(0), at(3), at(6)];
}

/** Distance in OKLab, where about 0.02 is the least that side by side is told apart. */
function apart(a: Rgb, b: Rgb, vision: Vision): number {
  const [x, y] = [a, b].map((colour) => toOklab(seen(colour, vision)));
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

/** What is printed into the style sheet, so that rounding to hex is in it. */
function printed(theme: ThemeName, name: string): Rgb {
  const blocks = paletteCss().match(/\{--opd-page:[^}]*\}/g) ?? [];
  const hex = new RegExp(`--opd-${name}:(#[\\da-f]{6})`).exec(blocks[THEMES.indexOf(theme)])?.[1];
  return parseHex(hex as string);
}

const JUST = 0.02;

describe("a simulated eye", () => {
  it("leaves grey grey, and takes red from green only where they are confused", () => {
    for (const vision of VISIONS)
      expect(apart([0.5, 0.5, 0.5], seen([0.5, 0.5, 0.5], vision), "all")).toBeLessThan(1e-3);
    const [red, green]: Rgb[] = [parseHex("#c06000"), parseHex("#708000")];
    expect(apart(red, green, "all")).toBeGreaterThan(2 * apart(red, green, "deutan"));
    expect(apart(red, green, "tritan")).toBeGreaterThan(2 * apart(red, green, "deutan"));
  });
});

describe.each(THEMES)("colours of the %s theme", (theme) => {
  it.each(VISIONS)("tell the signs apart from the first step on, and the more the larger (%s)", (vision) => {
    const [below, above] = [ramp(theme, "n"), ramp(theme, "p")];
    const distances = below.map((colour, i) => apart(colour, above[i], vision));
    expect(distances[0]).toBeGreaterThan(1.5 * JUST);
    for (let i = 1; i < STEPS; i++) expect(distances[i]).toBeGreaterThan(distances[i - 1]);
    expect(distances[STEPS - 1]).toBeGreaterThan(10 * JUST);
    expect(apart(printed(theme, "n-mark"), printed(theme, "p-mark"), vision)).toBeGreaterThan(8 * JUST);
  });

  it.each(VISIONS)("stand further off the page with every step (%s)", (vision) => {
    const page = printed(theme, "page");
    for (const name of ["n", "p", "q"] as const) {
      const distances = ramp(theme, name).map((colour) => apart(colour, page, vision));
      for (let i = 1; i < STEPS; i++) expect(distances[i]).toBeGreaterThan(distances[i - 1]);
      expect(distances[0]).toBeGreaterThan(JUST);
      expect(distances[STEPS - 1]).toBeGreaterThan(10 * JUST);
    }
  });
});
