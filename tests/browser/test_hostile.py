"""Text that would like to be markup, to run, or to turn its neighbours round, in every place that takes a text."""

from __future__ import annotations

import html
import http.server
import threading
from itertools import pairwise
from typing import ClassVar

import pytest

import opd_widgets as opd
from tests.browser import seen, views
from tests.browser.jupyter import watch_errors

# What the views are made of. A tag that is not here came out of a text.
TAGS = [
    "a", "bdi", "br", "button", "caption", "dd", "div", "dl", "dt", "figcaption", "figure", "h2", "input", "kbd",
    "label", "li", "ol", "option", "p", "path", "section", "select", "span", "svg", "table", "tbody", "td", "textarea",
    "th", "thead", "tr", "ul", "g", "line", "rect", "circle", "polygon", "polyline", "text", "code", "tspan", "title",
    "progress", "strong",
]  # fmt: skip
STRAY = """([root, tags]) => [...root.querySelectorAll("*")].flatMap((node) => [
  ...(tags.includes(node.localName) ? [] : [node.outerHTML.slice(0, 200)]),
  ...[...node.attributes].filter(({ name, value }) =>
    name.startsWith("on") || ((name === "src" || name.endsWith("href")) && !value.startsWith("#"))
  ).map(({ name, value }) => `${name}=${value}`),
])"""
# Controls, and what sets a direction without being closed, in what is read; a field keeps what is typed into it.
UNSEEN = """(root) => {
  const bad = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066\\u2067]/;
  const open = (text) => (text.match(/\\u2068/g) ?? []).length !== (text.match(/\\u2069/g) ?? []).length;
  const found = [];
  const look = (where, text) => (bad.test(text) || open(text)) && found.push(`${where}: ${JSON.stringify(text)}`);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const above = walker.currentNode.parentElement;
    if (!above.closest("textarea")) look(above.className, walker.currentNode.data);
  }
  for (const node of root.querySelectorAll("[title], [aria-label], [aria-description]"))
    for (const name of ["title", "aria-label", "aria-description"]) look(name, node.getAttribute(name) ?? "");
  return found;
}"""
# Our own words must stand in their order, whatever name is among them: letters and digits of a line from left to right.
TURNED = """(root) => {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const aside = node.parentElement.closest(".opd-cell, textarea, option, .opd-announce");
    if (aside || !/[\\u0590-\\u06ff]/.test(node.data)) continue;
    let before = null;
    for (const { index } of node.data.matchAll(/[A-Za-z0-9]/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + 1);
      const box = range.getClientRects()[0];
      if (!box || box.width === 0) continue;
      if (before && Math.abs(box.top - before.top) < 2 && box.left < before.left - 0.5) found.push(node.data);
      before = box;
    }
  }
  return found;
}"""
# Where each cell begins and ends, and how wide it is.
PLACES = """cells => cells.map((cell) => {
  const rects = [...cell.getClientRects()];
  const last = rects[rects.length - 1];
  return [[rects[0].top, rects[0].left], [last.top, last.right], Math.max(...rects.map((rect) => rect.width))];
})"""


@pytest.mark.parametrize("name", views.NAMES)
def test_text_is_text_in_every_view(page, tmp_path, name):
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    errors = watch_errors(page)
    page.goto(opd.write_page(views.hostile(name), tmp_path / "page.html", title=views.BAD).as_uri())
    root = page.locator(views.root(name))
    root.wait_for()
    page.wait_for_timeout(300)
    node = root.element_handle()
    assert page.evaluate(STRAY, [node, TAGS]) == []
    assert root.evaluate(UNSEEN) == []
    assert root.evaluate(TURNED) == []
    in_their_order(root)
    said = root.evaluate("node => node.textContent") + str(root.evaluate(
        "node => [...node.querySelectorAll('[title]')].map(({ title }) => title)"))  # fmt: skip
    assert "<img" in said  # it is there, as text
    assert page.title() == views.BAD.strip()
    assert [url for url in requests if not url.startswith(("file:", "blob:"))] == []
    assert errors == []


def in_their_order(root):
    """No cell is turned round its neighbours or without a width, in a text or in a row of an aligned one."""
    for text in root.locator(".opd-strip, [data-track='0'] .opd-aligned-tokens").all()[:6]:
        places = text.locator("[data-cell]").evaluate_all(PLACES)
        assert all(width > 1 for _, _, width in places)
        for (_, before, _), (after, _, _) in pairwise(places):
            assert after[0] > before[0] + 5 or after[1] >= before[1] - 1


def test_the_strip_shows_every_text(page, tmp_path):
    page.goto(opd.write_page(views.hostile("TokenStrip"), tmp_path / "page.html").as_uri())
    root = page.locator(".opd-token-strip")
    root.locator(".opd-cell").first.wait_for()
    shown = "".join(text for text, _ in seen.cells(root))
    for text in views.MARKUP:
        assert text in shown
    assert "⟨U+202E⟩abc␀" in shown
    assert "⟨U+2066⟩x" in shown


@pytest.mark.parametrize("texts", [views.READ], ids=["read from a file"])
def test_the_cases_of_the_readers(page, tmp_path, texts):
    track = {who: opd.LogprobTrack([-1.0] * len(texts)) for who in ("student", views.TEACHERS[1])}
    rollout = opd.Rollout(id="r", prompt_text="p", response_text="".join(texts), tokens=texts, text_source="strings",
                          tracks=track)  # fmt: skip
    page.goto(opd.write_page(opd.TokenStrip(opd.scores_from_tracks([rollout])), tmp_path / "page.html").as_uri())
    root = page.locator(".opd-token-strip")
    root.locator(".opd-cell").first.wait_for()
    shown = [text for text, _ in seen.cells(root)]
    assert shown[:4] == ["<img src=x onerror=alert(1)>", "</script>", "<b>", "שלום"]
    assert root.evaluate(UNSEEN) == []
    in_their_order(root)


REFUSED = """async (outside) => {
  const refused = [];
  addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
  const add = (tag, attributes, text = "") => {
    const node = Object.assign(document.createElement(tag), attributes);
    node.textContent = text;
    document.body.append(node);
    return node;
  };
  add("script", { src: `${outside}/a.js` });
  add("script", {}, "document.title = 'run'");
  add("img", { src: `${outside}/a.png` });
  add("iframe", { src: outside });
  add("link", { rel: "stylesheet", href: `${outside}/a.css` });
  add("style", {}, "body { color: red }");
  add("p", {}).setAttribute("style", "color: red");
  add("button", {}).setAttribute("onclick", "document.title = 'run'");
  document.body.lastChild.click();
  await fetch(outside).catch(() => {});
  await new Promise((done) => setTimeout(done, 300));
  const { title } = document;
  add("form", { action: outside }).submit();
  await new Promise((done) => setTimeout(done, 150));
  return { refused: refused.sort(), title };
}"""


class Outside(http.server.BaseHTTPRequestHandler):
    """Notes who came."""

    came: ClassVar[list[str]] = []

    def do_GET(self):
        self.came.append(self.path)
        self.send_error(404)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def outside():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Outside)
    Outside.came.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_the_policy_lets_nothing_in_and_nothing_out(page, tmp_path, outside):
    page.goto(opd.write_page(views.hostile("TokenStrip"), tmp_path / "page.html", title="t").as_uri())
    page.locator(".opd-token-strip .opd-cell").first.wait_for()
    found = page.evaluate(REFUSED, f"http://127.0.0.1:{outside.server_port}")
    assert found["refused"] == sorted(
        ["script-src-elem"] * 2 + ["style-src-elem"] * 2 + ["style-src-attr", "script-src-attr"]
        + ["img-src", "frame-src", "form-action", "connect-src"]
    )  # fmt: skip
    assert found["title"] == "t"
    page.wait_for_timeout(200)
    assert Outside.came == []


def test_the_page_works_in_a_sandboxed_frame(page, tmp_path):
    path = opd.write_page(views.hostile("Explorer"), tmp_path / "page.html")
    frame = html.escape(path.read_text("utf-8"))
    (tmp_path / "outer.html").write_text(
        f'<iframe sandbox="allow-scripts" width=900 height=900 srcdoc="{frame}">', "utf-8"
    )
    errors = watch_errors(page)
    page.goto((tmp_path / "outer.html").as_uri())
    inner = page.frame_locator("iframe")
    cell = inner.locator(".opd-strip [data-cell='2']").first
    cell.click()
    inner.locator(".opd-strip [data-cell='2'][aria-selected='true']").first.wait_for()
    assert errors == []
