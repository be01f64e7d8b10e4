"""The tree on an exported page: opened, searched and walked by keys, with no more in the page than is in sight."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import opd_widgets as opd
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.read_nodes import read_nodes
from opd_widgets.diagnosis.result import Diagnosis
from tests.browser.jupyter import watch_errors
from tests.diagnosis.toy_evidence import drawn
from tests.diagnosis.toy_run import run

HOSTILE = "<img src=x onerror=\"document.title='ran'\">"
PIECES = {"0": "red ", "1": "Green ", "2": HOSTILE, "3": "\u202eblue\n", "4": "<end>"}
MOST_NODES = 2600  # of the whole page, with a hundred rows and a panel in it


@pytest.fixture(scope="module")
def result():
    found = run()
    return Diagnosis(found.evidence, found.settings, {**found.about, "pieces": PIECES})


def show(page, widget, path):
    errors = watch_errors(page)
    page.goto(opd.write_page(widget, path).as_uri())
    expect(page.locator(".opd-tree-row").first).to_be_visible()
    return errors


def active(page):
    """The row that the keys are at, by what the tree says of itself."""
    name = page.locator(".opd-tree").get_attribute("aria-activedescendant")
    return page.locator(f"#{name}")


def frame(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
        frame(page)


def test_the_keys_of_a_tree(page, result, tmp_path):
    errors = show(page, opd.TreeView(result), tmp_path / "page.html")
    expect(page.locator(".opd-tree")).to_be_focused()
    rows = page.locator(".opd-tree-row")
    press(page, "Home")
    expect(active(page)).to_have_attribute("aria-level", "1")
    expect(active(page)).to_have_attribute("aria-expanded", "true")
    opened = rows.count()
    press(page, "ArrowLeft")
    expect(active(page)).to_have_attribute("aria-expanded", "false")
    expect(rows).to_have_count(1)
    press(page, "ArrowRight", "ArrowRight")
    expect(active(page)).to_have_attribute("aria-level", "2")
    expect(active(page)).to_have_attribute("aria-posinset", "1")
    siblings = int(active(page).get_attribute("aria-setsize") or 0)
    press(page, "ArrowLeft", "ArrowLeft")
    expect(active(page)).to_have_attribute("aria-level", "1")
    press(page, "]", "[", "[", "]")  # as many levels as before: one
    expect(rows).to_have_count(siblings + 1)
    press(page, "End")
    expect(active(page)).to_have_attribute("aria-posinset", str(siblings))
    press(page, "Home", "m")
    assert rows.count() > opened / 2
    assert errors == []


def test_the_panel_says_what_the_tables_say(page, result, tmp_path):
    """A node far down, chosen in Python: the way to it is open, and its numbers are Python's."""
    question = result.questions[1]
    mine = result.nodes[(result.nodes.question == question) & (result.nodes.teacher == "B")]
    row = mine[(mine.verdict == "") & (mine.depth > 1)].iloc[0]
    errors = show(
        page, opd.TreeView(result, question=question, node=int(row.node), teacher="B"), tmp_path / "page.html"
    )
    selected = page.locator('.opd-tree-row[aria-selected="true"]')
    expect(selected).to_have_count(1)
    assert f"node {row.node}, alignment" in (selected.get_attribute("aria-label") or "")
    table = page.locator(".opd-tree-panel tr[aria-current]")
    expect(table.locator("th")).to_have_text("B")
    shown = table.locator(".opd-figure").first.inner_text().replace("−", "-")
    assert float(shown) == pytest.approx(row.alignment, abs=0.006)
    counts = page.locator(".opd-tree-counts").last.inner_text()
    assert counts.startswith(f"{row.visits} initial rollout")
    assert errors == []


def test_search_opens_the_way_and_nothing_runs(page, result, tmp_path):
    errors = show(page, opd.TreeView(result), tmp_path / "page.html")
    press(page, "Home", "ArrowLeft")
    expect(page.locator(".opd-tree-row")).to_have_count(1)
    press(page, "/")
    field = page.locator(".opd-tree-find")
    expect(field).to_be_focused()
    field.fill("onerror")  # inside a token, and on the way to many rows
    found = page.locator(".opd-tree-found")
    expect(found).to_have_text(re.compile(r"^\d+ rows?$"))
    everywhere = int(found.inner_text().split()[0])
    texts = ["".join(PIECES[str(int(token))] for token in drawn.ids) for drawn in result.evidence[0].rollouts]
    assert everywhere > 1
    assert any("onerror" in text for text in texts)
    press(page, "Enter")
    expect(found).to_have_text(f"1 of {everywhere} rows")
    expect(page.locator('.opd-tree-row[aria-selected="true"] [data-found]').first).to_contain_text("onerror")
    press(page, "Shift+Enter")
    expect(found).to_have_text(f"{everywhere} of {everywhere} rows")
    field.fill("green red")  # over two tokens
    expect(found).to_have_text(re.compile(r"\d+ rows?$"))
    press(page, "Escape")
    expect(page.locator(".opd-tree")).to_be_focused()
    expect(page.locator("[data-found]")).to_have_count(0)
    assert page.locator(".opd-root img").count() == 0
    assert page.title() == "opd_widgets"
    assert "\u202e" not in page.locator(".opd-tree").inner_text()
    assert errors == []


def test_switches_change_widths_and_colours(page, result, tmp_path):
    errors = show(page, opd.TreeView(result), tmp_path / "page.html")
    evidence = result.evidence[0]
    root = page.locator(".opd-tree-row").first
    expect(root.locator(".opd-tree-visits")).to_have_text(str(len(evidence.rollouts)))
    page.locator('[data-visits="initial"]').click()
    expect(root.locator(".opd-tree-visits")).to_have_text(str(int(evidence.initial.sum())))
    coloured = page.locator(".opd-tree-text .opd-v-p1, .opd-tree-text [class*='opd-v-n']")
    assert coloured.count() > 0
    page.locator('[data-colour="success"]').click()
    expect(page.locator(".opd-tree-text [class*='opd-v-n'], .opd-tree-text [class*='opd-v-p']")).to_have_count(0)
    expect(page.locator(".opd-tree-fill[class*='opd-v-q']").first).to_be_visible()
    page.locator(".opd-tree").focus()
    press(page, "2")
    expect(page.locator('[data-teacher="B"]')).to_have_attribute("aria-checked", "true")
    press(page, "d")
    expect(page.locator('.opd-tree-row[aria-selected="true"]')).to_have_attribute("aria-expanded", "true")
    assert errors == []


def spread_out(rollouts, length=24, vocab=6):
    """Rollouts that part again and again."""

    def policy(p):
        return FunctionPolicy(lambda asked: np.log(np.tile(p, (len(asked), 1))), end_ids=[], vocab_size=vocab)

    p = np.array([0.7, 0.1, 0.08, 0.06, 0.04, 0.02])
    nodes = read_nodes(policy(p), {"even": policy(np.full(vocab, 1 / vocab))}, [()])
    ids = np.random.default_rng(0).choice(vocab, (rollouts, length), p=p)
    drawn_ones = [drawn(row, int(row.sum() % 2), logprobs=np.log(p[row])) for row in ids]
    return Diagnosis((Evidence("large", nodes, tuple(drawn_ones)),), about={"pieces": PIECES | {"5": "x"}})


@pytest.mark.parametrize("width", [420, 1400])
def test_a_large_tree_keeps_the_page_small(page, tmp_path, width):
    result = spread_out(3000)
    assert len(result.evidence[0].tree) > 4000
    page.set_viewport_size({"width": width, "height": 900})
    errors = show(page, opd.TreeView(result), tmp_path / "page.html")
    for _ in range(24):
        page.keyboard.press("]")
    frame(page)
    tall = page.locator(".opd-tree").evaluate("(tree) => tree.scrollHeight")
    assert tall > 4000 * 20
    assert page.locator(".opd-root *").count() < MOST_NODES
    press(page, "End")
    expect(active(page)).to_be_in_viewport()
    assert page.locator(".opd-root *").count() < MOST_NODES
    assert page.locator(".opd-tree").evaluate("(tree) => tree.scrollWidth - tree.clientWidth") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
