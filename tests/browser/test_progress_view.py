"""A diagnosis started, watched, stopped, resumed and finished in a real JupyterLab."""

from __future__ import annotations

from playwright.sync_api import expect

import opd_widgets as opd
from tests.browser.jupyter import run_all, set_theme, watch_errors
from tests.browser.kernel import ask, notebook

CELL = """import time
import opd_widgets as opd
lab = opd.demo(questions=2, rollouts=2)
pause = [0.3]
run = opd.ProgressView(lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=3000, batch_rows=32,
                       rounds=8, checkpoint=lambda: time.sleep(pause[0]))
run"""
SLOW_MS = 90_000


def spent(root):
    """Return the tokens that the bar says."""
    return int(root.get_by_role("progressbar").get_attribute("aria-valuenow"))


def test_it_starts_shows_stops_resumes_and_finishes(lab_page, tmp_path):
    page, errors = lab_page(notebook(tmp_path / "progress.ipynb", CELL))
    run_all(page)
    root = page.locator(".opd-progress-view")
    state, button = root.locator(".opd-run-state"), root.locator(".opd-run-button")
    expect(state).to_contain_text("running", timeout=SLOW_MS)
    expect(root.locator(".opd-run-cost")).to_contain_text("about", timeout=SLOW_MS)
    expect(root.locator(".opd-bought-table tbody tr")).to_have_count(8, timeout=SLOW_MS)
    assert ask(page, "run.progress['state']") == "running"  # the cell is over, the run is not
    assert ask(page, "len(run.result.evidence)") >= 1

    button.focus()
    page.keyboard.press("Enter")
    expect(state).to_contain_text("stopped", timeout=SLOW_MS)
    expect(button).to_be_focused()
    kept = spent(root)
    assert kept == ask(page, "run.result.about['generated_tokens']")
    page.wait_for_timeout(1000)
    assert spent(root) == kept
    set_theme(page, "dark")
    expect(root).to_have_attribute("data-opd-theme", "dark")

    button.click()
    expect(state).to_contain_text("running", timeout=SLOW_MS)
    ask(page, "pause.__setitem__(0, 0)")
    expect(state).to_have_text("finished", timeout=SLOW_MS)
    expect(button).to_be_hidden()
    expect(root.locator(".opd-run-code")).to_have_text("opd.AlignmentView(run.result)")
    root.locator(".opd-open-node").first.click()
    expect(root.locator(".opd-open-node").first).to_have_attribute("aria-pressed", "true")
    page.wait_for_timeout(300)
    question, node, drawn = ask(
        page, "[run.question, run.node, [[d.ids.tolist() for d in one.rollouts] for one in run.result.evidence]]"
    )
    assert errors == []

    lab = opd.demo(questions=2, rollouts=2)
    given = {"verifier": lab.verifier, "budget": 3000, "batch_rows": 32, "rounds": 8, "progress": False}
    plain = opd.diagnose(lab.questions, lab.student, lab.teachers, **given)
    assert drawn == [[one.ids.tolist() for one in its.rollouts] for its in plain.evidence]
    assert 0 <= node < len(plain.evidence[plain.questions.index(question)].nodes)


def test_a_gone_kernel_is_said_and_what_was_shown_stays(lab_page, tmp_path):
    page, _ = lab_page(notebook(tmp_path / "gone.ipynb", CELL.replace("3000", "50_000")))
    run_all(page)
    root = page.locator(".opd-progress-view")
    expect(root.locator(".opd-bought-table tbody tr")).to_have_count(8, timeout=SLOW_MS)
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.shutdown()")
    expect(root.locator(".opd-run-state")).to_contain_text("the kernel has ended", timeout=SLOW_MS)
    expect(root.locator(".opd-run-button")).to_be_hidden()
    expect(root.locator(".opd-bought-table tbody tr")).to_have_count(8)


def test_a_page_shows_the_last_state_without_buttons(page, tmp_path):
    lab = opd.demo(questions=2, rollouts=2)
    run = opd.ProgressView(lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=3000)
    run.wait()
    errors = watch_errors(page)
    page.goto(opd.write_page(run, tmp_path / "run.html").as_uri())
    root = page.locator(".opd-progress-view")
    expect(root.locator(".opd-run-state")).to_have_text("finished")
    expect(root.locator(".opd-run-button")).to_be_hidden()
    expect(root.locator(".opd-bought-table tbody tr")).to_have_count(8)
    for width in (320, 420, 1100, 3840):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
