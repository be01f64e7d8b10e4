import { describe, expect, it } from "vitest";
import { heat } from "../src/core/compare/heat";
import { prefixes, type Response, sharedCells } from "../src/core/compare/prefix";
import { rowsOfSteps } from "../src/core/compare/rows";
import { beyond, fittedLimit, roundUp } from "../src/core/compare/scale";
import { commonGroups, difference, track } from "../src/core/compare/track";
import type { ScaleSpec } from "../src/core/scale";

const NAN = Number.NaN;
const INF = Number.POSITIVE_INFINITY;

describe("difference of two rows", () => {
  it("is the first minus the second; missing stays missing, and the same infinity twice is undefined", () => {
    const a = track([1.5, NAN, INF, INF, -INF, 2], null, "sum");
    const b = track([0.25, 1, INF, -INF, 3, NAN], null, "sum");
    const made = difference(a, b, "sum");
    expect([...(made.values as Float64Array)]).toEqual([1.25, NAN, NAN, INF, -INF, NAN]);
    expect(made.groups).toBeNull();
  });

  it("of a cell of several tokens is that of what both rows show", () => {
    const a = track([1, 5], null, "max");
    const b = track([4, 3], null, "max");
    // 5 - 4, where the largest of the differences would be 2
    expect(difference(a, b, "max").cell(0, 2)).toBe(1);
  });

  it("is taken over the smallest groups that both sides have whole", () => {
    // tokens 0-1 one group of b; 2 alone; 3-4 not comparable together with 5's group
    const groups = Int32Array.from([0, 0, 1, 2, 2, -1]);
    const a = track([1, 2, 3, 4, 5, 6], null, "sum");
    const b = track([NAN, 10, 20, NAN, 30, NAN], groups, "sum");
    const made = difference(a, b, "sum");
    expect([...(made.groups as Int32Array)]).toEqual([0, 0, 1, 2, 2, -1]);
    expect([...(made.values as Float64Array)]).toEqual([NAN, 3 - 10, 3 - 20, NAN, 9 - 30, NAN]);
    expect([made.cell(0, 1), made.cell(1, 2)]).toEqual([-7, -7]);
    expect([made.apart(4, 5), made.apart(5, 6)]).toEqual([false, true]);
  });

  it("joins groups that overlap, and what has no counterpart makes its group so", () => {
    const a = Int32Array.from([0, 0, 1, 1, 2]);
    const b = Int32Array.from([0, 1, 1, 2, -1]);
    expect([...commonGroups(a, b)!]).toEqual([0, 0, 0, 0, -1]);
    const sums = difference(track([NAN, 3, NAN, 4, 9], a, "sum"), track([1, NAN, 2, 0.5, NAN], b, "sum"), "sum");
    expect([...(sums.values as Float64Array)]).toEqual([NAN, NAN, NAN, 7 - 3.5, NAN]);
    expect(commonGroups(null, null)).toBeNull();
  });
});

describe("ends of a scale", () => {
  it("are round, at the 99th percentile of finite counted sizes", () => {
    expect([0.9, 1, 1.2, 1.6, 4, 7.6, 0.03].map((v) => roundUp(v, 1e-6))).toEqual([1, 1, 1.5, 2, 5, 10, 0.03]);
    const values = Array.from({ length: 1000 }, (_, i) => (i < 995 ? (i % 2 ? 1.9 : -1.9) : 50));
    expect(fittedLimit([[{ values, mask: values.map(() => 1) }]])).toBe(2);
    expect(fittedLimit([[{ values: [NAN, INF, 9, 0.4], mask: [1, 1, 0, 1] }]])).toBe(0.5);
    expect(fittedLimit([])).toBe(1);
  });

  it("are those of the middle teacher, of two the lower; one inside the noise band has no say", () => {
    const teacher = (size: number): { values: number[]; mask: number[] }[] => [{ values: [size, -size], mask: [1, 1] }];
    expect(fittedLimit([teacher(9), teacher(2), teacher(4)])).toBe(5);
    expect(fittedLimit([teacher(9), teacher(2)])).toBe(2);
    expect(fittedLimit([teacher(9), teacher(0.1), [], teacher(4)], 0.1)).toBe(5);
    expect(fittedLimit([teacher(0.1)], 0.5)).toBe(0.5);
  });

  it("are not moved much by looking at every so many-th of very many values", () => {
    const values = Float32Array.from({ length: 1_000_000 }, (_, i) => Math.sin(i));
    expect(fittedLimit([[{ values, mask: new Uint8Array(values.length).fill(1) }]])).toBe(1);
  });

  it("know on which side some value lies beyond", () => {
    expect(beyond([{ values: [1, -3, NAN, 9], mask: [1, 1, 1, 0] }], 2)).toEqual({ below: true, above: false });
  });
});

describe("shared beginnings", () => {
  const response = (texts: string[], ids: (number | null)[]): Response => ({
    starts: texts.map((_, i) => i),
    texts,
    length: texts.length,
    id: (token) => ids[token],
  });

  it("go by id where both are known, else by text", () => {
    const a = response(["1", "+", "2"], [1, 2, 3]);
    expect(sharedCells(a, response(["1", "+", "2"], [1, 9, 3]))).toBe(1);
    expect(sharedCells(a, response(["1", "+", "3"], [null, null, null]))).toBe(2);
    expect(sharedCells(a, response(["1", "+"], [1, 2]))).toBe(2);
  });

  it("are told for all and for those that go along longest", () => {
    const of = (word: string): Response =>
      response(
        [...word],
        [...word].map((c) => c.charCodeAt(0)),
      );
    expect(prefixes([of("abcd"), of("abcx"), of("abz"), of("abzz")])).toEqual([
      { all: 2, own: 3, others: 1 },
      { all: 2, own: 3, others: 1 },
      { all: 2, own: 3, others: 1 },
      { all: 2, own: 3, others: 1 },
    ]);
    expect(prefixes([of("abc")])).toEqual([{ all: 0, own: 0, others: 0 }]);
    expect(prefixes([of("ab"), of("xy")]).map((p) => p.own)).toEqual([0, 0]);
  });
});

describe("the map of steps", () => {
  const spec: ScaleSpec = { scale: "diverging", limit: 2, noise: 0.1 };

  it("has one path a colour, and as many as there are colours however long the rollout", () => {
    const { paths, columns, rows } = heat(
      [
        [2, 2, NAN, -2],
        [0, 0.05, 0, 0],
      ],
      [1, 1, 1, 1],
      spec,
    );
    expect([columns, rows]).toEqual([4, 2]);
    expect(paths.get("opd-v-p12")).toBe("M0 0h2v1h-2z");
    expect(paths.get("opd-v-nan")).toBe("M2 0h1v1h-1z");
    expect(paths.get("opd-v-n12")).toBe("M3 0h1v1h-1z");
    const long = Float32Array.from({ length: 32_768 }, (_, i) => 3 * Math.sin(i));
    const big = heat([long, long], new Uint8Array(long.length).fill(1), spec);
    expect(big.columns).toBe(400);
    expect(big.paths.size).toBeLessThan(30);
  });

  it("gives rows of text to first, last and the selected of many steps", () => {
    expect(rowsOfSteps(3, 1, 8)).toEqual([0, 1, 2]);
    const rows = rowsOfSteps(100, 37, 8);
    expect(rows.length).toBe(9);
    expect(rows).toEqual([...rows].sort((a, b) => a - b));
    expect([rows[0], rows[8], rows.includes(37)]).toEqual([0, 99, true]);
  });
});
