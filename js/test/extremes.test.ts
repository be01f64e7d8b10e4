import { describe, expect, it } from "vitest";
import { random } from "../dev/fixture";
import { jump, rank } from "../src/core/extremes";

/** The whole order by sorting: what a scan must agree with. */
function order(sizes: readonly number[]): number[] {
  const places = sizes.flatMap((size, i) => (Number.isNaN(size) ? [] : [i]));
  return places.sort((a, b) => (sizes[a] === sizes[b] ? a - b : sizes[a] > sizes[b] ? -1 : 1));
}

describe("jumps", () => {
  const sizes = [Number.NaN, 3, 2, Number.NaN, Number.POSITIVE_INFINITY, 3];
  it("go by size, infinities first, ties by position, and stop at both ends", () => {
    expect(order(sizes)).toEqual([4, 1, 5, 2]);
    expect([-1, 4, 1, 5, 2].map((from) => jump(sizes, from, 1))).toEqual([4, 1, 5, 2, 2]);
    expect([2, 5, 1, 4].map((from) => jump(sizes, from, -1))).toEqual([5, 1, 4, 4]);
    expect(jump(sizes, 0, 1)).toBe(4);
    expect(jump(sizes, 0, -1)).toBe(2);
    expect(jump([], 0, 1)).toBe(-1);
    expect(jump([Number.NaN], 0, 1)).toBe(-1);
  });

  it("agree with a sorted list, with ties, gaps and infinities", () => {
    const rand = random(3);
    for (let round = 0; round < 30; round++) {
      const made = Array.from({ length: 60 }, () => {
        const one = Math.floor(12 * rand());
        return one === 0 ? Number.NaN : one === 11 ? Number.POSITIVE_INFINITY : one / 4;
      });
      const wanted = order(made);
      for (const [place, at] of wanted.entries()) {
        expect(jump(made, at, 1)).toBe(wanted[Math.min(wanted.length - 1, place + 1)]);
        expect(jump(made, at, -1)).toBe(wanted[Math.max(0, place - 1)]);
        expect(rank(made, at)).toEqual({ rank: place, count: wanted.length });
      }
      const outside = made.findIndex(Number.isNaN);
      if (outside >= 0) expect(rank(made, outside)).toEqual({ rank: -1, count: wanted.length });
    }
  });
});
