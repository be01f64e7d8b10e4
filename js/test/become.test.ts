import { describe, expect, it } from "vitest";
import { become } from "../src/view/become";

function made(html: string): Element {
  const box = document.createElement("template");
  box.innerHTML = html;
  return box.content.firstElementChild as Element;
}

const PAIRS: [string, string][] = [
  ["<p>one</p>", "<p>two</p>"],
  ['<tr class="a" title="x"><th>n</th><td>1</td></tr>', '<tr class="b"><th>n</th><td>2</td><td>u</td></tr>'],
  ["<div><i>a</i>b<b>c</b></div>", "<div>b<b>d</b></div>"],
  ["<div></div>", '<div data-x="1">t<span></span></div>'],
  ["<div>t<span>u</span></div>", "<div></div>"],
];

describe("a piece that becomes another", () => {
  it.each(PAIRS)("%s becomes %s", (before, after) => {
    const shown = made(before);
    become(shown, made(after));
    expect(shown.outerHTML).toBe(after);
  });

  it("keeps the nodes that stay", () => {
    const shown = made("<tr><th>n</th><td>1</td></tr>");
    const [name, figure] = [...shown.children];
    const text = figure.firstChild;
    become(shown, made('<tr><th>n</th><td class="x">2</td></tr>'));
    expect([...shown.children]).toEqual([name, figure]);
    expect(figure.firstChild).toBe(text);
  });
});
