"""The README's pictures, taken from the quickstart in a real JupyterLab: `python -m tests.browser.pictures`.

python -m tests.browser.pictures [FOLDER]        # by default notebooks/docs
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.jupyter import CHROMIUM_ARGUMENTS, LabServer, chromium_path, open_notebook, run_all, set_theme
from tests.checkout import ROOT

NOTEBOOK = ROOT / "notebooks" / "01_quickstart.ipynb"
WINDOW = {"width": 1720, "height": 1080}


def take(folder: Path) -> list[Path]:
    """Run the quickstart and photograph its Explorer in the light and in the dark theme."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, LabServer(Path(scratch)) as server, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), headless=True, args=CHROMIUM_ARGUMENTS)
        page = chromium.new_page(viewport=WINDOW, device_scale_factor=1.5)
        open_notebook(page, server, server.add_notebook(NOTEBOOK))
        run_all(page, 180_000)
        page.locator(".opd-job-status").filter(has_text="rescored in").first.wait_for()
        paths = []
        for theme in ("light", "dark"):
            set_theme(page, theme)
            paths.append(_picture(page, folder / f"explorer-{theme}.png"))
        chromium.close()
    return paths


def _picture(page: Page, path: Path) -> Path:
    explorer = page.locator(".opd-explorer").first
    explorer.locator(".opd-strip").focus()
    page.keyboard.press("n")  # the token that the teacher minds most
    page.wait_for_timeout(500)
    explorer.scroll_into_view_if_needed()
    explorer.screenshot(path=path)
    return path


if __name__ == "__main__":
    for made in take(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "notebooks" / "docs"):
        print(made.name)  # noqa: T201 - a script says what it made
