"""Every view for everyone: axe, the keyboard alone, a screen reader's words, no motion, forced colours, paper."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import opd_widgets as opd
from tests.browser import views
from tests.browser.jupyter import run_all, watch_errors
from tests.browser.kernel import notebook
from tests.checkout import ROOT

AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"
# A row of the tree is named by a sentence that says its figures with their names; axe wants the bare figures in a row.
FINDINGS = """async (within) => {
  const found = await axe.run(within);
  return found.violations.flatMap(({ id, impact, nodes }) => nodes
    .filter(({ html }) => !(id === "label-content-name-mismatch" && html.includes('role="treeitem"')))
    .map(({ target, any, all, none }) =>
      `${impact} ${id} ${target.join(" ")}: ${[...any, ...all, ...none][0]?.message}`));
}"""
ROLES = "button, select, input, textarea, a[href], [tabindex='0']"
# Everything that the Tab key is to reach; of a group of radio buttons the one that is checked.
REACHABLE = f"""(root) => [...root.querySelectorAll("{ROLES}")].filter((node) =>
  node.tabIndex >= 0 && !node.disabled && node.checkVisibility({{ visibilityProperty: true }})
).map((node, at) => (node.dataset.reach = String(at)))"""
FOCUSED = """() => {
  const node = document.activeElement;
  const style = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  return {
    reach: node.dataset.reach ?? null,
    what: node.outerHTML.slice(0, 160),
    ring: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
    seen: box.width > 0 && box.height > 0,
  };
}"""
MOVES = """(root) => [
  ...root.getAnimations({ subtree: true }).map(String),
  ...[...root.querySelectorAll("*")].filter((node) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(node);
    return /[1-9]/.test(transitionDuration) || animationName !== "none" || scrollBehavior === "smooth";
  }).map((node) => node.className),
]"""
# Cells whose sign only colour would tell, where the reader's system forces its own colours.
UNSIGNED = """(root) => [...root.querySelectorAll(".opd-cell")].filter((cell) => {
  const name = [...cell.classList].find((name) => /^opd-v-[np]\\d+$/.test(name));
  if (!name || cell.closest(".opd-help")) return false;
  const style = getComputedStyle(cell);
  return parseFloat(name.startsWith("opd-v-n") ? style.borderBottomWidth : style.borderTopWidth) < 2;
}).map((cell) => cell.className)"""
KEYBOARD = (".opd-tree", ".opd-strip", ".opd-aligned", ".opd-list")
MOVE = {"RolloutList": "j", "TreeView": "ArrowDown"}


@pytest.fixture(params=views.NAMES)
def shown(request, page, tmp_path):
    """Return a view's name and its root on its exported page."""
    errors = watch_errors(page)
    page.goto(opd.write_page(views.plain(request.param), tmp_path / "page.html", title="a title").as_uri())
    root = page.locator(views.root(request.param))
    root.wait_for()
    yield request.param, root
    assert errors == []


def axe(page, within="document"):
    page.evaluate(AXE.read_text("utf-8"))
    return page.evaluate(f"() => ({FINDINGS})({within})")


def test_axe_the_keyboard_and_the_reader(shown, page):
    name, root = shown
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
        expect(root).to_have_attribute("data-opd-theme", theme)
        assert axe(page) == [], theme
    it_is_light_on_paper(page, root)
    help_opens_and_closes(name, page, root)
    the_selection_is_said(name, page, root)
    tab_reaches_all(page, root)
    assert root.evaluate(MOVES) == []
    page.emulate_media(forced_colors="active")
    assert root.evaluate(UNSIGNED) == []


def it_is_light_on_paper(page, root):
    page.emulate_media(media="print")
    assert root.evaluate("node => getComputedStyle(node).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")


def help_opens_and_closes(name, page, root):
    keys = next((root.locator(one).first for one in KEYBOARD if root.locator(one).count()), None)
    button, panel = root.locator(".opd-help-button"), root.locator(".opd-help")
    # Where the keys are from the start; a view without a text or a list has them on its first button.
    start = keys or button
    start.focus()
    page.keyboard.press("?")
    expect(panel).to_be_visible()
    expect(start).to_be_focused()
    said = panel.inner_text()
    assert "Esc closes it" in said
    # It speaks of what is here, and of nothing else.
    assert ("edit the context" in said) == (name == "Explorer")
    assert ("find in the rollouts" in said) == (name in ("Explorer", "RolloutList"))
    assert ("find in the text" in said) == (name in ("Explorer", "TokenStrip", "AlignmentView"))
    panel.get_by_role("button", name="close").focus()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(start).to_be_focused()
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    panel.get_by_role("button", name="close").click()
    expect(panel).to_be_hidden()
    expect(button).to_be_focused()


def the_selection_is_said(name, page, root):
    """A screen reader hears of a change, in the live region or by the row that is pointed at; of nothing on arrival."""
    if name == "ProgressView":  # a live run speaks: see test_progress_view.py
        return
    said = root.locator("[aria-live]")
    if name != "TreeView":
        assert said.inner_text() == ""
    (root.locator(", ".join(KEYBOARD)).first if name != "TokenPanel" else root.locator(".opd-help-button")).focus()
    page.keyboard.press(MOVE.get(name, "ArrowRight"))
    if name == "TreeView":
        page.wait_for_timeout(100)
        row = root.locator(".opd-tree").get_attribute("aria-activedescendant")
        assert "success" in page.locator(f"[id='{row}']").get_attribute("aria-label")
        return
    expect(said).not_to_be_empty()
    assert any(word in said.inner_text() for word in ("advantage", "token ", "No token"))


def tab_reaches_all(page, root):
    wanted = root.evaluate(REACHABLE)
    page.evaluate("() => document.activeElement.blur()")
    page.mouse.click(1, 1)
    found = []
    for _ in range(len(wanted) + 1):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at["reach"] is None:
            break
        assert at["seen"], at["what"]
        assert at["ring"] >= 2, at["what"]
        found.append(at["reach"])
    assert found == wanted  # each once, in the order they stand in, and then out: no trap


LAB = """import sys
sys.path.insert(0, {root!r})
from tests.browser import views
views.hostile("Explorer")"""
MORE = [f'views.hostile("{name}")' for name in ("Compare teachers", "AlignmentView", "TreeView", "ProgressView")]


def test_in_jupyterlab_axe_finds_nothing_and_no_text_runs(lab_page, tmp_path):
    """The hostile texts, so that what the notebook's own page would do with them is seen too."""
    page, errors = lab_page(notebook(tmp_path / "all.ipynb", LAB.format(root=str(ROOT)), *MORE))
    run_all(page)
    for name in ("Explorer", "Compare", "AlignmentView", "TreeView", "ProgressView"):
        root = page.locator(views.root(name)).first
        root.wait_for()
        root.scroll_into_view_if_needed()
        expect(root.locator(".opd-frame")).to_be_visible()
    page.wait_for_timeout(300)
    assert "run" not in page.title()
    assert page.locator(".opd-root").locator("img, b:not([class]), script, iframe, style").count() == 0
    # Two views in one notebook both have a part named "Rollouts": moderate findings are of the page that they are in.
    found = axe(page, "{ include: ['.opd-root'] }")
    assert [one for one in found if one.startswith(("serious", "critical"))] == []
    assert errors == []
