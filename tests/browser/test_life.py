"""An Explorer through what happens to a notebook: second views, moved and cleared cells, and a kernel that ends."""

from __future__ import annotations

import os
import re
import signal

import pytest
from playwright.sync_api import expect

from tests.browser import seen
from tests.browser.jupyter import KERNEL_MS, run_all
from tests.browser.kernel import ask, notebook

SMALL = """import opd_widgets as opd
lab = opd.demo(questions=2, rollouts=2)
teachers = {name: lab.teachers[name] for name in ("Other style", "Self-1C")}
explorer = opd.Explorer(lab.rollouts, lab.student, teachers)
explorer"""
BUSY = "import time\nfor _ in range(3000):\n    time.sleep(0.1)"
ENDED = re.compile("the kernel has ended: to score, run this cell again")
# Far sooner than a request counts as lost (20 s), and after a kernel's own end.
SOON_MS = 5_000
# Does not wait for its end.
START_CELL = """(index) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = index;
  content.deselectAll();
  window.jupyterapp.commands.execute("notebook:run-cell");
}"""


def command(page, name, cell=None):
    """Run one of JupyterLab's own commands, on a cell if one is given; a cell that is run has ended then."""
    select = """([name, cell]) => {
      const { content } = window.jupyterapp.shell.currentWidget;
      if (cell !== null) { content.activeCellIndex = cell; content.deselectAll(); }
      return window.jupyterapp.commands.execute(name).then(() => null);
    }"""
    page.evaluate(select, [name, cell])


def roots(page):
    return page.locator(".opd-explorer:visible")


def reads_on(root, token=2):
    """Switch the teacher and scrub, with no help from Python."""
    page = root.page
    before = seen.colours(root)
    current = root.locator('[data-teacher][aria-checked="true"]').get_attribute("data-teacher")
    root.locator(".opd-strip").focus()
    page.keyboard.press("2" if current == "Other style" else "1")
    expect(root.locator(f'[data-teacher="{current}"]')).to_have_attribute("aria-checked", "false")
    for _ in range(250):  # a busy machine draws its next frame late
        if seen.colours(root) != before:
            break
        page.wait_for_timeout(20)
    assert seen.colours(root) != before
    cells = root.locator(".opd-strip .opd-cell")
    cells.nth(token).hover()
    page.mouse.down()
    cells.nth(token + 2).hover()
    page.mouse.up()
    expect(cells.nth(token + 2)).to_have_attribute("aria-selected", "true")


def test_cells_come_and_go(lab_page, tmp_path):
    page, errors = lab_page(notebook(tmp_path / "cells.ipynb", SMALL, "explorer", "other = 1"))
    run_all(page)
    seen.explorer(page)
    expect(roots(page)).to_have_count(2)
    first, second = roots(page).nth(0), roots(page).nth(1)
    second.locator(".opd-strip .opd-cell").first.wait_for()

    # two views of one model show one selection
    reads_on(first)
    expect(second.locator(".opd-strip .opd-cell").nth(4)).to_have_attribute("aria-selected", "true")
    expect(second.locator('[data-teacher="Self-1C"]')).to_have_attribute("aria-checked", "true")

    # a third one beside the notebook
    command(page, "notebook:create-output-view", 0)
    expect(page.locator(".jp-LinkedOutputView .opd-explorer")).to_have_count(1)
    third = page.locator(".jp-LinkedOutputView .opd-explorer")
    reads_on(third, 4)
    expect(first.locator(".opd-strip .opd-cell").nth(6)).to_have_attribute("aria-selected", "true")
    page.evaluate("() => window.jupyterapp.commands.execute('application:close')")
    expect(third).to_have_count(0)

    # moved below the other, hidden and shown
    page.evaluate("""() => {
      const [panel] = [...window.jupyterapp.shell.widgets("main")].filter((w) => w.content?.widgets);
      window.jupyterapp.shell.activateById(panel.id);
    }""")
    command(page, "notebook:move-cell-down", 0)
    expect(roots(page)).to_have_count(2)
    reads_on(roots(page).nth(1))
    command(page, "notebook:hide-cell-outputs", 1)
    expect(roots(page)).to_have_count(1)
    roots(page).first.locator(".opd-strip").focus()
    page.keyboard.press("1")
    command(page, "notebook:show-cell-outputs", 1)
    expect(roots(page)).to_have_count(2)
    expect(roots(page).nth(1).locator('[data-teacher="Other style"]')).to_have_attribute("aria-checked", "true")
    reads_on(roots(page).nth(1))

    # output cleared, cell run again
    command(page, "notebook:clear-cell-output", 1)
    expect(roots(page)).to_have_count(1)
    reads_on(roots(page).first)
    command(page, "notebook:run-cell", 1)
    expect(roots(page)).to_have_count(2)
    reads_on(roots(page).nth(1))
    assert errors == []


def end(page, how):
    """Let the kernel end in one of the ways a kernel ends."""
    if how == "killed":
        os.kill(ask(page, "__import__('os').getpid()"), signal.SIGKILL)
        return
    call = {"restarted": "restartKernel", "shut down": "shutdown"}[how]
    page.evaluate(f"() => {{ window.jupyterapp.shell.currentWidget.sessionContext.{call}(); }}")


@pytest.mark.parametrize("how", ["restarted", "killed", "shut down"])
def test_reading_outlives_the_kernel(lab_page, tmp_path, how):
    page, errors = lab_page(notebook(tmp_path / "kernel.ipynb", SMALL, "first = 1", BUSY))
    command(page, "notebook:run-cell", 0)
    root = seen.explorer(page)
    reads_on(root)
    page.keyboard.press("2")
    field = root.locator("textarea.opd-context-text")
    expect(field).to_be_editable()
    if how != "killed":  # the process id is asked of a kernel that answers
        page.evaluate(START_CELL, 2)
        page.locator(".jp-StatusBar-Widget", has_text="Busy").first.wait_for()
        reads_on(root)
        page.keyboard.press("2")
        field.fill("Right: 1-2=3;3-4=5")
    end(page, how)
    status = root.locator(".opd-job-status")
    expect(status).to_have_text(ENDED, timeout=SOON_MS)
    expect(root.locator(".opd-context-cancel")).to_be_hidden()
    expect(field).not_to_be_editable()
    if how != "killed":
        assert field.input_value() == "Right: 1-2=3;3-4=5"
    reads_on(root)
    page.wait_for_timeout(500)
    reads_on(root)
    assert errors == []
    if how == "restarted":
        run_again(page, errors)


def run_again(page, errors):
    """The cell run again has a living view; so it has after the page was loaded again."""
    page.locator('.jp-StatusBar-Widget :text("| Idle")').first.wait_for(timeout=KERNEL_MS)
    command(page, "notebook:run-cell", 0)
    edited(page)
    command(page, "docmanager:save")
    page.reload()
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=KERNEL_MS)
    page.locator('.jp-StatusBar-Widget :text("| Idle")').first.wait_for(timeout=KERNEL_MS)
    reads_on(seen.explorer(page))  # the kernel still has it
    command(page, "notebook:run-cell", 0)
    edited(page)
    assert errors == []


def edited(page):
    """Wait for a living view, and edit a context in it."""
    field = page.locator(".opd-explorer textarea.opd-context-text").first
    page.locator('.opd-explorer [data-teacher="Self-1C"]').first.click()
    expect(field).to_be_editable(timeout=KERNEL_MS)
    field.fill("Right: 1-2=3;3-4=5")
    page.locator(".opd-job-status").filter(has_text="rescored in").first.wait_for(timeout=30_000)
