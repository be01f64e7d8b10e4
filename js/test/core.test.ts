import { describe, expect, it } from "vitest";
import { aggregate, cellMasked, cellOf, tokensOf } from "../src/core/cells";
import { contrast, mix, parseHex, toHex, toOklab } from "../src/core/colour";
import { formatNumber, formatProbability, formatShort } from "../src/core/format";
import { arrange, type ListEntry } from "../src/core/listing";
import { paletteCss, ramp, textPairs } from "../src/core/palette";
import { profile } from "../src/core/profile";
import { colourClass, legendSteps, type ScaleSpec, STEPS } from "../src/core/scale";
import { stats } from "../src/core/stats";
import { rankOf, shortRows, unionRows } from "../src/core/topk";

const diverging: ScaleSpec = { scale: "diverging", limit: 12, noise: 0.1 };

describe("colour", () => {
  it("mixes evenly in OKLab and returns its ends", () => {
    expect(toHex(mix(parseHex("#ffffff"), parseHex("#204080"), 0))).toBe("#ffffff");
    expect(toHex(mix(parseHex("#ffffff"), parseHex("#204080"), 1))).toBe("#204080");
    expect(contrast(parseHex("#000000"), parseHex("#ffffff"))).toBeCloseTo(21, 5);
  });

  for (const theme of ["light", "dark"] as const) {
    it(`keeps all text at 4.5:1 on every step, ${theme}`, () => {
      for (const [ink, field] of textPairs(theme)) {
        expect(contrast(ink, field), `${toHex(ink)} on ${toHex(field)}`).toBeGreaterThanOrEqual(4.5);
      }
    });

    it(`steps by equal lightness, ${theme}`, () => {
      for (const name of ["n", "p", "q"] as const) {
        const light = ramp(theme, name).map((rgb) => toOklab(rgb)[0]);
        const steps = light.slice(1).map((l, i) => Math.abs(l - light[i]));
        expect(Math.max(...steps) - Math.min(...steps)).toBeLessThan(0.01);
        expect(Math.min(...steps)).toBeGreaterThan(0.015);
      }
    });
  }

  it("gives neither sign the stronger end", () => {
    for (const theme of ["light", "dark"] as const) {
      const [n, p] = (["n", "p"] as const).map((name) => toOklab(ramp(theme, name)[STEPS - 1])[0]);
      expect(Math.abs(n - p)).toBeLessThan(0.03);
    }
  });

  it("prints light whatever the theme", () => {
    expect(paletteCss()).toContain('@media not print{.opd-root[data-opd-theme="dark"]');
  });
});

describe("scale", () => {
  it("names every kind of value", () => {
    expect(colourClass(0, { ...diverging, noise: null })).toBe("opd-v-zero");
    expect(colourClass(0.2, diverging)).toBe("opd-v-zero");
    expect(colourClass(0.09, diverging)).toBe("opd-v-noise");
    expect(colourClass(-0.09, diverging)).toBe("opd-v-noise");
    expect(colourClass(Number.NaN, diverging)).toBe("opd-v-nan");
    expect(colourClass(Number.NEGATIVE_INFINITY, diverging)).toBe("opd-v-ninf");
    expect(colourClass(Number.POSITIVE_INFINITY, diverging)).toBe("opd-v-inf");
  });

  it("bins by size and sign, and clips", () => {
    expect(colourClass(-12, diverging)).toBe("opd-v-n12");
    expect(colourClass(-99, diverging)).toBe("opd-v-n12");
    expect(colourClass(6, diverging)).toBe("opd-v-p6");
    expect(colourClass(1, diverging)).toBe("opd-v-p1");
    expect(colourClass(4, { scale: "sequential", limit: 4, noise: null })).toBe("opd-v-q12");
    expect(colourClass(-1, { scale: "sequential", limit: 4, noise: null })).toBe("opd-v-under");
  });

  it("is logarithmic for ranks, and a rank has no noise band", () => {
    const log: ScaleSpec = { scale: "log", limit: 1000, noise: 5 };
    expect(colourClass(1, log)).toBe("opd-v-zero");
    expect(colourClass(10, log)).toBe("opd-v-q4");
    expect(colourClass(1000, log)).toBe("opd-v-q12");
  });

  it("lists the legend from low to high", () => {
    expect(legendSteps(diverging).below[0]).toBe("opd-v-n12");
    expect(legendSteps(diverging).above.at(-1)).toBe("opd-v-p12");
    expect(legendSteps({ ...diverging, scale: "log" }).below).toEqual([]);
  });
});

describe("cells", () => {
  const values = [1, 2, 4, -8, Number.NaN];
  it("adds, takes the largest, averages; one missing part makes the whole missing", () => {
    const cells = [0, 1, 2].map((cell) => tokensOf([0, 1, 3], cell, 4));
    expect(cells.map(([from, to]) => aggregate(values, from, to, "sum"))).toEqual([1, 6, -8]);
    expect(aggregate(values, 0, 4, "max")).toBe(4);
    expect(aggregate(values, 0, 4, "mean")).toBe(-0.25);
    expect(aggregate(values, 3, 5, "sum")).toBeNaN();
    expect(aggregate([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY], 0, 2, "sum")).toBeNaN();
  });

  it("finds the cell of a token", () => {
    expect([-1, 0, 1, 2, 3, 9].map((t) => cellOf([0, 1, 3], t))).toEqual([-1, 0, 1, 1, 2, 2]);
    expect(cellOf([], 0)).toBe(-1);
  });

  it("is masked only where no token is the student's", () => {
    expect(cellMasked([1, 0, 0], 1, 3)).toBe(true);
    expect(cellMasked([1, 0, 0], 0, 3)).toBe(false);
  });
});

describe("aggregates of a rollout", () => {
  it("counts infinities beside the mean and leaves the masked out", () => {
    const made = stats([1, 3, Number.NEGATIVE_INFINITY, Number.NaN, 100], [1, 1, 1, 1, 0]);
    expect(made).toEqual({ mean: 2, sum: 4, finite: 2, below: 1, above: 0 });
    expect(stats([Number.NaN], [1]).mean).toBeNaN();
  });
});

describe("numbers", () => {
  it("uses a real minus, a sign where asked, words where there is none", () => {
    expect(formatNumber(-15.428)).toBe("−15.43");
    expect(formatNumber(1.5, { signed: true })).toBe("+1.50");
    expect(formatNumber(Number.NaN)).toBe("not scored");
    expect(formatNumber(Number.NEGATIVE_INFINITY)).toBe("−∞");
    expect(formatNumber(0)).toBe("0");
    expect(formatNumber(-0.00012)).toBe("−1.2×10⁻⁴");
    expect(formatNumber(12345, { whole: true })).toBe("12\u2009345");
    expect(formatShort(0.001)).toBe("0.00");
    expect(formatProbability(Math.log(0.5))).toBe("0.500");
    expect(formatProbability(-20)).toBe("<0.001");
    expect(formatProbability(Number.NEGATIVE_INFINITY)).toBe("0.000");
  });
});

describe("profile", () => {
  it("draws up, down, infinite and nothing", () => {
    const made = profile([6, -6, Number.NaN, Number.POSITIVE_INFINITY, 5], [1, 1, 1, 1, 0], diverging, 3, 20);
    expect(made.columns).toBe(3);
    const full = profile([6, -6, Number.NaN, Number.POSITIVE_INFINITY, 5], [1, 1, 1, 1, 0], diverging, 99, 20);
    expect(full.above).toContain("v-5h");
    expect(full.below).toContain("v5h");
    expect(full.infinite).toContain("v-10h");
    expect(full.gap.match(/M/g)).toHaveLength(2);
    expect(profile([], [], diverging, 9, 20).base).toBe("");
  });
});

describe("top-k", () => {
  const student = [
    { id: 1, student: Math.log(0.6), teacher: Math.log(0.01) },
    { id: 2, student: Math.log(0.3), teacher: Number.NaN },
  ];
  const teacher = [
    { id: 9, student: Math.log(0.001), teacher: Math.log(0.9) },
    { id: 2, student: Math.log(0.3), teacher: Math.log(0.05) },
  ];
  it("joins both lists, sorted by the student", () => {
    const rows = unionRows(student, teacher);
    expect(rows.map((r) => r.id)).toEqual([1, 2, 9]);
    expect(rows[1].teacher).toBeCloseTo(Math.log(0.05));
  });
  it("never cuts what only the teacher wants, nor the sampled token", () => {
    const rows = unionRows(student, teacher);
    expect(shortRows(rows, 2, null).map((r) => r.id)).toEqual([1, 9]);
    expect(shortRows(rows, 1, 2).map((r) => r.id)).toEqual([2, 9]);
  });
  it("ranks", () => {
    expect(rankOf(student, 2, "student")).toBe(2);
    expect(rankOf(student, 7, "student")).toBeNull();
  });
});

describe("list", () => {
  const entry = (index: number, outcome: string, mean: number, question = "q"): ListEntry => ({
    index,
    outcome,
    mean,
    question,
    title: question,
    text: `text ${index}`,
    length: index,
  });
  const all = [
    entry(0, "correct", 1),
    entry(1, "incorrect", Number.NaN),
    entry(2, "incorrect", -3, "r"),
    entry(3, "correct", 2),
  ];
  const ids = (query: Partial<Parameters<typeof arrange>[1]>): (number | string)[] =>
    arrange(all, { filter: "all", find: "", sort: "given", ...query }).map((l) =>
      l.kind === "rollout" ? l.index : l.title,
    );

  it("filters, finds and sorts, the unscored last", () => {
    expect(ids({ filter: "incorrect" })).toEqual([1, 2]);
    expect(ids({ find: "TEXT 2" })).toEqual([2]);
    expect(ids({ sort: "up" })).toEqual([2, 0, 3, 1]);
    expect(ids({ sort: "down" })).toEqual([3, 0, 2, 1]);
    expect(ids({ sort: "length" })).toEqual([3, 2, 1, 0]);
    expect(ids({ sort: "question" })).toEqual(["q", 0, 1, 3, "r", 2]);
  });

  it("leaves a rollout without a question alone, under its own title", () => {
    const alone = [0, 1].map((index) => ({ ...entry(index, "correct", 1, ""), title: `asked ${index}` }));
    const lines = arrange([...alone, entry(2, "correct", 1)], { filter: "all", find: "", sort: "question" });
    expect(lines.flatMap((l) => (l.kind === "question" ? [[l.title, l.count]] : []))).toEqual([
      ["asked 0", 1],
      ["asked 1", 1],
      ["q", 1],
    ]);
  });
});
