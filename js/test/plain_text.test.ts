import { describe, expect, it } from "vitest";
import { harmless, isolated } from "../src/core/plain_text";
import { maker, setAttribute, setText } from "../src/view/dom";

describe("text from outside", () => {
  it("stays what it is where it is plain", () => {
    for (const text of ["Self-1C", "שלום", "深層学習", "👩\u200d👧 é", "a\tb\nc", ""])
      expect(harmless(text)).toBe(text);
  });

  it("shows what would hide or turn round its neighbours", () => {
    expect(harmless("a\u202eb")).toBe("a⟨U+202E⟩b");
    expect(harmless("\u0000\u001b[31m\u200b\u2028\ufeff")).toBe("⟨U+0000⟩⟨U+001B⟩[31m⟨U+200B⟩⟨U+2028⟩⟨U+FEFF⟩");
    expect(harmless("\u2066x")).toBe("⟨U+2066⟩x");
    expect(harmless("a\u2069b\u2068c")).toBe("a⟨U+2069⟩b⟨U+2068⟩c");
  });

  it("keeps a name of the other direction to itself, and lets it out of nothing", () => {
    expect(isolated("Teacher")).toBe("Teacher");
    const name = isolated("שלום\u2069\u202e");
    expect(name).toBe("\u2068שלום⟨U+2069⟩⟨U+202E⟩\u2069");
    expect(harmless(`after 3: ${name}, \u202e`)).toBe(`after 3: ${name}, ⟨U+202E⟩`);
  });

  it("is made so by whatever builds or writes a node", () => {
    const h = maker(document.body);
    const attributes = { title: "t\u202e", "aria-label": "l\u202e", "data-teacher": "d\u202e" };
    const node = h("p", attributes, "c\u202e", h("b", {}, "<i>\u2067"));
    expect(node.textContent).toBe("c⟨U+202E⟩<i>⟨U+2067⟩");
    expect(node.title).toBe("t⟨U+202E⟩");
    expect(node.getAttribute("aria-label")).toBe("l⟨U+202E⟩");
    expect(node.dataset.teacher, "what code compares stays as it is").toBe("d\u202e");
    setText(node, "x\u0007");
    setAttribute(node, "title", "y\u202d");
    expect([node.textContent, node.title]).toEqual(["x⟨U+0007⟩", "y⟨U+202D⟩"]);
  });
});
