"""The quickstart in a real JupyterLab: switch the teacher, edit a context, and see Python's numbers as colours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opd_widgets as opd
from tests.browser import seen
from tests.browser.jupyter import run_all, set_theme
from tests.browser.kernel import ask

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_quickstart.ipynb"


@pytest.fixture(scope="module")
def lab():
    return opd.demo()


@pytest.fixture(scope="module")
def scores(lab):
    return opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)


def with_context(lab, scores, rollout, text):
    """Return the rollout scored by Self-1C under another context, computed here from the start."""
    teacher = opd.Teacher(lab.student, opd.contexts.free_text(text, placement="system"))
    return opd.score([scores.rollouts[rollout]], lab.student, {"Self-1C": teacher}, progress=False)


def test_quickstart(lab_page, lab, scores):
    page, errors = lab_page(NOTEBOOK)
    run_all(page, 180_000)
    root = seen.explorer(page)
    meta = seen.meta_of(scores)
    rollout = next(i for i, r in enumerate(scores.rollouts) if r.outcome == "incorrect")
    own_working = scores.rollouts[rollout].response_text.removeprefix("<think>").partition("</think>")[0]

    # the notebook's own edit: the rollout's own wrong working passed off as right
    status = root.locator(".opd-job-status")
    status.filter(has_text="rescored in").wait_for()
    misled = with_context(lab, scores, rollout, f"Right: {own_working}")
    seen.expect(root, seen.wanted(misled, 0, "Self-1C", meta))

    # one key switches the teacher, without Python
    root.locator(".opd-strip").focus()
    page.keyboard.press("1")
    root.locator('[data-teacher="Teacher"][aria-checked="true"]').wait_for()
    seen.expect(root, seen.wanted(scores, rollout, "Teacher", meta))
    page.keyboard.press("2")
    seen.expect(root, seen.wanted(scores, rollout, "Other style", meta))

    # an edit of the context recolours, and Python has the same numbers
    page.keyboard.press("3")
    root.locator("textarea.opd-context-text").fill("Right: 1-2=3;3-4=5")
    page.wait_for_function("() => document.querySelector('.opd-job-status').dataset.phase === 'rest'")
    status.filter(has_text="rescored in").wait_for()
    edited = with_context(lab, scores, rollout, "Right: 1-2=3;3-4=5")
    seen.expect(root, seen.wanted(edited, 0, "Self-1C", meta))
    in_kernel = ask(page, f"explorer.edited_scores().signal('advantage', {rollout}, 'Self-1C').tolist()")
    assert in_kernel == pytest.approx(edited.signal("advantage", 0).tolist(), abs=1e-4)

    # a selection in the view is a trait in Python
    root.locator(".opd-strip .opd-cell").nth(3).click()
    page.wait_for_timeout(300)
    assert ask(page, "explorer.token") == 3
    assert root.locator(".opd-panel .opd-heading").first.inner_text().lower().startswith("token 4 of")

    # and a trait set in Python is a selection in the view
    assert ask(page, "setattr(explorer, 'teacher', 'Other style') or explorer.teacher") == "Other style"
    root.locator('[data-teacher="Other style"][aria-checked="true"]').wait_for()

    set_theme(page, "dark")
    dark = seen.explorer(page)
    page.wait_for_function("() => document.querySelector('.opd-explorer').dataset.opdTheme === 'dark'")
    seen.expect(dark, seen.wanted(scores, rollout, "Other style", meta))
    assert errors == []


def test_a_context_too_long_is_refused_in_place_and_the_text_is_kept(lab_page):
    page, errors = lab_page(NOTEBOOK)
    run_all(page, 180_000)
    root = seen.explorer(page)
    before = seen.colours(root)
    root.locator("textarea.opd-context-text").fill("9" * 600)
    said = root.locator(".opd-context-error")
    said.filter(has_text="takes 512 tokens").wait_for()
    assert "600 of them the context" in said.inner_text()
    assert root.locator("textarea.opd-context-text").input_value() == "9" * 600
    assert seen.colours(root) == before
    root.locator(".opd-context-reset").click()
    page.wait_for_function("() => document.querySelector('textarea.opd-context-text').value.startsWith('Right: ')")
    assert said.is_hidden()
    assert errors == []


def test_reading_goes_on_while_a_cell_runs(lab_page, scores, tmp_path):
    """A training cell holds the kernel: teachers switch all the same, and an edit waits in sight."""
    nb = json.loads(NOTEBOOK.read_text())
    busy = "import time\nfor _ in range(200):\n    time.sleep(0.1)"
    nb["cells"].append(
        {"cell_type": "code", "id": "busy", "metadata": {}, "execution_count": None, "outputs": [], "source": busy}
    )
    path = tmp_path / "busy.ipynb"
    path.write_text(json.dumps(nb))
    page, errors = lab_page(path)
    page.locator('div.lm-MenuBar-itemLabel:text("Run")').click()
    page.locator('li[data-command="runmenu:run-all"]').click()
    root = seen.explorer(page)
    root.locator(".opd-job-status").filter(has_text="rescored in").wait_for(timeout=120_000)
    page.locator(".jp-StatusBar-Widget", has_text="Busy").first.wait_for()
    root.locator(".opd-strip").focus()
    page.keyboard.press("1")
    rollout = next(i for i, r in enumerate(scores.rollouts) if r.outcome == "incorrect")
    seen.expect(root, seen.wanted(scores, rollout, "Teacher", seen.meta_of(scores)))
    assert errors == []
