"""The Explorer in the hosts beside JupyterLab: Notebook 7, marimo, and a notebook that nbconvert made a page of."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import opd_widgets as opd
from tests.browser import seen
from tests.browser.jupyter import watch_errors
from tests.browser.kernel import LAB, ask, notebook
from tests.browser.notebook7 import open_notebook, run_all

# From the root of a view: the sheets of the tree it stands in, and what one of its rules gives.
SHEETS = """root => {
  const tree = root.getRootNode();
  const rules = [...tree.querySelectorAll("style")].filter((style) => style.textContent.includes(".opd-root"));
  const adopted = [...(tree.adoptedStyleSheets ?? [])]
    .filter((sheet) => [...sheet.cssRules].some((rule) => rule.cssText.includes(".opd-root")));
  return {
    shadow: tree instanceof ShadowRoot,
    sheets: rules.length + adopted.length,
    container: getComputedStyle(root).containerName,
    cell: getComputedStyle(root.querySelector(".opd-strip .opd-cell")).unicodeBidi,
  };
}"""


@pytest.fixture(scope="module")
def scores():
    lab = opd.demo(questions=3, rollouts=3)
    return opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)


def switch_and_select(root, scores, rollout=0):
    """Take the second teacher by its key, then the fourth token by a click, and see Python's numbers."""
    meta = seen.meta_of(scores)
    first, second = list(scores.teachers)[:2]
    seen.expect(root, seen.wanted(scores, rollout, first, meta))
    root.locator(".opd-strip").focus()
    root.page.keyboard.press("2")
    root.locator(f'[data-teacher="{second}"][aria-checked="true"]').wait_for()
    seen.expect(root, seen.wanted(scores, rollout, second, meta))
    root.locator(".opd-strip .opd-cell").nth(3).click()
    return second


def test_notebook_7(page, notebook_server, scores, tmp_path):
    open_notebook(page, notebook_server, notebook_server.add_notebook(notebook(tmp_path / "hosts.ipynb", LAB)))
    errors = watch_errors(page)  # from here on: at its start Notebook has one of its own
    run_all(page)
    root = seen.explorer(page)
    second = switch_and_select(root, scores)
    page.wait_for_timeout(300)
    assert ask(page, "[explorer.teacher, explorer.token]") == [second, 3]
    assert ask(page, "setattr(explorer, 'token', 5) or explorer.token") == 5
    expect(root.locator(".opd-strip .opd-cell").nth(5)).to_have_attribute("aria-selected", "true")
    # a context is scored again by the kernel's own models
    page.keyboard.press("3")
    root.locator("textarea.opd-context-text").fill("Right: 1-2=3;3-4=5")
    root.locator(".opd-job-status").filter(has_text="rescored in").wait_for(timeout=30_000)
    assert root.get_attribute("data-opd-theme") == "light"
    assert errors == []
    notebook_server.reset()


def test_marimo(page, marimo_server, scores):
    errors = watch_errors(page)
    page.goto(marimo_server.url)
    root = page.locator(".opd-explorer").first
    root.locator(".opd-strip .opd-cell").first.wait_for(timeout=60_000)
    found = root.evaluate(SHEETS)
    assert found["shadow"], "marimo shows a widget in a shadow root"
    assert found["sheets"] >= 1
    assert (found["container"], found["cell"]) == ("opd", "isolate")
    second = switch_and_select(root, scores)
    page.get_by_text(f"selected: {second} 3 3").wait_for()
    page.keyboard.press("3")
    root.locator("textarea.opd-context-text").fill("Right: 1-2=3;3-4=5")
    root.locator(".opd-job-status").filter(has_text="rescored in").wait_for(timeout=30_000)
    assert errors == []
