"""Linked views in marimo: they follow each other, in Python too."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.jupyter import watch_errors
from tests.browser.marimo_host import MarimoServer

LINKED = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import opd_widgets as opd
    return mo, opd


@app.cell
def _(mo, opd):
    lab = opd.demo(questions=2, rollouts=3)
    scores = opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)
    strip, panel, apart = opd.TokenStrip(scores), opd.TokenPanel(scores), opd.TokenStrip(scores)
    selection = opd.link(strip, panel)
    shown = [mo.ui.anywidget(view) for view in (strip, panel, apart)]
    mo.vstack(shown)
    return apart, panel, selection, strip


@app.cell
def _(mo):
    button = mo.ui.button(value=0, on_click=lambda clicks: clicks + 1, label="ask")
    button
    return (button,)


@app.cell
def _(apart, button, mo, panel, selection, strip):
    views = f"{strip.token} {panel.token} {apart.token} {panel.teacher}"
    mo.md(f"asked {button.value}: {views} {selection.place['token']}")
    return


if __name__ == "__main__":
    app.run()
"""


def test_views_follow_each_other(page, tmp_path):
    with MarimoServer(tmp_path, LINKED) as server:
        errors = watch_errors(page)
        page.goto(server.url)
        strips, panel = page.locator(".opd-token-strip"), page.locator(".opd-token-panel").first
        strips.nth(1).locator(".opd-strip .opd-cell").first.wait_for(timeout=90_000)
        strips.nth(0).locator('[data-cell="4"]').first.click()
        page.keyboard.press("2")
        expect(panel.locator(".opd-heading").first).to_contain_text("Token 5 of")
        expect(panel).to_contain_text("Other style")
        expect(strips.nth(1).locator('.opd-strip [aria-selected="true"]')).to_have_count(0)
        page.wait_for_timeout(500)
        page.get_by_role("button", name="ask").click()
        page.get_by_text("asked 1: 4 4 -1 Other style 4").wait_for(timeout=15_000)
        assert errors == []
