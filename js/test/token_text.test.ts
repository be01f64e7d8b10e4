import { afterEach, describe, expect, it, vi } from "vitest";
import type { Cells } from "../src/model/contract";
import { type TokenText, tokenText } from "../src/view/text/token_text";

const WORDS = ["The", " cat", " sat", "\n", " on", "ward", ",", "四十二"];

function cellsOf(count: number): Cells {
  const texts = Array.from({ length: count }, (_, i) => WORDS[(i * 5) % WORDS.length]);
  return { starts: texts.map((_, i) => i), texts, kinds: texts.map((t) => (t === "\n" ? "n" : "t")).join("") };
}

const lives: AbortController[] = [];
const made: TokenText[] = [];

function show(count: number, pick = vi.fn()): { text: TokenText; cells: Cells; pick: typeof pick } {
  const life = new AbortController();
  lives.push(life);
  const text = tokenText({ root: document.body, label: "Tokens", signal: life.signal, pick });
  made.push(text);
  const cells = cellsOf(count);
  text.show(cells);
  return { text, cells, pick };
}

const nodes = (text: TokenText): HTMLElement[] => [...text.node.querySelectorAll<HTMLElement>("[data-cell]")];

function copy(text: TokenText): string | undefined {
  const setData = vi.fn();
  const event = new Event("copy", { bubbles: true, cancelable: true });
  text.node.dispatchEvent(Object.assign(event, { clipboardData: { setData } }));
  return setData.mock.calls[0]?.[1];
}

afterEach(() => {
  for (const life of lives.splice(0)) life.abort();
  for (const text of made.splice(0)) text.destroy();
  document.getSelection()?.removeAllRanges();
  document.body.replaceChildren();
});

describe("a text of tokens", () => {
  it("has as many nodes for 32,768 tokens as for 1,024", () => {
    const short = nodes(show(1024).text).length;
    expect(nodes(show(32_768).text)).toHaveLength(short);
    expect(short).toBeLessThan(600);
  });

  it("colours what is there, and what comes into view later", () => {
    const { text } = show(32_768);
    const classes = vi.fn((cell: number) => `opd-v-p${1 + (cell % 12)}`);
    text.paint(classes);
    expect(classes.mock.calls.length).toBe(nodes(text).length);
    expect(nodes(text)[5].className).toBe("opd-cell opd-k-t opd-v-p6");
    text.node.scrollTop = 20_000;
    text.node.dispatchEvent(new Event("scroll"));
    const cells = nodes(text).map((node) => Number(node.dataset.cell));
    expect(cells[0]).toBeGreaterThan(1000);
    expect(cells).toEqual([...cells].sort((a, b) => a - b));
    expect(nodes(text)[0].className).toContain(`opd-v-p${1 + (cells[0] % 12)}`);
    expect(text.range[0]).toBeGreaterThanOrEqual(cells[0]);
    expect(text.range[1]).toBeLessThanOrEqual(cells.at(-1)! + 1);
  });

  it("writes a class only where it differs", () => {
    const { text } = show(64);
    text.paint(() => "a");
    const written = vi.fn();
    for (const node of nodes(text)) Object.defineProperty(node, "className", { set: written });
    text.paint((cell) => (cell === 3 ? "b" : "a"));
    expect(written.mock.calls).toEqual([["opd-cell opd-k-t b"]]);
  });

  it("leaps in haste, in rows that it has, and then adds what is left out", () => {
    vi.useFakeTimers();
    try {
      const { text, cells } = show(32_768);
      Object.defineProperty(text.node, "clientHeight", { value: 400 });
      text.show(cells);
      text.paint((cell) => `opd-v-p${1 + (cell % 12)}`);
      text.select(3);
      const lines = [...text.node.querySelectorAll(".opd-line")];
      text.select(20_000);
      const after = [...text.node.querySelectorAll(".opd-line")];
      expect(after.every((line) => lines.includes(line))).toBe(true);
      expect(text.node.querySelector(".opd-sp")).toBeNull();
      for (const node of nodes(text)) expect(node.textContent).toBe(cells.texts[Number(node.dataset.cell)]);
      vi.runAllTimers();
      const signs = nodes(text).filter((node) => cells.texts[Number(node.dataset.cell)].startsWith(" "));
      expect(signs.length).toBeGreaterThan(10);
      for (const node of signs) expect(node.querySelector(".opd-sp")?.textContent).toBe(" ");
      for (const node of nodes(text)) {
        const cell = Number(node.dataset.cell);
        expect(node.textContent).toBe(cells.texts[cell]);
        expect(node.className).toBe(`opd-cell opd-k-${cells.kinds[cell]} opd-v-p${1 + (cell % 12)}`);
        expect(node.getAttribute("aria-posinset")).toBe(String(cell + 1));
        expect(node.getAttribute("aria-selected")).toBe(cell === 20_000 ? "true" : null);
        expect(node.getAttribute("aria-label")).toBe(cells.kinds[cell] === "n" ? "line break" : null);
      }
    } finally {
      vi.useRealTimers();
    }
  });

  it("draws the selected cell wherever it is, and marks its companions and what was found", () => {
    const { text } = show(32_768);
    text.select(30_000, [30_001]);
    const selected = text.node.querySelector<HTMLElement>('[aria-selected="true"]')!;
    expect(selected.dataset.cell).toBe("30000");
    expect(text.node.getAttribute("aria-activedescendant")).toBe(selected.id);
    text.select(2);
    text.mark(new Set([2, 4]), 4);
    expect(
      nodes(text)
        .filter((node) => node.dataset.found !== undefined)
        .map((node) => node.dataset.found),
    ).toEqual(["", "current"]);
    text.select(-1);
    expect(text.node.querySelectorAll("[aria-selected], [data-with]")).toHaveLength(0);
    expect(text.node.hasAttribute("aria-activedescendant")).toBe(false);
  });

  it("picks the pressed cell", () => {
    const { text, pick } = show(64);
    nodes(text)[7].dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, button: 0, pointerId: 1 }));
    expect(pick).toHaveBeenCalledWith(7);
  });

  it("copies across rows that are not drawn", () => {
    const { text, cells } = show(4096);
    const [first] = nodes(text);
    const range = document.createRange();
    range.setStart(first.firstChild!, 1);
    document.getSelection()!.addRange(range);
    range.setEndAfter(nodes(text)[3]);
    text.node.scrollTop = 6000;
    text.node.dispatchEvent(new Event("scroll"));
    expect(nodes(text)[0]).toBe(first); // its row holds the selection's start
    const end = nodes(text).at(-1)!;
    const to = Number(end.dataset.cell);
    expect(nodes(text).length).toBeLessThan(to);
    range.setEnd(end.firstChild!, 1);
    const wanted = cells.texts[0].slice(1) + cells.texts.slice(1, to).join("") + cells.texts[to].slice(0, 1);
    expect(copy(text)).toBe(wanted);
  });

  it("selects and copies all on Ctrl+A, and leaves a selection elsewhere alone", () => {
    const { text, cells } = show(4096);
    const key = new KeyboardEvent("keydown", { key: "a", ctrlKey: true, bubbles: true, cancelable: true });
    text.node.dispatchEvent(key);
    expect(key.defaultPrevented).toBe(true);
    expect(copy(text)).toBe(cells.texts.join(""));
    text.node.scrollTop = 6000;
    text.node.dispatchEvent(new Event("scroll"));
    expect(copy(text)).toBe(cells.texts.join(""));
    document.getSelection()!.selectAllChildren(document.body);
    expect(copy(text)).toBeUndefined();
  });

  it("prints all of a short text, and of a long one the part in view, which it says", () => {
    const short = show(640).text;
    const before = nodes(short).length;
    window.dispatchEvent(new Event("beforeprint"));
    expect(before).toBeLessThan(640);
    expect(new Set(nodes(short).map((node) => node.dataset.cell)).size).toBe(640);
    window.dispatchEvent(new Event("afterprint"));
    expect(nodes(short)).toHaveLength(before);
    const { text } = show(32_768);
    window.dispatchEvent(new Event("beforeprint"));
    expect(text.node.previousElementSibling!.textContent).toMatch(/cells 1 to \d+ of 32768/);
    window.dispatchEvent(new Event("afterprint"));
    expect(document.querySelector(".opd-print-note")).toBeNull();
  });
});
