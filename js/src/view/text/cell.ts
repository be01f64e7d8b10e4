/** One token cell. White space stays what it is (copying gives the text back); its visible sign is drawn by the style sheet. */
import type { Cells } from "../../model/contract";
import { type Maker, maker } from "../dom";

/** Class of a white-space character's sign: a dot, an arrow, a return. */
const SIGNS: Record<string, string> = { " ": "opd-sp", "\t": "opd-tab", "\n": "opd-nl" };

/** What a screen reader is to say of a text that it would pass over; null for any other. */
const SPOKEN: Record<string, string> = { " ": "space", "\t": "tab", "\n": "line break", "␣": "space" };
export function spoken(text: string): string | null {
  if (text === "" || !/^[\s␣]+$/.test(text)) return null;
  const names = new Set([...text].map((char) => SPOKEN[char] ?? "space"));
  return `${[...names].join(" and ")}${[...text].length > names.size ? `, ${[...text].length} characters` : ""}`;
}

/** Fills a node with text, every white-space character in its own span. */
export function fillText(h: Maker, node: HTMLElement, text: string): void {
  if (!/\s/.test(text)) {
    node.textContent = text;
    return;
  }
  const parts = text.split(/(\s)/).filter((part) => part !== "");
  parts.forEach((part, i) => {
    if (part.length > 1 || !/\s/.test(part)) node.append(part);
    else node.append(h("span", { class: SIGNS[part] ?? "opd-sp" }, part));
    // The last line break of a cell ends its line; those before it need a break of their own.
    if (part === "\n" && i < parts.length - 1) node.append(h("br", { class: "opd-br" }));
  });
}

/** A token as most are: one space before a word. */
const leads = (text: string): boolean => /^ \S+$/.test(text);

/** As `fillText`, for a node that may hold another text. `bare`: in haste, a space before a word gets no sign, which saves a node. */
export function refillText(h: Maker, node: HTMLElement, text: string, bare: boolean): void {
  const only = node.firstChild;
  if (/\s/.test(text) && !(bare && leads(text))) {
    if (only) node.replaceChildren();
    fillText(h, node, text);
  } else if (only?.nodeType === 3 && node.lastChild === only) (only as Text).data = text;
  else node.textContent = text;
}

/** `kind` is data: only a known letter may become part of a class name. */
export const cellClass = (kind: string): string => `opd-cell opd-k-${/^[tsncpb]$/.test(kind) ? kind : "t"}`;

export function makeCell(h: Maker, text: string, kind: string): HTMLSpanElement {
  const name = spoken(text);
  const node = h("span", { class: cellClass(kind), role: name && "img", "aria-label": name });
  fillText(h, node, text);
  return node;
}

/** All cells of a text, in lines: a line ends after a line-break cell. Lines let the browser skip what is out of view. */
export function makeLines(root: Node, cells: Cells): { lines: HTMLElement[]; nodes: HTMLSpanElement[] } {
  const h = maker(root);
  const lines: HTMLElement[] = [];
  const nodes: HTMLSpanElement[] = [];
  let line: HTMLElement | null = null;
  cells.texts.forEach((text, i) => {
    if (!line) {
      line = h("div", { class: "opd-line", role: "presentation" });
      lines.push(line);
    }
    const kind = cells.kinds[i] ?? "t";
    const node = makeCell(h, text, kind);
    nodes.push(node);
    line.append(node);
    if (kind === "n" || text.endsWith("\n")) line = null;
  });
  return { lines, nodes };
}
