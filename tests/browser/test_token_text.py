"""A long text in a real browser: rows fit, only those in sight exist, and copying and finding know the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.piece import Piece
from tests import tiny

LENGTH = 1800
WORDS = ["The", " cat", " sat", "\n", " on", "ward", ",", "四十二", "。", "\t", "שלום", "👩", "  ", "x" * 90]
# How far the last cell of each row stands out of the text, pixels, and how many cells are in the DOM.
OUT = """() => {
  const edge = document.querySelector(".opd-sheet").getBoundingClientRect().right;
  const rows = [...document.querySelectorAll(".opd-strip .opd-line")];
  return Math.max(...rows.map((row) => row.lastElementChild.getBoundingClientRect().right - edge));
}"""
SCROLL = (
    "(strip, top) => new Promise((done) => { strip.scrollTop = top; requestAnimationFrame(() => setTimeout(done)); })"
)
HEAR = """strip => strip.addEventListener("copy", (event) => {
  window.copied = event.clipboardData.getData("text/plain");
})"""


@pytest.fixture(scope="module")
def strip_of_words():
    ids = np.arange(LENGTH) * 5 % len(WORDS) + 10
    rollout = opd.Rollout(id="r", prompt_ids=[3], response_ids=ids, outcome="correct")
    model = tiny.model(0, limit=4096)
    scores = opd.score([rollout], model, {"t": opd.Teacher(tiny.model(1, limit=4096))}, progress=False)
    pieces = {**scores.pieces, **{10 + i: Piece.from_text(word) for i, word in enumerate(WORDS)}}
    return opd.TokenStrip(replace(scores, pieces=pieces)), [WORDS[i - 10] for i in ids]


@pytest.fixture
def strip(page, strip_of_words, tmp_path):
    page.goto(opd.write_page(strip_of_words[0], tmp_path / "page.html").as_uri())
    strip = page.locator(".opd-strip")
    strip.locator("[data-cell]").first.wait_for()
    strip.evaluate(HEAR)
    return strip


@pytest.mark.parametrize("width", [1500, 420, 320])
def test_rows_fit_and_only_those_in_sight_are_there(page, strip, width):
    page.set_viewport_size({"width": width, "height": 900})
    for top in (0, 3000, 10**7):
        strip.evaluate(SCROLL, top)
        page.wait_for_timeout(50)
        assert page.evaluate(OUT) <= 1
        assert 20 < strip.locator("[data-cell]").count() < LENGTH / 2
    assert int(strip.locator("[data-cell]").last.get_attribute("data-cell")) == LENGTH - 1


def test_copy_reaches_over_rows_that_are_gone(page, strip, strip_of_words):
    box = strip.bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 20, box["y"] + 24)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 64)
    page.keyboard.up("Shift")
    strip.evaluate(SCROLL, 4000)
    page.mouse.move(box["x"] + 60, box["y"] + 104)
    page.mouse.up()
    page.keyboard.press("Control+c")
    copied = page.evaluate("window.copied")
    assert copied in "".join(strip_of_words[1])
    assert len(copied) > 800
    strip.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    assert page.evaluate("window.copied") == "".join(strip_of_words[1])


def test_find_go_to_and_the_minimap_lead_through_the_text(page, strip):
    selected = page.locator('.opd-strip [aria-selected="true"]').first
    strip.focus()
    page.keyboard.press("g")
    page.keyboard.type("1,200")
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    assert selected.get_attribute("data-cell") == "1199"
    page.keyboard.press("f")
    page.keyboard.type("onward,")  # no word of the text: these stand in one only across tokens
    assert page.locator(".opd-find-count").inner_text() == "not found"
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.type("cat")
    count = page.locator(".opd-find-count")
    assert count.inner_text().endswith(" found")
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    at = int(selected.get_attribute("data-cell"))
    assert at > 1199
    assert " of " in count.inner_text()
    page.keyboard.press("Escape")
    assert count.inner_text() == ""
    assert page.evaluate("document.activeElement.className") == "opd-strip"
    box = page.locator(".opd-profile").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 20, steps=8)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert int(selected.get_attribute("data-cell")) > LENGTH * 0.99
    assert selected.is_visible()
