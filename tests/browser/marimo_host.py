"""A real marimo, for tests: one notebook as an app, in its own process."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.browser.served import Served

# A cell that reads a widget's traits is run again when the view changes them.
NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import opd_widgets as opd
    return mo, opd


@app.cell
def _(mo, opd):
    lab = opd.demo(questions=3, rollouts=3)
    explorer = mo.ui.anywidget(opd.Explorer(lab.rollouts, lab.student, lab.teachers))
    explorer
    return (explorer,)


@app.cell
def _(explorer, mo):
    mo.md(f"selected: {explorer.value['teacher']} {explorer.value['token']} {explorer.widget.token}")
    return


if __name__ == "__main__":
    app.run()
"""


class MarimoServer(Served):
    """marimo with one notebook, shown as an app, on a free port; a context manager.

    Args:
        folder: An empty folder.
        notebook: The notebook's text.

    """

    NAME = "marimo"

    def __init__(self, folder: Path, notebook: str = NOTEBOOK) -> None:
        super().__init__(folder)
        self._text = notebook

    def _configure(self) -> None:
        (self.notebooks / "notebook.py").write_text(self._text.lstrip(), "utf-8")

    def _command(self) -> list[str]:
        return [
            *[sys.executable, "-m", "marimo", "--yes", "run", "notebook.py", "--headless", "--no-token"],
            "--host=127.0.0.1",
            f"--port={self.port}",
        ]

    def _environment(self) -> dict[str, str]:
        folders = {"XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state"}
        return {key: str(self._home / name) for key, name in folders.items()}
