"""A real Notebook 7, for tests: the server's own API and the cells are JupyterLab's, the shell around them is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.jupyter import KERNEL_MS, LAB_OPTIONS, RUN_OUTCOME, LabServer

if TYPE_CHECKING:
    from playwright.sync_api import Page


class NotebookServer(LabServer):
    """Notebook 7 on a free port with its own configuration; a context manager.

    Args:
        folder: An empty folder: the notebooks' folder, the configuration and the log lie in it.

    """

    NAME = "Notebook 7"

    def notebook_url(self, name: str) -> str:
        """The address of a notebook."""
        return f"{self.url}/notebooks/{name}?token={self.token}"

    def _command(self) -> list[str]:
        # The server loads JupyterLab beside it, whose own word on this would win.
        return [
            *self._server("notebook"),
            "--JupyterNotebookApp.expose_app_in_browser=True",
            *LAB_OPTIONS,
        ]


def open_notebook(page: Page, server: NotebookServer, name: str) -> None:
    """Show a notebook and wait until its kernel is idle."""
    page.goto(server.notebook_url(name))
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=KERNEL_MS)
    idle = "() => window.jupyterapp?.shell.currentWidget?.sessionContext.session?.kernel?.status === 'idle'"
    page.wait_for_function(idle, timeout=KERNEL_MS)


def run_all(page: Page) -> None:
    """Run all cells; raises what a cell raised."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    outcome = page.wait_for_function(RUN_OUTCOME, timeout=KERNEL_MS).json_value()
    if outcome != "done":
        raise RuntimeError(outcome)
