"""The kernel of the notebook in front: its values asked for, its cells run, its end."""

from __future__ import annotations

import json
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page

ASK = """async ([code]) => {
  const widget = window.jupyterapp.shell.currentWidget;
  const kernel = widget.sessionContext.session.kernel;
  const future = kernel.requestExecute({ code, silent: true, user_expressions: { it: "_asked()" } });
  const reply = await future.done;
  return reply.content.user_expressions.it.data["text/plain"];
}"""
LAB = """import opd_widgets as opd
lab = opd.demo(questions=3, rollouts=3)
explorer = opd.Explorer(lab.rollouts, lab.student, lab.teachers)
explorer"""


def ask(page: Page, expression: str) -> Any:
    """Return the value of an expression in the notebook's kernel."""
    code = f"import json as _json\ndef _asked(): return _json.dumps({expression})"
    return json.loads(page.evaluate(ASK, [code]).strip("'"))


def notebook(path, *sources: str):
    """Write a notebook of these cells; returns its path."""
    cells = [new_code_cell(source) for source in sources]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), path)
    return path
