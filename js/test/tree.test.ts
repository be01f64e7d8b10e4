import { describe, expect, it } from "vitest";
import { successScale } from "../src/core/tree/colour";
import { MORE_ROWS, Outline } from "../src/core/tree/outline";
import type { QuestionTree } from "../src/core/tree/question";
import { TreeSearch } from "../src/core/tree/search";
import { furthestApart, spread } from "../src/core/tree/spread";
import { lineOf } from "../src/core/tree/text";
import { largeTree, type MadeTree, makeTree } from "./tree_made";

/*
 *   ab ─┬─ cd ─┬─ e        correct, correct            (2 initial)
 *       │      └─ f        incorrect (initial), correct (forced to "abcdf")
 *       └─ xyz             truncated (initial), unverified (forced to "abx")
 * A node stands after "ab", with an estimate behind each of its candidates c and x.
 */
const MADE: MadeTree = {
  rollouts: [
    { text: "abcde", ending: "correct" },
    { text: "abcde", ending: "correct" },
    { text: "abcdf", ending: "incorrect" },
    { text: "abxyz", ending: "truncated" },
    { text: "abcdf", start: 5, ending: "correct" },
    { text: "abxyz", start: 3, ending: "unverified" },
  ],
  nodes: [{ prefix: "ab", alignments: [[0.5, -0.1, 0.9]] }],
  success: [
    { prefix: "ab", node: true, mean: 0.6, low: 0.4, high: 0.8 },
    { prefix: "abc", mean: 0.7, low: 0.5, high: 0.9 },
  ],
};
const text = (tree: QuestionTree, run: number): string =>
  tree
    .tokens(run)
    .map((token) => tree.texts[token][0])
    .join("");
const byText = (tree: QuestionTree, wanted: string): number =>
  Array.from({ length: tree.runs.count }, (_, run) => run).find((run) => text(tree, run) === wanted) ?? -1;

describe("runs", () => {
  const tree = makeTree(MADE);

  it("joins places without a choice, over those that only the diagnosis named", () => {
    expect(Array.from({ length: tree.runs.count }, (_, run) => text(tree, run))).toEqual(["ab", "cd", "xyz", "e", "f"]);
    expect([...tree.runs.parent]).toEqual([-1, 0, 0, 1, 1]);
    expect([...tree.runs.level]).toEqual([0, 1, 1, 2, 2]);
    expect(tree.span(byText(tree, "cd"))).toEqual([2, 4]);
  });

  it("ends a run where a node stands, without a branch there too", () => {
    const split = makeTree({ ...MADE, nodes: [{ prefix: "abc", alignments: [[0, 0, 0]] }] });
    expect(text(split, split.runOfNode(0))).toBe("c");
  });

  it("counts who passes, among all and among the initial rollouts, by how they end", () => {
    const [cd, f, xyz] = ["cd", "f", "xyz"].map((one) => byText(tree, one));
    expect([...tree.visits("all")]).toEqual([6, 4, 2, 2, 2]);
    expect([...tree.visits("initial")]).toEqual([4, 3, 1, 2, 1]);
    expect(tree.ended(cd, "all")).toEqual([3, 1, 0, 0]);
    expect(tree.ended(f, "initial")).toEqual([0, 1, 0, 0]);
    expect(tree.ended(xyz, "all")).toEqual([0, 0, 1, 1]);
    expect(tree.endings(xyz)).toEqual(["truncated", "unverified"]);
    expect(tree.endings(cd)).toEqual([]);
  });

  it("takes the diagnosis's success at the first place that has one, else a share of those on their own", () => {
    expect(tree.success(0)).toMatchObject({ told: "node", mean: Math.fround(0.6) });
    expect(tree.success(byText(tree, "cd"))).toMatchObject({ told: "candidate", mean: Math.fround(0.7) });
    // At its end all three go on by themselves: forced there or drawn there. The truncated one is not correct.
    expect(tree.success(byText(tree, "f"))).toMatchObject({ told: "share", mean: 0.5, own: 2, correct: 1 });
    expect(tree.success(byText(tree, "xyz"))).toMatchObject({ told: "share", mean: 0, own: 1 });
  });

  it("leaves rollouts forced past a place out of its share", () => {
    const forced = makeTree({
      rollouts: [
        { text: "abc", ending: "incorrect" },
        { text: "abd", start: 3, ending: "correct" },
      ],
    });
    expect(forced.success(0)).toMatchObject({ told: "share", mean: 0, own: 1 });
    const unknown = makeTree({ rollouts: [{ text: "ab", ending: "unverified" }] });
    expect(unknown.success(0)).toMatchObject({ told: "nothing", mean: Number.NaN });
  });

  it("finds the run of a rollout's token, the run of a node, and a rollout that passes", () => {
    expect([0, 1, 2, 3, 4].map((token) => text(tree, tree.runAt(2, token)))).toEqual(["ab", "ab", "cd", "cd", "f"]);
    expect(tree.runAt(2, 5)).toBe(-1);
    expect(tree.runOfNode(0)).toBe(0);
    expect(tree.rolloutAt(byText(tree, "f"), 4)).toBe(4);
    expect(tree.rolloutAt(byText(tree, "f"), 0)).toBe(2);
    expect(tree.passes(3, byText(tree, "xyz"))).toBe(true);
    expect(tree.passes(3, byText(tree, "cd"))).toBe(false);
  });
});

describe("outline", () => {
  const tree = makeTree(MADE);
  const shown = (outline: Outline): string[] => [...outline.rows].map((run) => text(tree, run));

  it("opens and closes, and knows where each row is", () => {
    const outline = new Outline(tree);
    expect(shown(outline)).toEqual(["ab"]);
    outline.set(0, true);
    expect(shown(outline)).toEqual(["ab", "cd", "xyz"]);
    outline.reveal(byText(tree, "f"));
    expect(shown(outline)).toEqual(["ab", "cd", "e", "f", "xyz"]);
    expect(outline.row(byText(tree, "xyz"))).toBe(4);
    outline.set(0, false);
    expect(outline.row(byText(tree, "xyz"))).toBe(-1);
    outline.set(byText(tree, "e"), true);
    expect(outline.isOpen(byText(tree, "e"))).toBe(false);
    outline.toDepth(1);
    expect(shown(outline)).toEqual(["ab", "cd", "xyz"]);
  });

  it("opens the most visited first, some rows at a time, in a tree of 100,000 places", () => {
    const large = largeTree(100_000);
    const outline = new Outline(large);
    outline.mostVisited("all");
    expect(outline.rows.length).toBeGreaterThanOrEqual(MORE_ROWS);
    expect(outline.rows.length).toBeLessThan(MORE_ROWS + 8);
    const passing = large.visits("all");
    const [open, closed] = [true, false].map((is) =>
      [...outline.rows].filter((run) => outline.canOpen(run) && outline.isOpen(run) === is),
    );
    expect(Math.min(...open.map((run) => passing[run]))).toBeGreaterThanOrEqual(
      Math.max(...closed.map((run) => passing[run])),
    );
    outline.toDepth(1e9);
    expect(outline.rows.length).toBe(large.runs.count);
    expect([...outline.rows]).toEqual([...large.runs.preorder()]);
  });
});

describe("search", () => {
  const tree = makeTree(MADE);
  const found = (needle: string): string[] => [...new TreeSearch(tree, needle).found].map((run) => text(tree, run));

  it("finds what runs over several rows, where it ends, from the top down", () => {
    expect(found("bc")).toEqual(["cd"]);
    expect(found("bcde")).toEqual(["e"]);
    expect(found("b")).toEqual(["ab"]);
    expect(found("dx")).toEqual([]);
    expect(found("")).toEqual([]);
    const search = new TreeSearch(tree, "bcd");
    expect([...search.marks(byText(tree, "cd"))]).toEqual([0, 1]);
  });

  it("takes capitals as they are, and any letters for small ones", () => {
    const capitals = makeTree({ rollouts: [{ text: "aBc", ending: "correct" }] });
    expect(new TreeSearch(capitals, "abc").found.length).toBe(1);
    expect(new TreeSearch(capitals, "aBc").found.length).toBe(1);
    expect(new TreeSearch(capitals, "Abc").found.length).toBe(0);
  });

  it("goes to the next match below, and round the end", () => {
    const search = new TreeSearch(
      makeTree({ ...MADE, rollouts: MADE.rollouts.map((r) => ({ ...r, text: `${r.text}q` })) }),
      "q",
    );
    const [first, second, third] = search.found;
    expect([search.next(0, 1), search.next(first, 1), search.next(third, 1)]).toEqual([first, second, first]);
    expect([search.next(first, -1), search.next(second, -1)]).toEqual([third, first]);
  });

  it("finds the same as a plain search of every path, in a large tree", () => {
    const large = largeTree(3000);
    const path = (run: number): string =>
      large.runs
        .path(run)
        .map((one) => text(large, one))
        .join("");
    const want = Array.from({ length: large.runs.count }, (_, run) => run).filter((run) => {
      const [from] = large.span(run);
      return path(run).indexOf("ab", Math.max(0, from - 1)) >= 0;
    });
    expect([...new TreeSearch(large, "ab").found].sort((a, b) => a - b)).toEqual(want);
    expect(want.length).toBeGreaterThan(10);
  });
});

describe("where success parts", () => {
  it("weighs how far branches lie apart by who passes", () => {
    const tree = makeTree(MADE);
    // cd .7 of 4 rollouts and xyz 0 of 2: middle 2.8/6
    const middle = 2.8 / 6;
    expect(spread(tree, 0, "all")).toBeCloseTo(4 * (0.7 - middle) ** 2 + 2 * middle ** 2, 5);
    expect(spread(tree, byText(tree, "e"), "all")).toBe(0);
    expect(furthestApart(tree, "all")).toEqual([0, byText(tree, "cd")]);
  });
});

describe("a row's text", () => {
  const long = makeTree({ rollouts: [{ text: "abcdefghijklmnopqrstuvwxyz".repeat(4), ending: "correct" }] });
  const words = (parts: ReturnType<typeof lineOf>): string[] =>
    parts.map((p) => ("folded" in p ? `(${p.folded})` : p.text));

  it("folds the middle of a long run, and says how much", () => {
    expect(words(lineOf(long, 0, 200, new Set()))).toEqual(["abcdefghijklmnopqrstuvwxyz".repeat(4)]);
    expect(words(lineOf(long, 0, 10, new Set()))).toEqual(["abcdefg", "(94)", "xyz"]);
  });

  it("shows what was found inside the fold", () => {
    const parts = lineOf(long, 0, 10, new Set([30, 31]));
    expect(parts.filter((p) => !("folded" in p) && p.found)).toEqual([{ text: "ef", kind: "t", found: true }]);
    expect(parts.reduce((n, p) => n + ("folded" in p ? p.folded : p.text.length), 0)).toBe(104);
  });
});

describe("colour of success", () => {
  it("lies around the question's own with one unit on both sides", () => {
    const scale = successScale("mean", 0.75);
    expect(scale.colour(0.75)).toBe("opd-v-zero");
    expect(scale.colour(0)).toBe("opd-v-n12");
    expect(scale.colour(1)).toBe("opd-v-p4");
    expect([scale.below.length, scale.above.length]).toEqual([12, 4]);
    expect(scale.colour(Number.NaN)).toBe("opd-v-nan");
  });

  it("goes from 0 to 1 when asked, and where the question's own is not known", () => {
    expect(successScale("success", 0.75).colour(1)).toBe("opd-v-q12");
    expect(successScale("mean", Number.NaN).colour(0.5)).toBe("opd-v-q6");
  });
});
