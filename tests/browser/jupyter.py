"""A real JupyterLab and a real Chromium, for tests.

with LabServer(tmp_path) as server:
    server.add_notebook(path)
    page = open_notebook(browser, server, "demo.ipynb")
    run_all(page)
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import urllib.request
from typing import TYPE_CHECKING, Any, Literal

from playwright.sync_api import expect

from tests.browser.served import Served

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, ViewportSize

Theme = Literal["light", "dark", "high contrast"]

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWPORT: ViewportSize = {"width": 1400, "height": 900}
KERNEL_MS = 60_000
RUN_MS = 120_000
# Written before the start. No question about news, and every cell stays in the page: in the usual
# windowing mode a cell out of sight is taken out of the document, with the widget in it.
SETTINGS: dict[str, dict[str, Any]] = {
    "apputils-extension/notification": {"fetchNews": "false"},
    "notebook-extension/tracker": {"windowingMode": "none"},
}
# The app stands in window.jupyterapp, which RUN_OUTCOME asks; no question goes out about a newer version.
LAB_OPTIONS = [
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
]
ANSI = re.compile(r"\x1b\[[0-9;]*m")
# Asks the notebook in front: false while cells run, "done", or the first error's traceback. A cell
# has a count once its reply has come; an empty cell never gets one.
RUN_OUTCOME = """() => {
  const cells = window.jupyterapp.shell.currentWidget.content.widgets
    .map((cell) => cell.model)
    .filter((model) => model.type === "code" && model.sharedModel.getSource().trim());
  const error = cells
    .flatMap((model) => model.outputs.toJSON())
    .find((output) => output.output_type === "error");
  if (error) return error.traceback.join("\\n") || `${error.ename}: ${error.evalue}`;
  return cells.every((model) => model.executionCount !== null) && "done";
}"""


def chromium_path() -> str:
    """The system's Chromium, or an error that says how to get one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        message = "found no chromium on PATH; the browser tests need it: apt-get install chromium"
        raise FileNotFoundError(message)
    return path


class LabServer(Served):
    """JupyterLab on a free port with its own configuration; a context manager.

    Args:
        folder: An empty folder: the notebooks' folder, the configuration and the log lie in it.

    """

    NAME = "JupyterLab"

    def add_notebook(self, source: Path) -> str:
        """Copy a notebook to where the server sees it; returns its name there."""
        shutil.copyfile(source, self.notebooks / source.name)
        return source.name

    def notebook_url(self, name: str) -> str:
        """The address of a notebook in a fresh workspace."""
        return f"{self.url}/lab/tree/{name}?token={self.token}&reset"

    def request(self, method: str, path: str) -> Any:
        """One call to the server's own API, as JSON; None where it answers with nothing."""
        url = f"{self.url}/api/{path}"
        headers = {"Authorization": f"token {self.token}"}
        call = urllib.request.Request(url, method=method, headers=headers)
        with urllib.request.urlopen(call, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def reset(self) -> None:
        """End every kernel, so that the next test has the memory, and forget a chosen theme."""
        for session in self.request("GET", "sessions"):
            self.request("DELETE", f"sessions/{session['id']}")
        self._setting("apputils-extension/themes").unlink(missing_ok=True)

    def _configure(self) -> None:
        for name, values in SETTINGS.items():
            path = self._setting(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values), "utf-8")

    def _answers(self) -> None:
        self.request("GET", "status")

    def _command(self) -> list[str]:
        return [*self._server("lab"), *LAB_OPTIONS]

    def _server(self, application: str) -> list[str]:
        return [
            *[sys.executable, "-m", "jupyter", application, "--no-browser", "--allow-root"],
            "--ip=127.0.0.1",
            f"--port={self.port}",
            f"--IdentityProvider.token={self.token}",
            f"--ServerApp.root_dir={self.notebooks}",
            "--ServerApp.port_retries=0",
        ]

    def _environment(self) -> dict[str, str]:
        folders = {
            "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }
        return {key: str(self._home / name) for key, name in folders.items()}

    def _setting(self, name: str) -> Path:
        return self._home / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"


def watch_errors(page: Page) -> list[str]:
    """A list that fills with the page's console errors and uncaught exceptions from now on."""
    errors: list[str] = []
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def open_notebook(page: Page, server: LabServer, name: str) -> None:
    """Show a notebook and wait until its kernel is connected and idle."""
    # A dialogue would lie over everything: take its default.
    accept = page.locator(".jp-Dialog button.jp-mod-accept")
    page.add_locator_handler(accept, lambda button: button.click())
    page.goto(server.notebook_url(name))
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=KERNEL_MS)
    # The notebook's own indicator says idle before a kernel is connected; the status bar does not.
    page.locator('.jp-StatusBar-Widget :text("| Idle")').first.wait_for(timeout=KERNEL_MS)


def run_all(page: Page, timeout_ms: float = RUN_MS) -> None:
    """Run > Run All Cells; returns when every code cell has run, raises what a cell raised."""
    choose(page, "Run", "runmenu:run-all")
    outcome = page.wait_for_function(RUN_OUTCOME, timeout=timeout_ms).json_value()
    if outcome != "done":
        raise RuntimeError(ANSI.sub("", outcome))


def choose(page: Page, menu: str, command: str, submenu: str | None = None, item: str = "") -> None:
    """Click through JupyterLab's menu bar to a command."""
    page.locator(f'div.lm-MenuBar-itemLabel:text-is("{menu}")').click()
    if submenu is not None:
        page.locator(f'.lm-Menu-itemLabel:text-is("{submenu}")').click()
    entry = page.locator(f'li.lm-Menu-item[data-command="{command}"]')
    (entry.filter(has=page.get_by_text(item, exact=True)) if item else entry).first.click()


def set_theme(page: Page, theme: Theme) -> None:
    """Settings > Theme, as a user does it; returns when the page shows it."""
    names = {
        "light": "JupyterLab Light",
        "dark": "JupyterLab Dark",
        "high contrast": "JupyterLab Dark High Contrast",
    }
    choose(page, "Settings", "apputils:change-theme", "Theme", names[theme])
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", names[theme])
    light = "true" if theme == "light" else "false"
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", light)
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)  # covers the page while it changes
