"""Error of the alignment at equal generated tokens: `python -m tests.benchmarks.diagnosis [--fast] [--cache FILE]`.

The default (spending by interval width, `backup`) against two rivals, `pooled` in the paper's order and `pooled` with
the same few visits for every candidate in turn, held against exact truth. Policies, nodes and supports are fixed
beforehand: tests/benchmarks/known.py. All run the engine itself, from the same initial rollouts; whatever a last round
generated beyond the budget is taken away again. A node of which not every candidate was visited, or no two outcomes
differ, has no score and is charged an error of 1. `--cache` keeps the lab's truth, which takes minutes to enumerate.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from opd_widgets.diagnosis.estimate.fit import Estimator
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.settings import N_SIG, DiagnosisSettings
from opd_widgets.diagnosis.tables.quantiles import quantiles
from tests.benchmarks import diagnosis_coverage, diagnosis_report
from tests.benchmarks.known import Known, coverage_set, known_policies, lab_policies
from tests.diagnosis.sampled import base_budget, cut, gathered

MULTIPLES: Final = (1, 2, 4, 8)
SEEDS: Final = (0, 1, 2)
UNSCORED: Final = 1.0
FAST: Final = ("leaves-d", "long-a", "smooth-c")


@dataclass(frozen=True)
class Way:
    """How tokens are spent, and how what they bought is read.

    Args:
        spending: "width", "even" or "paper".
        estimator: "backup" or "pooled".
        point: the alignment at the estimate itself ("plug-in"), or the median over posterior draws.
        min_visits: that a candidate needs.

    """

    spending: str
    estimator: Estimator
    point: Literal["plug-in", "median"]
    min_visits: int = 1

    def alignment(self, evidence: Evidence) -> np.ndarray:
        """Return the alignment of each node and teacher, [M, T]; NaN where it has no score."""
        settings = DiagnosisSettings(estimator=self.estimator, min_visits=self.min_visits)
        reading = Reading.of(evidence, settings)
        found = reading.plug_in if self.point == "plug-in" else quantiles(reading.draws, [0.5])[0]
        whole = reading.n_support == evidence.nodes.used.sum(axis=1)[:, None]
        return np.where(whole, found, np.nan)


DEFAULT: Final = "default: width, backup"
PAPER: Final = "paper, pooled"
EVEN: Final = "even, pooled"
WAYS: Final = {
    DEFAULT: Way("width", "backup", "median"),
    PAPER: Way("paper", "pooled", "plug-in"),
    EVEN: Way("even", "pooled", "plug-in"),
    f"{PAPER}, {N_SIG} visits": Way("paper", "pooled", "plug-in", N_SIG),
    f"{EVEN}, {N_SIG} visits": Way("even", "pooled", "plug-in", N_SIG),
    "paper, backup": Way("paper", "backup", "median"),
    "even, backup": Way("even", "backup", "median"),
    "even, pooled, posterior median": Way("even", "pooled", "median"),
    "width, pooled": Way("width", "pooled", "plug-in"),
}


@dataclass(frozen=True)
class Record:
    """What one policy, budget and seed gave.

    Args:
        policy: its name.
        multiple: of its base budget.
        seed: of the run.
        budget: tokens generated at most.
        error: by way, mean absolute error of the alignment over nodes and teachers.
        scored: by way, share of them that had a score.

    """

    policy: str
    multiple: int
    seed: int
    budget: int
    error: dict[str, float]
    scored: dict[str, float]


def measure(known: Known, multiples: Sequence[int] = MULTIPLES, seeds: Sequence[int] = SEEDS) -> Iterator[Record]:
    """Yield what every way makes of a policy."""
    base, defined = base_budget(known), ~np.isnan(known.alignment)
    for multiple in multiples:
        for seed in seeds:
            budget = base * multiple
            held = {
                how: cut(gathered(known, how, budget, seed), budget)
                for how in dict.fromkeys(way.spending for way in WAYS.values())
            }
            found = {name: way.alignment(held[way.spending]) for name, way in WAYS.items()}
            off = {name: np.nan_to_num(np.abs(one - known.alignment), nan=UNSCORED) for name, one in found.items()}
            error = {name: float(one[defined].mean()) for name, one in off.items()}
            scored = {name: float((~np.isnan(one))[defined].mean()) for name, one in found.items()}
            yield Record(known.name, multiple, seed, budget, error, scored)


def readings(known: Known) -> tuple[int, int]:
    """Return the nodes, and the tokens that reading them takes: student and teachers go along each prefix once."""
    places = {prefix[:depth] for prefix in known.prefixes for depth in range(len(prefix) + 1)}
    return len(known.prefixes), len(places) * (1 + len(known.teachers))


def fast(names: Sequence[str] = FAST, multiples: Sequence[int] = (1, 4)) -> list[Record]:
    """Return the records of a few policies at one seed."""
    some = [known for known in known_policies() if known.name in names]
    return [record for known in some for record in measure(known, multiples, SEEDS[:1])]


def whole(cache: Path | None) -> Iterator[str]:
    """Yield everything that the benchmark says, as lines of Markdown."""
    tables, lab = known_policies(), lab_policies(cache=cache)
    by_kind = {
        kind: [record for known in some for record in measure(known)]
        for kind, some in (("tabular", tables), ("lab", lab))
    }
    yield from diagnosis_report.targets(by_kind, DEFAULT, PAPER, EVEN)
    for kind, records in by_kind.items():
        yield from diagnosis_report.errors(kind, records)
    yield from diagnosis_report.by_policy(by_kind, DEFAULT, PAPER, EVEN)
    yield from diagnosis_report.costs({known.name: (*readings(known), base_budget(known)) for known in (*tables, *lab)})
    for kind, some in (("the coverage set", coverage_set()), ("the lab", lab)):
        found = [(multiple, diagnosis_coverage.coverage(some, multiple)) for multiple in MULTIPLES]
        yield from ("", f"Intervals of 90% on {kind}:", "", *diagnosis_coverage.table(found), "")
        yield f"Probability of +1 with two tokens, x{found[0][0]}:"
        yield from ("", *diagnosis_coverage.reliability_table(found[0][1]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.diagnosis")
    parser.add_argument("--fast", action="store_true", help="a few tabular policies, one seed, two budgets")
    parser.add_argument("--cache", type=Path, help="file of the lab's truth; made where there is none")
    options = parser.parse_args(arguments)
    if options.fast:
        lines = diagnosis_report.targets({"tabular": fast()}, DEFAULT, PAPER, EVEN)
    else:
        lines = whole(options.cache)
    for line in lines:
        print(line, flush=True)  # noqa: T201 - a script says what it found


if __name__ == "__main__":
    main()
