"""The main views as pictures, light and dark: none changes its look without a new picture, see `make snapshots`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.result import Diagnosis
from tests.browser.small_png import write_small
from tests.browser.snapshot import SHARE, differing, marked, pixels
from tests.diagnosis.toy_run import run

KEPT = Path(__file__).parent / "snapshots"
# OPD_SNAPSHOTS=write writes the pictures instead of comparing with them.
WRITE = os.environ.get("OPD_SNAPSHOTS") == "write"
WIDTH, HEIGHT = 1200, 900
# The page's policy takes no style element but its own.
LAY_OVER = """(style) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets.push(sheet);
}"""
PIECES = {"0": "The ", "1": "sum ", "2": "is ", "3": "4.\n", "4": "<end>"}


@pytest.fixture(scope="module")
def scores():
    lab = opd.demo(questions=3, rollouts=3)
    return opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)


@pytest.fixture(scope="module")
def diagnosis():
    found = run()
    return Diagnosis(found.evidence, found.settings, {**found.about, "pieces": PIECES})


def of_scores(make):
    return lambda request: make(request.getfixturevalue("scores"))


def of_diagnosis(make):
    return lambda request: make(request.getfixturevalue("diagnosis"))


VIEWS = {
    "explorer": of_scores(lambda scores: opd.Explorer(scores, rollout=2, token=5, teacher="Self-1C")),
    "token_strip": of_scores(lambda scores: opd.TokenStrip(scores, rollout=2, token=5)),
    "compare_teachers": of_scores(lambda scores: opd.Compare(scores, rollout=2, token=5)),
    "compare_rollouts": of_scores(lambda scores: opd.Compare(scores, rollout=2, token=5, across="rollouts")),
    "alignment_view": of_diagnosis(lambda found: opd.AlignmentView(found, question="two", node=1, teacher="B")),
    "tree_view": of_diagnosis(lambda found: opd.TreeView(found, question="two", node=1, teacher="B")),
}


def shot(page, widget, path, theme, style=""):
    """The view in a theme, as a PNG; `style` is laid over its own."""
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.goto(opd.write_page(widget, path).as_uri())
    page.evaluate("(theme) => { document.body.dataset.theme = theme; }", theme)
    root = page.locator(".opd-root")
    root.and_(page.locator(f'[data-opd-theme="{theme}"]')).wait_for()
    if style:
        page.evaluate(LAY_OVER, style)
    page.evaluate("() => document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 200)))")
    return root.screenshot(animations="disabled", caret="hide")


def share_of(png, kept, diff):
    """Return the share of pixels that differ from the picture kept; where too many do, a picture says which."""
    seen = pixels(png)
    found = differing(seen, pixels(kept))
    share = float(found.mean())
    if share > SHARE:
        diff.with_suffix(".seen.png").write_bytes(png)
        diff.write_bytes(marked(seen, found))
    return share


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_it_looks_as_it_did(page, request, tmp_path, name, theme):
    png = shot(page, VIEWS[name](request), tmp_path / "page.html", theme)
    kept = KEPT / f"{name}-{theme}.png"
    if WRITE:
        write_small(png, kept)
        assert share_of(png, kept, tmp_path / "palette.png") <= SHARE, "256 colours are enough for it"
        return
    diff = tmp_path / f"{name}-{theme}.diff.png"
    share = share_of(png, kept, diff)
    assert share <= SHARE, (
        f"{share:.2%} of the pixels differ from {kept.name}: see {diff}. If it is to look so: `make snapshots`"
    )


@pytest.mark.skipif(WRITE, reason="pictures are being written")
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (".opd-root .opd-v-n12 { background: #2e8b57 !important; }", "a colour of the scale"),
        (".opd-root .opd-heading { color: #c00; }", "the colour of headings"),
        (".opd-root .opd-title { padding-top: 6px; }", "what is below moves"),
        (".opd-root .opd-panel { padding-left: 4px; }", "a margin"),
    ],
)
def test_it_would_tell(page, request, tmp_path, change, name):
    png = shot(page, VIEWS["explorer"](request), tmp_path / "page.html", "light", change)
    diff = tmp_path / "diff.png"
    assert share_of(png, KEPT / "explorer-light.png", diff) > SHARE, name
    assert diff.stat().st_size > 0
