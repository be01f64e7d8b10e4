"""Does the diagnosis predict what training gains? `python -m tests.benchmarks.prediction RECORDS.json [--run FOLDER]`.

RECORDS.json is what `tests.benchmarks.prediction_training` writes: success gained by distilling every teacher and
context of the lab, on all rollouts and on incorrect ones only. The diagnosis is made before any training, from the
student as it is. Beside its mean cosine stand other things that one could read off beforehand.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.stats import rankdata

from opd_widgets.diagnosis.result import Diagnosis
from tests.benchmarks.lab_run import BUDGET, QUESTIONS, diagnosed
from tests.benchmarks.markdown import number, table

REPLICATES: Final = 2000
OUTCOME: Final = {"all": "all", "incorrect": "incorrect"}
PREDICTORS: Final = {
    "mean_cosine": "mean cosine",
    "weighted_cosine": "cosine weighted by success range",
    "mean_teacher_advantage": "teacher advantage",
    "closeness": "minus mean reverse KL",
}


@dataclass(frozen=True)
class Trained:
    """What distilling one teacher gained.

    Args:
        gains: by seed, in success, 0 to 1.
        standard_error: of one of them, from the finite evaluation.

    """

    gains: tuple[float, ...]
    standard_error: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.gains))


def trained(records: Path) -> dict[tuple[str, str], Trained]:
    """Read the gains by teacher and what was distilled on."""
    runs: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for run in json.loads(records.read_text("utf-8"))["runs"]:
        runs[run["teacher"], run["on"]].append(run)
    return {
        key: Trained(tuple(run["gain"] for run in its), float(np.mean([run["gain_standard_error"] for run in its])))
        for key, its in runs.items()
    }


def predicted(result: Diagnosis) -> dict[tuple[str, str], dict[str, tuple[float, float, float]]]:
    """Return each predictor with its interval, by teacher and what would be distilled on."""
    summary = result.summary().set_index(["teacher", "outcome"])
    nodes = result.nodes
    found: dict[tuple[str, str], dict[str, tuple[float, float, float]]] = {}
    for teacher in result.teachers:
        for on, outcome in OUTCOME.items():
            row: Any = summary.loc[(teacher, outcome)]
            values = {
                name: (float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"]))
                for name in list(PREDICTORS)[:3]
            }
            its = nodes[nodes.teacher == teacher]
            wrong = its["incorrect"] + its["truncated"]
            weight = its["correct"] + wrong if on == "all" else wrong
            close = -float(np.average(its["reverse_kl"], weights=weight))
            found[teacher, on] = {**values, "closeness": (close, close, close)}
    return found


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the rank correlation; NaN where one side does not vary."""
    a, b = rankdata(one), rankdata(other)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def with_interval(
    before: Sequence[tuple[float, float, float]], after: Sequence[Trained], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the rank correlation with a 90% interval over questions, posterior, seeds and evaluation.

    Each replicate draws a prediction from a normal distribution as wide as its interval, seeds with replacement, and
    an evaluation error. The teachers stay the same: they are not a sample of teachers.
    """
    now = spearman([value for value, _, _ in before], [one.mean for one in after])
    drawn = []
    for _ in range(REPLICATES):
        predicts = [rng.normal(value, (high - low) / (2 * 1.645)) for value, low, high in before]
        gains = [
            np.mean(rng.choice(one.gains, len(one.gains))) + rng.normal(0, one.standard_error / len(one.gains) ** 0.5)
            for one in after
        ]
        drawn.append(spearman(predicts, gains))
    low, high = np.quantile(drawn, [0.05, 0.95])
    return now, float(low), float(high)


def chance(before: Sequence[float], after: Sequence[float]) -> float:
    """Return how many of all orders of the teachers would have a rank correlation as large, 0 to 1."""
    target = spearman(before, after) - 1e-12
    a, b = rankdata(before), rankdata(after)
    a, b = a - a.mean(), b - b.mean()
    every = np.array(list(permutations(range(len(b)))))
    found = (b[every] @ a) / np.sqrt((a @ a) * (b @ b))
    return float((found >= target).mean())


def report(result: Diagnosis, gains: Mapping[tuple[str, str], Trained]) -> str:
    """Return both tables."""
    says = predicted(result)
    rng = np.random.default_rng(0)
    parts = []
    for on in OUTCOME:
        keys = sorted((key for key in gains if key[1] == on), key=lambda key: -gains[key].mean)
        if not keys:
            continue
        rows = [
            (
                teacher,
                number(*says[teacher, on]["mean_cosine"]),
                number(*says[teacher, on]["weighted_cosine"]),
                number(says[teacher, on]["mean_teacher_advantage"][0]),
                f"{100 * gains[teacher, on].mean:+.1f}",
                ", ".join(f"{100 * gain:+.1f}" for gain in gains[teacher, on].gains),
            )
            for teacher, _ in keys
        ]
        names = ("teacher", "mean cosine (90%)", "weighted", "teacher advantage", "gain, points", "by seed")
        parts += [f"Distilled on {on} rollouts:", "", table(names, rows), ""]
        ranks = []
        for name, words in PREDICTORS.items():
            before = [says[key][name] for key in keys]
            rho, low, high = with_interval(before, [gains[key] for key in keys], rng)
            by_chance = chance([value for value, _, _ in before], [gains[key].mean for key in keys])
            ranks.append((words, number(rho, low, high), f"{by_chance:.3f}"))
        parts += [table(("predictor", "rank correlation with the gain (90%)", "share of orders as good"), ranks), ""]
    return "\n".join(parts)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.prediction", description=__doc__)
    parser.add_argument("records", type=Path, help="written by tests.benchmarks.prediction_training")
    parser.add_argument("--run", type=Path, help="folder of the lab's diagnosis; made where it is missing")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--budget", type=int, default=BUDGET)
    given = parser.parse_args()
    print(report(diagnosed(given.run, given.questions, given.budget), trained(given.records)))  # noqa: T201 - a script


if __name__ == "__main__":
    main()
