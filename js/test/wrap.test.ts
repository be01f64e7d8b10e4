import { describe, expect, it } from "vitest";
import { random } from "../dev/fixture";
import { graphemes } from "../src/core/breaks";
import { offsets, within } from "../src/core/columns";
import { isName, type Ruler, rowOf, Shapes, segmentOf, type Text, wrap } from "../src/core/wrap";

/** Ten pixels a character, twenty for one of another script, a margin round a name. */
const ruler: Ruler = {
  width: (text, name) =>
    graphemes(text).reduce((sum, one) => sum + (one === "\n" ? 6 : one.charCodeAt(0) < 0x300 ? 10 : 20), name ? 4 : 0),
};

function rows(text: Text, width: number): string[] {
  const made = wrap(text, new Shapes(ruler), width);
  return Array.from({ length: made.rows }, (_, row) => {
    let out = "";
    for (let s = made.first[row]; s < made.first[row + 1]; s++)
      out += text.texts[made.cell[s]].slice(made.from[s], made.to[s]);
    return out;
  });
}

const plain = (...texts: string[]): Text => ({ texts, kinds: texts.map((t) => (t === "\n" ? "n" : "t")).join("") });

describe("wrapping", () => {
  it("keeps words whole over their tokens, and white space with the word it leads", () => {
    expect(rows(plain("one", " un", "believ", "able", " word"), 130)).toEqual(["one", " unbelievable", " word"]);
    expect(rows(plain("a", " ", "b", "c"), 25)).toEqual(["a ", "bc"]);
  });

  it("ends a row at every line break, wherever it stands", () => {
    expect(rows(plain("a", "\n", "b\n\nc", "\n"), 500)).toEqual(["a\n", "b\n", "\n", "c\n"]);
    expect(rows(plain("\n", "\n"), 500)).toEqual(["\n", "\n"]);
    expect(rows(plain(), 500)).toEqual([]);
  });

  it("breaks text without spaces between characters, not before a closing mark", () => {
    expect(rows(plain("四十二", "。", "是"), 65)).toEqual(["四十", "二。是"]);
    expect(rows(plain("👨‍👩‍👧‍👦🙂", "🙂"), 45)).toEqual(["👨‍👩‍👧‍👦🙂", "🙂"]);
  });

  it("breaks what is wider than a row between what a reader takes for one character", () => {
    expect(rows(plain("ab", "x".repeat(25)), 100)).toEqual(["ab", "x".repeat(10), "x".repeat(10), "x".repeat(5)]);
    expect(rows(plain("e\u0301".repeat(5)), 20)).toEqual(["e\u0301e\u0301", "e\u0301e\u0301", "e\u0301"]);
    const long = rows(plain("y".repeat(10_000)), 300);
    expect(long).toHaveLength(Math.ceil(10_000 / 30));
    expect(long.join("")).toBe("y".repeat(10_000));
  });

  it("takes a name to the next row rather than break it", () => {
    expect(rows({ texts: ["abcd", "⟨end⟩"], kinds: "tp" }, 110)).toEqual(["abcd", "⟨end⟩"]);
  });

  it("gives the text back, in rows no wider than the box, whatever the text", () => {
    const pieces = [
      "a",
      " the",
      "word",
      "\n",
      "\n\n",
      "\t",
      "  ",
      "四十二",
      "。",
      "👨‍👩‍👧‍👦",
      "שלום",
      "x".repeat(70),
      "⟨/think⟩",
      "",
      "-",
      "(",
      "e\u0301",
    ];
    const rand = random(11);
    for (let round = 0; round < 200; round++) {
      const texts = Array.from({ length: 40 }, () => pieces[Math.floor(rand() * pieces.length)]);
      const kinds = texts.map((t) => (t === "\n" ? "n" : t.startsWith("⟨") ? "p" : "t")).join("");
      const width = 20 + Math.floor(rand() * 400);
      const made = wrap({ texts, kinds }, new Shapes(ruler), width);
      let whole = "";
      for (let row = 0; row < made.rows; row++) {
        const [from, to] = [made.first[row], made.first[row + 1]];
        let wide = 0;
        let parts = 0;
        for (let s = from; s < to; s++) {
          const part = texts[made.cell[s]].slice(made.from[s], made.to[s]);
          whole += part;
          wide += ruler.width(part, isName(kinds[made.cell[s]]));
          parts += graphemes(part).length;
          if (part.includes("\n")) expect([s, part.indexOf("\n")]).toEqual([to - 1, part.length - 1]);
        }
        expect(to > from && (wide <= width || parts === 1)).toBe(true);
      }
      expect(whole).toBe(texts.join(""));
      expect(new Set(made.cell).size).toBe(texts.length);
      for (const cell of [0, 7, 39]) {
        const segment = segmentOf(made, cell);
        expect([made.cell[segment], made.from[segment]]).toEqual([cell, 0]);
        const row = rowOf(made, segment);
        expect(made.first[row] <= segment && segment < made.first[row + 1]).toBe(true);
      }
    }
  });

  it("does not grow faster than the text", () => {
    const words = ["the", " quick", " brown", ",", "\n", " fox", "es", " jumped"];
    const long = plain(...Array.from({ length: 32_768 }, (_, i) => words[(i * 7) % words.length]));
    const made = wrap(long, new Shapes(ruler), 900);
    expect(made.cell).toHaveLength(32_768);
    expect(made.rows).toBeGreaterThan(1000);
  });
});

describe("columns", () => {
  it("tell where each cell stands in one row, and which show in a stretch of it", () => {
    const at = offsets(plain("ab", "c", "", "def"), ruler);
    expect([...at]).toEqual([0, 20, 30, 30, 60]);
    expect(within(at, 0, 60)).toEqual([0, 4]);
    expect(within(at, 25, 29)).toEqual([1, 2]);
    expect(within(at, -50, -1)).toEqual([0, 1]);
    expect(within(at, 100, 200)).toEqual([3, 4]);
    expect(within(new Float64Array(1), 0, 10)).toEqual([0, 0]);
  });
});
