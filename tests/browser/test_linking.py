"""Linked views in JupyterLab: they follow each other in the browser, beside a running cell, and a chart takes part."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import opd_widgets as opd
from tests.browser.jupyter import run_all
from tests.browser.kernel import ask, notebook

# Scored in the test: the notebook needs no model.
OPEN = """import altair as alt
import opd_widgets as opd
alt.JupyterChart.enable_offline()
scores = opd.load({scores!r})"""
MAKE = """strip, panel = opd.TokenStrip(scores), opd.TokenPanel(scores)
apart = opd.TokenStrip(scores)
frame = scores.to_pandas()
frame = frame[(frame["rollout"] < 4) & (frame["teacher"] == "Teacher")]
pick = alt.selection_point(name="pick", fields=["rollout", "position"])
teacher = alt.param(name="teacher", value="")
marks = alt.Chart(frame, width=420, height=120).mark_square(size=120).encode(
    x="position:O", y="rollout:O", opacity=alt.condition(pick, alt.value(1), alt.value(0.5)))
chart = alt.JupyterChart(marks.add_params(pick, teacher))
selection = opd.link(strip, panel, chart)
selection.select(teacher="Other style")
strip"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    lab = opd.demo(questions=2, rollouts=3)
    scores = opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)
    return str(scores.save(tmp_path_factory.mktemp("linked") / "scores"))


@pytest.fixture
def linked(lab_page, tmp_path, saved):
    path = notebook(tmp_path / "linked.ipynb", OPEN.format(scores=saved), MAKE, "panel", "apart", "chart")
    page, errors = lab_page(path)
    run_all(page)
    strips = page.locator(".opd-token-strip")
    for root in (strips.nth(0), strips.nth(1)):
        root.locator(".opd-strip .opd-cell").first.wait_for()
    page.locator(".opd-token-panel .opd-panel-body").wait_for()
    return page, errors, strips.nth(0), page.locator(".opd-token-panel").first, strips.nth(1)


def test_views_follow_each_other_beside_a_running_cell(linked):
    page, errors, strip, panel, apart = linked
    strip.locator('[data-cell="4"]').first.click()
    expect(panel.locator(".opd-heading").first).to_contain_text("Token 5 of")
    page.wait_for_timeout(300)
    assert ask(page, "[strip.token, panel.token, selection.place['token'], apart.token]") == [4, 4, 4, -1]

    # the kernel is busy for longer than this part takes
    page.evaluate(
        """() => void window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
             .requestExecute({ code: "import time; time.sleep(6)" })"""
    )
    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    expect(panel.locator(".opd-heading").first).to_contain_text("Token 6 of", timeout=2000)
    expect(panel.locator(".opd-top th").filter(has_text="Other style").first).to_be_visible(timeout=2000)
    expect(apart.locator('[aria-selected="true"]')).to_have_count(0)
    # what a busy kernel has not taken yet is sent when it has ended, behind a question that waits for it
    ask(page, "None")
    page.wait_for_timeout(400)
    assert ask(page, "[panel.token, panel.teacher, apart.teacher]") == [5, "Other style", "Teacher"]
    assert errors == []


def test_a_chart_selects_and_follows(linked):
    page, errors, strip, panel, _ = linked
    # which one this is, is read back from what it selects
    page.locator(".vega-embed [aria-roledescription='square']").nth(7).click()
    page.wait_for_function("() => document.querySelector('.opd-token-strip [aria-selected=\"true\"]') !== null")
    page.wait_for_timeout(300)
    token, chosen, place = ask(page, "[panel.token, chart.selections.pick.value[-1], selection.place]")
    assert (token, place["token"]) == (chosen["position"], chosen["position"])
    assert place["rollout"] == ask(page, f"scores.rollouts[{chosen['rollout']}].id")
    expect(panel.locator(".opd-heading").first).to_contain_text(f"Token {token + 1} of")
    strip.locator(".opd-strip").focus()
    page.keyboard.press("3")
    page.wait_for_timeout(400)
    assert ask(page, "chart.params.teacher") == "Self-1C"
    assert errors == []
