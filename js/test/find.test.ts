import { describe, expect, it } from "vitest";
import { cellsOf, find, join, step } from "../src/core/find";

describe("finding in a text of cells", () => {
  const text = join(["The", " cat", "", " s", "at", ".", " THE", " 𝒯", "(x"]);
  it("finds across cells, and minds capitals only where some were asked for", () => {
    expect(find(text, "the")).toEqual({ first: [0, 6], last: [0, 6] });
    expect(find(text, "THE")).toEqual({ first: [6], last: [6] });
    expect(find(text, "t sat.")).toEqual({ first: [1], last: [5] });
    expect(cellsOf(find(text, "t sat."))).toEqual(new Set([1, 2, 3, 4, 5]));
    expect(find(text, "nowhere").first).toEqual([]);
    expect(find(text, "").first).toEqual([]);
  });

  it("takes every sign for itself", () => {
    expect(find(text, ".")).toEqual({ first: [5], last: [5] });
    expect(find(text, "(x").first).toEqual([8]);
    expect(find(text, "𝒯").first).toEqual([7]);
    expect(find(join(["a\\b[c]{d}^$|?*+/-"]), "\\b[c]{d}^$|?*+/-").first).toEqual([0]);
  });

  it("finds several in one cell", () => expect(find(join(["aXa", "a"]), "a").first).toEqual([0, 0, 1]));

  it("goes on and back, round at both ends, from wherever one stands", () => {
    const found = { first: [2, 2, 7], last: [2, 2, 8] };
    expect(step(found, -1, -1, 1)).toBe(0);
    expect(step(found, 0, 2, 1)).toBe(1);
    expect(step(found, 1, 2, 1)).toBe(2);
    expect(step(found, 2, 7, 1)).toBe(0);
    expect(step(found, 0, 2, -1)).toBe(2);
    expect(step(found, 0, 5, 1)).toBe(2);
    expect(step(found, 2, 5, -1)).toBe(1);
    expect(step(found, -1, 9, 1)).toBe(0);
    expect(step({ first: [], last: [] }, -1, 0, 1)).toBe(-1);
  });
});
