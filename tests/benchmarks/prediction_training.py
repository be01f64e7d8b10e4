"""What distilling every teacher of the lab gains: `python -m tests.benchmarks.prediction_training RECORDS.json`.

The half of "does the diagnosis predict?" that trains. Every teacher, on all rollouts and on the incorrect ones only,
the same number of steps, several seeds; success before and after on the same questions with the same sampling seeds.
One record a run, written as soon as it is there: a run that was stopped goes on where it was. `--table` prints what a
file holds and trains nothing.

A record has `teacher`, `on` and `seed`; a prediction made from a diagnosis joins by the first two.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from opd_widgets.data.question import Question
from opd_widgets.demo.distill import LEARNING_RATE, STEPS, TRAINING_QUESTIONS, Settings, distill
from opd_widgets.demo.distill_success import (
    QUESTION_SEED,
    QUESTIONS,
    SAMPLE_SEED,
    Success,
    evaluation_questions,
    success,
)
from opd_widgets.demo.lab import Lab, arithmetic_lab

# The numbers below were fixed before any teacher but "Teacher" was tried, from runs with that one alone, on all
# rollouts, seed 100, 64 rollouts a step, success before 51.0%, one evaluation's standard error 1.0 point:
#   rate the same at every step, 512 questions, 100 steps at 1e-4: 53.4%; rollouts of the training questions themselves
#     rose from 56% to 71% right, so it learned those questions: hence thousands of them.
#   the same, 12,000 questions, 100 steps: 54.8% at 1e-4, 53.9% at 3e-4. The first steps at 3e-4 made it worse.
#   rate rising and falling, 12,000 questions: 80 steps 55.8% at 6e-4 and 44.6% at 2e-3; 40 steps of 128 rollouts 53.8%
#     at 1e-3; 120 steps at 4e-4 58.6% (58.3% with Adam's second beta at 0.999).
# The last is taken: a gain of several standard errors, far from the ceiling, some 45 s a run on a core of its own.
# 4,096 questions come up about twice each.
# They stand in `opd_widgets.demo.distill`: STEPS, LEARNING_RATE and TRAINING_QUESTIONS.
SEEDS: Final = (0, 1, 2)
ONS: Final = ("all", "incorrect")


def plan(teachers: Sequence[str], seeds: Sequence[int] = SEEDS) -> Iterator[tuple[int, str, str]]:
    """Yield seed, on and teacher of every run, seed by seed: a part of the records then holds all teachers."""
    yield from product(seeds, ONS, teachers)


def settings_of(steps: int, seed: int, on: str) -> Settings:
    """Return what every run shares but for the seed and what counts."""
    return Settings(steps, seed, on, learning_rate=LEARNING_RATE)


class Records:
    """The records on disk.

    Args:
        path: a JSON file; it is made where there is none.
        shared: what all runs have in common. A file of other runs is refused.

    Raises:
        ValueError: the file holds runs of other settings.

    """

    def __init__(self, path: Path, shared: dict[str, Any]) -> None:
        self._path = path
        self._held: dict[str, Any] = {"shared": shared, "before": None, "runs": []}
        if path.exists():
            self._held = json.loads(path.read_text("utf-8"))
            if self._held["shared"] != shared:
                msg = f"{path} holds runs with {self._held['shared']}, expected {shared}; name another file"
                raise ValueError(msg)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One record a run."""
        return list(self._held["runs"])

    @property
    def before(self) -> dict[str, Any]:
        """Success of the student that every run starts from."""
        return dict(self._held["before"])

    def has(self, seed: int, on: str, teacher: str) -> bool:
        """Whether a run has its record."""
        return any((run["seed"], run["on"], run["teacher"]) == (seed, on, teacher) for run in self.runs)

    def start(self, before: Success) -> None:
        """Note the success before; it must be what it was where runs are there already.

        Raises:
            ValueError: it is another: the student, the machine or a version has changed.

        """
        found = _success(before)
        if self._held["before"] not in (None, found):
            msg = f"success before is {found}, and {self._path} has {self._held['before']}; name another file"
            raise ValueError(msg)
        self._held["before"] = found
        self._write()

    def add(self, run: dict[str, Any]) -> None:
        """Write one more record; a file is never half written."""
        self._held["runs"].append(run)
        self._write()

    def _write(self) -> None:
        fresh = self._path.with_suffix(".part")
        fresh.write_text(json.dumps(self._held, indent=1) + "\n", "utf-8")
        fresh.replace(self._path)


def _success(found: Success) -> dict[str, Any]:
    return {
        "share": round(found.share, 6),
        "standard_error": round(found.standard_error, 6),
        "interval": [round(end, 6) for end in found.interval],
        "questions": len(found.right),
    }


def one_run(lab: Lab, asked: Sequence[Question], before: Success, settings: Settings, teacher: str) -> dict[str, Any]:
    """Train one student and return its record."""
    started = time.perf_counter()
    done = distill(lab.student, lab.teachers[teacher], lab.questions, lab.verifier, settings)
    after = success(done.model, asked)
    gain, error = after.gain_over(before)
    seen = np.array([[step.kl, step.incorrect] for step in done.history])
    fifths = [part.mean(0) for part in np.array_split(seen, 5) if len(part)]
    return {
        "teacher": teacher,
        "on": settings.on,
        "seed": settings.seed,
        "gain": round(gain, 6),
        "gain_standard_error": round(error, 6),
        "after": _success(after),
        "kl_by_fifth": [round(float(kl), 6) for kl, _ in fifths],
        "incorrect_by_fifth": [round(float(incorrect), 6) for _, incorrect in fifths],
        "tokens_that_counted": sum(step.tokens for step in done.history),
        "seconds": round(time.perf_counter() - started, 1),
    }


def table(records: Records) -> str:
    """Return the gains as Markdown, in points: the mean over seeds with its standard error, and every seed's."""
    gains: dict[tuple[str, str], list[float]] = defaultdict(list)
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in records.runs:
        gains[run["teacher"], run["on"]].append(100 * run["gain"])
        errors[run["teacher"], run["on"]].append(100 * run["gain_standard_error"])
    before = records.before
    share, error = 100 * before["share"], 100 * before["standard_error"]
    lines = [
        f"Success before: {share:.1f}%, standard error {error:.1f} points, {before['questions']} questions.",
        "",
        "| teacher | on | mean gain, points | standard error over seeds | by seed | error of one evaluation |",
        "|---|---|---|---|---|---|",
    ]
    for (teacher, on), values in gains.items():
        spread = f"{np.std(values, ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else "-"
        each = ", ".join(f"{value:+.1f}" for value in values)
        error = np.mean(errors[teacher, on])
        lines.append(f"| {teacher} | {on} | {np.mean(values):+.1f} | {spread} | {each} | {error:.1f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what the file does not hold yet, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.prediction_training")
    parser.add_argument("records", type=Path, help="JSON file of the records")
    parser.add_argument("--steps", type=int, default=STEPS, help="updates of every run")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--teachers", nargs="+", help="some of the lab's teachers; all of them by default")
    parser.add_argument("--training-questions", type=int, default=TRAINING_QUESTIONS)
    parser.add_argument("--evaluation-questions", type=int, default=QUESTIONS)
    parser.add_argument("--table", action="store_true", help="print the table of the records and train nothing")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the bits of a run depend on it
    shared = {
        "settings": {k: v for k, v in asdict(settings_of(options.steps, 0, "all")).items() if k not in {"seed", "on"}},
        "training_questions": options.training_questions,
        "evaluation": {"questions": options.evaluation_questions, "seed": QUESTION_SEED, "sampling": SAMPLE_SEED},
    }
    records = Records(options.records, shared)
    if not options.table:
        train(records, options)
    print(table(records))  # noqa: T201 - a script says what it found


def train(records: Records, options: argparse.Namespace) -> None:
    """Train what is not there yet."""
    lab = arithmetic_lab(questions=options.training_questions, rollouts=1)
    asked = evaluation_questions(options.evaluation_questions, {question.id for question in lab.questions})
    before = success(lab.student, asked)
    records.start(before)
    for seed, on, teacher in plan(options.teachers or list(lab.teachers), options.seeds):
        if not records.has(seed, on, teacher):
            run = one_run(lab, asked, before, settings_of(options.steps, seed, on), teacher)
            records.add(run)
            line = f"{teacher}, on {on}, seed {seed}: {100 * run['gain']:+.1f} points, {run['seconds']} s"
            print(line, flush=True)  # noqa: T201 - progress


if __name__ == "__main__":
    main()
