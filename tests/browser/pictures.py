"""The README's pictures, each view light and dark, from real runs: `python -m tests.browser.pictures`.

python -m tests.browser.pictures [FOLDER]        # by default notebooks/docs
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.browser.jupyter import CHROMIUM_ARGUMENTS, LabServer, chromium_path, open_notebook, run_all, set_theme
from tests.browser.kernel import notebook
from tests.browser.picture_pages import BUDGET, QUESTIONS, SCALE, photograph, pictures
from tests.browser.small_png import write_small
from tests.checkout import ROOT

NOTEBOOK = ROOT / "notebooks" / "01_quickstart.ipynb"
RUNNING = f"""import opd_widgets as opd
lab = opd.demo(questions={QUESTIONS})
run = opd.ProgressView(lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget={BUDGET}, seed=0)
run"""
# Light at one half of the budget, dark a little later.
HALF = """() => {
  const bar = document.querySelector(".opd-progress-view [role=progressbar]");
  return bar && Number(bar.ariaValueNow) >= Number(bar.ariaValueMax) / 2;
}"""
RUN_MS = 300_000
THEME_MS = 60_000


def take(folder: Path) -> Iterator[Path]:
    """Photograph all views; yields the files as they are written."""
    expect.set_options(timeout=THEME_MS)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), headless=True, args=CHROMIUM_ARGUMENTS)
        for picture in pictures():
            yield from photograph(chromium, picture, folder, Path(scratch))
        with LabServer(Path(scratch) / "lab") as server:
            yield from _explorer(chromium, server, folder)
            server.reset()
            source = notebook(Path(scratch) / "running.ipynb", RUNNING)
            yield from _progress(chromium, server, source, folder)
        chromium.close()


def _explorer(browser: Browser, server: LabServer, folder: Path) -> Iterator[Path]:
    """Run the quickstart and photograph its Explorer, the context edited and scored again."""
    page = _notebook(browser, server, NOTEBOOK, width=1720, height=1080)
    page.locator(".opd-job-status").filter(has_text="rescored in").first.wait_for()
    root = page.locator(".opd-explorer").first
    for theme in ("light", "dark"):
        set_theme(page, theme)
        root.locator(".opd-strip").focus()
        page.keyboard.press("n")  # the token that the teacher minds most
        yield _shot(root, folder / f"explorer-{theme}.png")
    page.close()


def _progress(browser: Browser, server: LabServer, source: Path, folder: Path) -> Iterator[Path]:
    """Run a diagnosis and photograph it on its way."""
    page = _notebook(browser, server, source, width=1560, height=1080)
    page.wait_for_function(HALF, timeout=RUN_MS)
    root = page.locator(".opd-progress-view").first
    for theme in ("light", "dark"):
        set_theme(page, theme)
        yield _shot(root, folder / f"progress-{theme}.png")
    page.close()


def _notebook(browser: Browser, server: LabServer, source: Path, width: int, height: int) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=SCALE)
    open_notebook(page, server, server.add_notebook(source))
    run_all(page, RUN_MS)
    return page


def _shot(root: Locator, path: Path) -> Path:
    root.page.wait_for_timeout(500)
    root.scroll_into_view_if_needed()
    return write_small(root.screenshot(caret="hide"), path)


if __name__ == "__main__":
    for made in take(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "notebooks" / "docs"):
        print(f"{made.name}  {made.stat().st_size / 1e3:.0f} kB", flush=True)  # noqa: T201 - a script says what it made
