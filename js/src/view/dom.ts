/** Building nodes. Text goes in as text nodes only, whatever it holds; there is no way here to parse markup. */
import { harmless } from "../core/plain_text";

type Attributes = Record<string, string | number | boolean | null | undefined>;
export type Child = Node | string | null | false | undefined;

export type Maker = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes,
  ...children: Child[]
) => HTMLElementTagNameMap[K];

/** Attributes that are read by people. */
const READ = new Set(["title", "placeholder", "aria-label", "aria-description", "aria-valuetext"]);
const value = (name: string, text: string): string => (READ.has(name) ? harmless(text) : text);

function apply(node: Element, attributes: Attributes): void {
  for (const [name, given] of Object.entries(attributes)) {
    if (given === null || given === undefined || given === false) continue;
    node.setAttribute(name, given === true ? "" : value(name, String(given)));
  }
}

const safe = (children: readonly Child[]): (Node | string)[] =>
  children.flatMap((child) => (child ? [typeof child === "string" ? harmless(child) : child] : []));

/** Puts these children in place of those there are. */
export const refill = (node: Element, ...children: Child[]): void => node.replaceChildren(...safe(children));

/** Nodes belong to the document of the root they will hang in: a view may live in another window. */
export function maker(root: Node): Maker {
  const doc = root.ownerDocument as Document;
  return (tag, attributes = {}, ...children) => {
    const node = doc.createElement(tag);
    apply(node, attributes);
    node.append(...safe(children));
    return node;
  };
}

export function svg(root: Node, tag: string, attributes: Attributes = {}, ...children: Element[]): SVGElement {
  const node = (root.ownerDocument as Document).createElementNS("http://www.w3.org/2000/svg", tag);
  apply(node, attributes);
  node.append(...children);
  return node;
}

/** Writes only on change: a write, even of the same text, costs layout and can make a screen reader speak. */
export function setText(node: Element, text: string): void {
  const shown = harmless(text);
  if (node.textContent !== shown) node.textContent = shown;
}

export function setAttribute(node: Element, name: string, given: string | null): void {
  const text = given === null ? null : value(name, given);
  if (text === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Not `disabled`: the key focus would be lost with it. Who listens to its presses asks. */
export const setDisabled = (button: Element, off: boolean): void => setAttribute(button, "aria-disabled", String(off));
export const isDisabled = (button: Element): boolean => button.getAttribute("aria-disabled") === "true";

/** An id that no other view in the page has; ARIA points by id. */
export const uniqueId = (): string => `opd-${Math.random().toString(36).slice(2, 10)}`;

/** The node with the key focus, in a page as in a shadow root. */
export const focused = (node: Node): Element | null =>
  (node.getRootNode() as Document | ShadowRoot).activeElement ?? null;

/** The attribute that names a node which is made anew. */
export const KEPT = "data-kept";

/** Makes nodes of a box anew. The focus would fall to the page, and the keys with it: it goes to the node of the same name. */
export function keepFocus(box: Element, draw: () => void): void {
  const at = focused(box);
  const name = at && box.contains(at) ? at.getAttribute(KEPT) : null;
  draw();
  if (name === null) return;
  const next = [...box.querySelectorAll<HTMLElement>(`[${KEPT}]`)].find((node) => node.getAttribute(KEPT) === name);
  next?.focus({ preventScroll: true });
}

/** Whether keys pressed there are text, and no commands. */
export const isTyping = (target: Element): boolean => target.matches("input, textarea, select, [contenteditable]");
