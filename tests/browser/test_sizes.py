"""From 320 px to 3840 px: no view is wider than its page, and nothing in it lies over something else."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from tests.browser import views
from tests.browser.jupyter import watch_errors

WIDTHS = (320, 420, 559, 600, 720, 860, 959, 1180, 1600, 2560, 3840)
LOOKED_AT = (320, 720, 1180)
# How far the page can be scrolled sideways, and the text that stands out of the view.
OUTSIDE = """(root) => {
  const page = document.documentElement;
  const edge = root.getBoundingClientRect().right + 1;
  const clipped = (node) => {
    for (let up = node; up !== root; up = up.parentElement)
      if (getComputedStyle(up).overflowX !== "visible") return true;
    return false;
  };
  const out = [...root.querySelectorAll("*")].filter((node) =>
    node.getBoundingClientRect().right > edge && !clipped(node)).map((node) => `${node.localName}.${node.className}`);
  return { over: page.scrollWidth - page.clientWidth, out };
}"""
# Texts that lie over one another, by what is seen of each: within every box that cuts off what is beyond it.
OVERLAPS = """(root) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const seen = [];
  const cut = (box, node) => {
    let { left, top, right, bottom } = box;
    for (let up = node; up && up !== root; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const edge = up.getBoundingClientRect();
      [left, top] = [Math.max(left, edge.left), Math.max(top, edge.top)];
      [right, bottom] = [Math.min(right, edge.right), Math.min(bottom, edge.bottom)];
    }
    return { left, top, right, bottom };
  };
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const above = node.parentElement;
    // The tokens of a teacher's row go under its name and its figures, which have a ground of their own.
    const aside = above.closest(".opd-announce, option, textarea, .opd-trow-tokens") || !above.checkVisibility();
    if (aside || node.data.trim() === "") continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const part = cut(box, above);
      if (part.right - part.left > 2 && part.bottom - part.top > 2) seen.push({ node, part });
    }
  }
  seen.sort((a, b) => a.part.top - b.part.top);
  const found = [];
  for (let i = 0; i < seen.length; i++) {
    for (let j = i + 1; j < seen.length && seen[j].part.top < seen[i].part.bottom; j++) {
      const [a, b] = [seen[i].part, seen[j].part];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Lines of tall scripts reach a little into each other.
      const low = Math.min(a.bottom - a.top, b.bottom - b.top);
      if (seen[i].node !== seen[j].node && across > 2 && down > 0.5 * low)
        found.push([seen[i], seen[j]].map(({ node }) => `${node.parentElement.className}: ${node.data.slice(0, 40)}`));
    }
  }
  return found.slice(0, 5);
}"""


@pytest.mark.parametrize("name", views.NAMES)
def test_nothing_lies_over_anything_or_stands_out_at_any_width(page, tmp_path, name):
    errors = watch_errors(page)
    page.goto(opd.write_page(views.hostile(name), tmp_path / "page.html").as_uri())
    root = page.locator(views.root(name))
    root.wait_for()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(50)
        found = root.evaluate(OUTSIDE)
        assert found["over"] <= 0, (width, found)
        assert found["out"] == [], width
        if width in LOOKED_AT:
            assert root.evaluate(OVERLAPS) == [], width
    assert errors == []
