/** Widths of token texts as the browser draws them. Most are plain ASCII in a type of one width and need no layout at all. */
import { graphemes } from "../../core/breaks";
import { isName, type Ruler, type Text } from "../../core/wrap";
import { maker } from "../dom";
import { cellClass, fillText } from "./cell";

const ASCII = /^[\x20-\x7e]*$/;
/** Drawn many times over, so that one measurement tells a character's width to a hundredth of a pixel. */
const PROBE = 64;
/** Stands for a character's width, in pixels, where there is no layout yet (a hidden cell). */
const UNKNOWN = 12;

const key = (text: string, name: boolean): string => (name ? `\u0000${text}` : text);

export class DomRuler implements Ruler {
  /** One character's width in pixels; 0 where there is no layout yet. */
  advance = 0;
  private even = false;
  private readonly known = new Map<string, number>();

  /** `place`: where the text will stand, so that it is measured in its type. */
  constructor(private readonly place: HTMLElement) {}

  /** Measures the type itself. True where widths known so far no longer hold. */
  renew(): boolean {
    const [m, i, space] = this.measure([
      ["0".repeat(PROBE), false],
      ["i".repeat(PROBE), false],
      ["W ".repeat(PROBE), false],
    ]);
    const advance = m / PROBE;
    if (advance === this.advance) return false;
    this.advance = advance;
    this.even = advance > 0 && Math.abs(i - m) < 0.5 && Math.abs(space - 2 * m) < 1;
    this.known.clear();
    return true;
  }

  width(text: string, name: boolean): number {
    if (this.advance === 0) return UNKNOWN * text.length;
    if (this.even && !name && ASCII.test(text)) return text.length * this.advance;
    const at = key(text, name);
    let width = this.known.get(at);
    if (width === undefined) {
      width = this.measure([[text, name]])[0];
      this.known.set(at, width);
    }
    return width;
  }

  /** Measures in one layout what wrapping this text will ask for. `parts` cuts a text where a row may end. */
  prepare({ texts, kinds }: Text, parts: (text: string) => readonly string[]): void {
    if (this.advance === 0) return;
    const wanted = new Map<string, [string, boolean]>();
    const want = (text: string, name: boolean): void => {
      if (this.even && !name && ASCII.test(text)) return;
      const at = key(text, name);
      if (!this.known.has(at)) wanted.set(at, [text, name]);
    };
    const seen = new Set<string>();
    for (let i = 0; i < texts.length; i++) {
      const text = texts[i];
      const name = isName(kinds[i]);
      if (!name && seen.has(text)) continue;
      if (!name) seen.add(text);
      want(text, name);
      if (name) continue;
      const cut = parts(text);
      if (cut.length > 1) for (const part of cut) want(part, false);
      if (text.length > LONG) for (const one of new Set(graphemes(text))) want(one, false);
    }
    const list = [...wanted.values()];
    const widths = this.measure(list);
    for (const [i, [text, name]] of list.entries()) this.known.set(key(text, name), widths[i]);
  }

  private measure(list: readonly (readonly [string, boolean])[]): number[] {
    if (list.length === 0) return [];
    const h = maker(this.place);
    const nodes = list.map(([text, name]) => {
      const node = h("span", { class: cellClass(name ? "p" : "t") });
      fillText(h, node, text);
      return node;
    });
    const box = h("div", { class: "opd-ruler", "aria-hidden": "true" }, ...nodes.map((node) => h("div", {}, node)));
    this.place.append(box);
    const widths = nodes.map((node) => node.getBoundingClientRect().width);
    box.remove();
    return widths;
  }
}

/** A text longer than this may be wider than a row. */
const LONG = 24;
