"""The AlignmentView as an exported page: every kind of node is drawn as such, and the worked node explains itself."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from tests.browser.jupyter import watch_errors
from tests.diagnosis.marked import marked

BACKGROUND = """cell => {
  const style = getComputedStyle(cell);
  return [style.backgroundColor, style.backgroundImage, style.outlineStyle, style.boxShadow].join("|");
}"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def result():
    return marked()


@pytest.fixture
def show(page, result, tmp_path):
    def open_page(**traits):
        errors = watch_errors(page)
        page.context.set_offline(True)
        page.goto(opd.write_page(opd.AlignmentView(result, **traits), tmp_path / "page.html").as_uri())
        root = page.locator(".opd-alignment-view")
        root.locator(".opd-strip .opd-cell").first.wait_for()
        return root, errors

    return open_page


def test_every_kind_of_node_is_drawn_and_named(show):
    root, errors = show()
    cells = root.locator(".opd-strip .opd-cell")
    assert cells.count() == 5
    drawn = [cell.evaluate(BACKGROUND) for cell in cells.all()]
    assert len(set(drawn)) == 5
    keys = [text.removeprefix("a") for text in root.locator(".opd-a-key").all_inner_texts()]
    assert [key.strip() for key in keys] == [
        "no signal",
        "points outside the support",
        "not enough visits",
        "not scored",
    ]
    words = []
    for token in range(1, 6):
        root.page.keyboard.press("ArrowRight")
        root.locator(".opd-panel .opd-heading", has_text=f"token {token}").first.wait_for()
        words.append(root.locator(".opd-panel-body").inner_text())
    assert ["against the ideal gradient" in words[0], "No signal" in words[1], "outside the support" in words[2]] == [
        True
    ] * 3
    assert "Not enough visits" in words[3]
    assert "never scored" in words[4]
    assert errors == []


def test_the_two_token_node_by_hand(show, result):
    root, errors = show(node=0)
    # p_S = (3/4, 1/4), p_T = (1/2, 1/2), f = log p_T - log p_S:
    # at the first token g = p_S (f - mean f) = 3/16 (log 2/3 - log 2) = -3/16 log 3
    pulled = 3 / 16 * np.log(3)
    shown = {
        name: [cell.get_attribute("aria-label") for cell in root.locator(f'[data-row="{name}"] .opd-g').all()]
        for name in ("ideal", "t0")
    }
    assert shown["t0"] == [f"−{pulled:.4f}", f"+{pulled:.4f}"]
    wanted = result.candidates["ideal_gradient"][0]
    assert shown["ideal"] == [f"+{wanted:.4f}", f"−{wanted:.4f}"]
    # bars are grounds of their cells: left of the middle for a token that is made less likely, right for the other
    bars = root.locator('.opd-a-gradients [data-row="t0"] .opd-g').evaluate_all(
        "cells => cells.map(cell => getComputedStyle(cell)).map(s => [s.backgroundImage, s.backgroundPosition])"
    )
    assert all(image.count("linear-gradient") == 2 for image, _ in bars)
    places = [float(place.split("%")[0]) for _, place in bars]
    assert places[0] < 50 < places[1] + 1e-9
    rows = root.locator(".opd-a-candidates tbody tr")
    table = result.candidates[result.candidates["node"] == 0]
    for row, (_, found) in zip(rows.all(), table.iterrows(), strict=True):
        said = row.get_attribute("title")
        assert said.startswith(f"P_succ {found['success_mean']:.3f}".replace("0.000", "0"))
        student, teacher = (np.exp(found[name]) for name in ("student_logprob", "teacher_logprob"))
        assert row.locator("td").all_inner_texts()[-2:] == [f"{student:.3f}", f"{teacher:.3f}"]
    assert root.locator(".opd-a-facts tr").first.inner_text().split() == ["alignment", "−1.00", "−1.00", "to", "−1.00"]
    # the ideal arrow points to token 0, at the left end of the line, the teacher's away from it
    found = {kind: root.locator(f".opd-s-{kind}").bounding_box() for kind in ("point", "ideal", "against")}
    middle = {kind: box["x"] + box["width"] / 2 for kind, box in found.items()}
    assert middle["ideal"] + 10 < middle["point"] < middle["against"] - 10
    assert errors == []


def test_a_press_selects_a_node_a_rollout_and_nothing_of_the_text_is_markup(show):
    root, errors = show()
    root.locator(".opd-strip .opd-cell").nth(2).click()
    root.locator(".opd-heading", has_text="Node 2").wait_for()
    root.locator(".opd-row").nth(3).click()
    root.locator(".opd-title", has_text="rollout 4 of 5").wait_for()
    assert root.locator(".opd-heading", has_text="Node 2").count() == 1  # the other rollout passes it, too
    assert root.locator("b, i").count() == 0
    assert root.locator(".opd-strip").inner_text().startswith("<b>a</b>")
    assert errors == []


@pytest.mark.parametrize("width", [1400, 700, 420, 320])
def test_nothing_stands_out_of_the_page_at_any_width(page, show, width):
    page.set_viewport_size({"width": width, "height": 900})
    root, errors = show(node=0)
    assert root.page.evaluate(OVERFLOW) <= 0
    assert errors == []
