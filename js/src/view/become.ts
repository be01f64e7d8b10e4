/** Changes a piece of a view into another by what differs: nodes that stay are not styled, laid out and painted anew. */
import { setAttribute } from "./dom";

function sameKind(a: Node, b: Node): boolean {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName;
}

function takeAttributes(shown: Element, next: Element): void {
  for (const { name } of [...shown.attributes]) if (!next.hasAttribute(name)) shown.removeAttribute(name);
  for (const { name, value } of next.attributes) setAttribute(shown, name, value);
}

/** `shown` becomes what `next` is, which is used up. For pieces without listeners and without inline styles, which a page's policy refuses as an attribute. */
export function become(shown: Element, next: Element): void {
  takeAttributes(shown, next);
  const wanted = [...next.childNodes];
  wanted.forEach((node, i) => {
    const old = shown.childNodes[i];
    if (!old) shown.append(node);
    else if (!sameKind(old, node)) old.replaceWith(node);
    else if (node.nodeType === 1) become(old as Element, node as Element);
    else if ((old as Text).data !== (node as Text).data) (old as Text).data = (node as Text).data;
  });
  while (shown.childNodes.length > wanted.length) shown.lastChild?.remove();
}
