"""The demo as a command: score the lab, say what came out, write the offline page, open JupyterLab."""

from __future__ import annotations

import importlib.util
import math
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opd_widgets.data.whole_file import check_target
from opd_widgets.demo import load
from opd_widgets.errors import MissingDependencyError
from opd_widgets.scoring.report import signed
from opd_widgets.scoring.score import score
from opd_widgets.scoring.summary import summarise
from opd_widgets.widgets.explorer import Explorer
from opd_widgets.widgets.page import write_page

if TYPE_CHECKING:
    import pandas as pd

NOTEBOOK = "01_quickstart.ipynb"
FOLDER = "opd-widgets-demo"


@dataclass(frozen=True)
class Shown:
    """What the demo found and where it put it."""

    lab: str
    student: str
    rollouts: int
    correct: int
    tokens: int
    seconds: float
    table: pd.DataFrame
    page: Path

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; a mean of nothing is None."""
        rows = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
            for row in self.table.to_dict("records")
        ]
        plain = {name: getattr(self, name) for name in ("lab", "student", "rollouts", "correct", "tokens", "seconds")}
        return {**plain, "teachers": rows, "page": str(self.page)}

    def to_text(self) -> str:
        """Return it for people."""
        what = f"{self.rollouts} rollouts of {self.student}, {self.correct} correct, {self.tokens} tokens"
        lines = [
            f"{self.lab} lab: {what}, loaded, sampled and scored in {self.seconds:.1f} s",
            "",
            f"{'mean advantage, nats a token':<30}{'correct':>10}{'incorrect':>11}",
        ]
        lines += [
            f"  {row['teacher']:<28}{signed(row['correct']):>10}{signed(row['incorrect']):>11}"
            for row in self.table.to_dict("records")
        ]
        for kind in ("infinite", "undefined"):
            count = int(self.table[kind].sum()) if len(self.table) else 0
            lines += [f"  ({count} {kind} values are in no mean)"] if count else []
        return "\n".join([*lines, "", f"offline page: {self.page}"])


def show(lab: str, page: Path) -> Shown:
    """Load a lab, score it and write its offline page.

    Raises:
        InvalidInputError: no page can be written there; said before anything is scored.

    """
    page = check_target(page)
    started = time.perf_counter()
    made = load(lab)
    scores = score(made.rollouts, made.student, made.teachers)
    seconds = time.perf_counter() - started
    explorer = Explorer(scores, rollout=_first_incorrect(scores.rollouts))
    write_page(explorer, page, title=f"opd_widgets: {lab} lab")
    return Shown(
        lab=lab,
        student=scores.student,
        rollouts=len(scores),
        correct=sum(rollout.outcome == "correct" for rollout in scores.rollouts),
        tokens=sum(map(len, scores.rollouts)),
        seconds=seconds,
        table=summarise(scores),
        page=page.resolve(),
    )


def _first_incorrect(rollouts: Any) -> int:
    return next((i for i, rollout in enumerate(rollouts) if rollout.outcome == "incorrect"), 0)


def place_notebook(folder: Path) -> Path:
    """Copy the quickstart notebook into a folder, unless it is there already; return its path.

    Raises:
        MissingDependencyError: this installation lacks the notebook.

    """
    target = folder / NOTEBOOK
    if target.exists():
        return target
    here = Path(__file__).resolve().parent
    for source in (here / NOTEBOOK, here.parents[1] / "notebooks" / NOTEBOOK):
        if source.exists():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            return target
    msg = f"{NOTEBOOK} is missing from this installation; install the package again"
    raise MissingDependencyError(msg)


def open_lab(notebook: Path, *, browser: bool) -> int:
    """Print JupyterLab's address and become it, open on a notebook; where that cannot be, wait for its exit code.

    Raises:
        MissingDependencyError: JupyterLab is not installed.

    """
    if importlib.util.find_spec("jupyterlab") is None:
        msg = 'JupyterLab is not installed; run `pip install "opd-widgets[lab]"`, or use --no-lab'
        raise MissingDependencyError(msg)
    port, token = _free_port(), secrets.token_hex(16)
    command = [
        sys.executable, "-m", "jupyterlab", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={notebook.parent.resolve()}",
        f"--LabApp.default_url=/lab/tree/{notebook.name}", "--allow-root", "--log-level=WARN",
        *([] if browser else ["--no-browser"]),
    ]  # fmt: skip
    print(f"JupyterLab: http://127.0.0.1:{port}/lab/tree/{notebook.name}?token={token}", flush=True)
    print("Run all cells (Run > Run All Cells). Stop with Ctrl-C.", flush=True)
    if os.name == "posix":  # become JupyterLab: a signal to this command is then a signal to it
        os.execv(command[0], command)  # noqa: S606 - our own interpreter and fixed arguments
    return subprocess.run(command, check=False).returncode  # noqa: S603 - the same


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
