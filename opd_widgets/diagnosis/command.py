"""The command `opd-widgets diagnose`."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opd_widgets.diagnosis.estimate.fit import ESTIMATORS
from opd_widgets.diagnosis.spending.strategies import STRATEGIES
from opd_widgets.diagnosis.verifiers import BY_NAME
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.node_gradient import LOSSES

if TYPE_CHECKING:
    import pandas as pd

    from opd_widgets.diagnosis.result import Diagnosis
    from opd_widgets.scoring.judging import Verifier

STOPPED = 130  # what a shell gives a command that was interrupted


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Add the command to those of `opd-widgets`, and return its parser."""
    parser = commands.add_parser(
        "diagnose",
        help="find out which teacher's signal raises the student's success, and where",
        description=(
            "Draw targeted rollouts and say how each teacher's gradient aligns with the one that raises the student's "
            "success. Stopped or killed, the same command continues where it was; with a larger --budget or another "
            "--teacher it goes on from what is there. Open the run with opd.load_diagnosis(RUN); no model is needed."
        ),
    )
    _add_who(parser)
    _add_how(parser)
    return parser


def _add_who(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "questions",
        metavar="QUESTIONS",
        help="JSON Lines, JSON, CSV or Parquet; each record with a question, prompt or problem (text or turns), an "
        "answer or ground_truth, and if need be id, solution and wrong_solution",
    )
    parser.add_argument(
        "--student",
        metavar="MODEL",
        required=True,
        help="a folder or a hub name; or URL#MODEL,tokenizer=FOLDER[,key-env=VARIABLE] on a vLLM or SGLang server",
    )
    parser.add_argument(
        "--teacher",
        metavar="NAME=MODEL[,context=FILE]",
        action="append",
        required=True,
        help="may be given several times; the student's own MODEL makes a self-distillation teacher; FILE is a .txt "
        "with one text for all questions, or a .json from question id to text. NAME=URL#MODEL[,context=FILE]"
        "[,tokenizer=FOLDER][,key-env=VARIABLE] is a model on a server. Teachers need the student's tokenizer",
    )
    parser.add_argument(
        "--verifier",
        metavar="NAME",
        required=True,
        help=f"{', '.join(BY_NAME)}; or MODULE:FUNCTION, a function of (question, response text) that says True or "
        "False: that module is imported, from the working directory too, and so its code runs",
    )
    parser.add_argument("--verifier-timeout", type=float, metavar="SECONDS", help="for one response (none)")


def _add_how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget", type=int, metavar="TOKENS", required=True, help="generated tokens, of all questions together"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (0)")
    parser.add_argument("--out", metavar="RUN", type=Path, required=True, help="the run's folder: new, or to continue")
    parser.add_argument("--initial", type=int, metavar="G", help="rollouts of each question from the prompt on")
    parser.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="the longest response (512, or as there is room)"
    )
    parser.add_argument("--spending", choices=list(STRATEGIES), default="width", help="where rollouts go (width)")
    parser.add_argument("--estimator", choices=list(ESTIMATORS), default="backup", help="of P_succ (backup)")
    parser.add_argument(
        "--min-visits", type=int, metavar="N", help="rollouts that a token of the support needs (backup 1, others 20)"
    )
    parser.add_argument("--loss", choices=list(LOSSES), default="reverse_kl", help="of the distillation (reverse_kl)")
    parser.add_argument("--device", help="cpu, cuda, cuda:1 or mps (a GPU where there is one)")
    parser.add_argument("--dtype", help="float32, bfloat16 or float16 (the model's own on a GPU, float32 on a CPU)")
    parser.add_argument(
        "--estimate", action="store_true", help="only draw the probe and print what the whole would cost"
    )
    parser.add_argument("--nodes-csv", metavar="FILE", type=Path, help="write a row a node and teacher")
    parser.add_argument("--candidates-csv", metavar="FILE", type=Path, help="write a row a candidate and teacher")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(given: argparse.Namespace) -> tuple[str, int]:
    """Diagnose; return what is to be printed, and the exit code."""
    from opd_widgets.data.questions import read_questions
    from opd_widgets.diagnosis.diagnose import diagnose, diagnosis_cost
    from opd_widgets.diagnosis.settings import DiagnosisSettings
    from opd_widgets.scoring.specs import TeacherSpec, load_speakers

    started = time.perf_counter()
    specs = [TeacherSpec.parse(text) for text in given.teacher]
    verifier = verifier_of(given.verifier)
    questions = read_questions(given.questions)
    settings = DiagnosisSettings(
        estimator=given.estimator, loss=given.loss, min_visits=given.min_visits, seed=given.seed
    )
    student, teachers = load_speakers(student_spec(given.student), specs, device=given.device, dtype=given.dtype)
    asked: dict[str, Any] = {
        "verifier": verifier,
        "budget": given.budget,
        "seed": given.seed,
        "out": given.out,
        "initial": given.initial,
        "max_new_tokens": given.max_new_tokens,
        "spending": given.spending,
        "settings": settings,
        "verifier_timeout": given.verifier_timeout,
    }
    if given.estimate:
        cost = diagnosis_cost(questions, student, teachers, **asked)
        return (json.dumps(cost.to_dict()) if given.json else cost.to_text(len(teachers))), 0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="stopped: ")  # said below, in this command's words
        result = diagnose(questions, student, teachers, **asked)
    if given.nodes_csv is not None:
        result.to_csv(given.nodes_csv, "nodes")
    if given.candidates_csv is not None:
        result.to_csv(given.candidates_csv, "candidates")
    report = Report(result, given.out, time.perf_counter() - started)
    said = json.dumps(report.to_dict(), ensure_ascii=False) if given.json else report.to_text()
    return said, 0 if result.about["finished"] else STOPPED


@dataclass(frozen=True, eq=False)
class Report:
    """A diagnosis in a few lines.

    Args:
        result: what was found.
        folder: where it lies.
        seconds: from the start of the command.

    """

    result: Diagnosis
    folder: Path
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; what is not a number is None."""
        about, advice = self.result.about, self.result.recommend()
        names = ("student", "budget", "generated_tokens", "initial_rollouts", "targeted_rollouts", "outcomes")
        return {
            "run": str(self.folder.resolve()),
            **{name: about[name] for name in (*names, "seed", "spending", "max_new_tokens", "finished", "cost")},
            "questions": len(self.result.evidence),
            "nodes": sum(len(one.nodes) for one in self.result.evidence),
            "seconds": self.seconds,
            "level": self.result.settings.level,
            "summary": rows_of(self.result.summary()),
            "recommendation": {
                "teacher": advice.teacher,
                "on": advice.on,
                "p_positive": _plain(advice.p_positive),
                "p_best": _plain(advice.p_best),
                "budget_share": _plain(advice.budget_share),
                "table": rows_of(advice.table),
                "text": advice.text,
            },
            "notes": list(about["notes"]),
        }

    def to_text(self) -> str:
        """Return it for people."""
        about = self.result.about
        spent = f"{about['generated_tokens']:,} of {about['budget']:,} tokens generated, {self.seconds:.1f} s"
        parts = [self.result.to_text(), "", self.result.recommend().text, "", spent, f"run: {self.folder.resolve()}"]
        if not about["finished"]:
            parts.append("stopped: this is of what was drawn until now; the same command goes on from there")
        return "\n".join(parts)


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table's rows as JSON values."""
    return [{str(name): _plain(value) for name, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    found = value.item() if hasattr(value, "item") else value
    return None if isinstance(found, float) and not math.isfinite(found) else found


def student_spec(text: str) -> Any:
    """Return where the student is, from `MODEL` or `URL#MODEL,tokenizer=FOLDER[,key-env=VARIABLE]`.

    Raises:
        InvalidInputError: of another form.

    """
    from opd_widgets.scoring.specs import TeacherSpec

    spec = TeacherSpec.parse(f"student={text}")
    if spec.context is not None:
        msg = f"found a context for the student in {text!r}, expected one for teachers only"
        raise InvalidInputError(msg)
    return spec


def verifier_of(name: str) -> Verifier:
    """Return a verifier of a name in `opd.verifiers`, or a function of the user's own, from `MODULE:FUNCTION`.

    Raises:
        InvalidInputError: no such name, module or function.

    """
    if name in BY_NAME:
        return BY_NAME[name]
    module, colon, function = name.partition(":")
    if not (colon and module and function):
        msg = f"found --verifier {name!r}, expected one of {', '.join(BY_NAME)}, or MODULE:FUNCTION"
        raise InvalidInputError(msg)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, SyntaxError) as error:
        msg = f"--verifier {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise InvalidInputError(msg) from error
    if not callable(found):
        msg = f"found {type(found).__name__} at --verifier {name!r}, expected a function of (question, response text)"
        raise InvalidInputError(msg)
    verifier: Verifier = found
    return verifier
