"""The paper's findings in small: `python -m tests.benchmarks.findings [--run FOLDER]` prints the lab's tables.

All teachers and contexts of the lab on 48 held-out questions: does alignment run higher on incorrect rollouts, which
context wins, does the strong teacher of another style lose, what share of nodes is above 0? Each with an interval, and
beside it the same under permuted outcomes, which have nothing to do with any teacher.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import numpy as np

from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.tables.bootstrap import resampled, totals
from opd_widgets.diagnosis.tables.ratios import ratio
from opd_widgets.diagnosis.tables.tally import BY_OUTCOME, SUMS
from tests.benchmarks.lab_run import BUDGET, QUESTIONS, diagnosed
from tests.benchmarks.markdown import number, table

MEASURES: Final = {"mean_cosine": "mean cosine", "weighted_cosine": "weighted", "share_positive": "share above 0"}


def by_teacher(result: Diagnosis, shuffled: Diagnosis) -> str:
    """A row a teacher: alignment on all, correct and incorrect rollouts, and the null."""
    real, chance = (one.summary().set_index(["teacher", "outcome"]) for one in (result, shuffled))
    rows = []
    for teacher in result.teachers:
        everywhere: Any = real.loc[(teacher, "all")]
        rows.append(
            [
                teacher,
                *(_cell(real.loc[(teacher, outcome)], "mean_cosine") for outcome in ("all", "correct", "incorrect")),
                _cell(everywhere, "weighted_cosine"),
                f"{everywhere['share_positive']:.0%}",
                _cell(everywhere, "mean_teacher_advantage"),
                _cell(chance.loc[(teacher, "all")], "mean_cosine"),
            ]
        )
    names = ("teacher", "mean cosine, all", "correct", "incorrect", "weighted", "share above 0", "teacher advantage")
    return table((*names, "null, all"), rows)


def by_outcome(result: Diagnosis, shuffled: Diagnosis) -> str:
    """Incorrect minus correct, by teacher and over all of them: questions with replacement, one draw with each."""
    names = (*result.teachers, "mean of all teachers")
    rows = []
    parts = [differences(one) for one in (result, shuffled)]
    for place, name in enumerate(names):
        real, chance = ([float(x) for x in np.quantile(part[:, place], [0.05, 0.95])] for part in parts)
        middle = [float(part[:, place].mean()) for part in parts]
        above = float((parts[0][:, place] > 0).mean())
        rows.append((name, number(middle[0], *real), f"{above:.2f}", number(middle[1], *chance)))
    return table(("teacher", "incorrect minus correct, mean cosine", "probability above 0", "null"), rows)


def differences(result: Diagnosis) -> np.ndarray:
    """Replicates of the mean cosine on incorrect rollouts minus that on correct ones: [replicates, T + 1].

    Each with one draw of P_succ and of the rollouts' weights, the same ones above and below the line.
    """
    tallies = result._tallies  # the sums behind summary(), of which the difference is made
    places = [BY_OUTCOME.index(name) for name in ("incorrect", "correct")]
    sums = np.stack([one.draws.sums[SUMS.index("cosine")].sum(axis=2) for one in tallies])[:, places]  # [Q, 2, T, D]
    weight = np.stack([one.draws.weight.sum(axis=2) for one in tallies])[:, places]  # [Q, 2, T, D]
    times = resampled(len(tallies), sums.shape[-1], result.settings.seed)
    means = ratio(totals(times, sums), totals(times, weight))  # [2, T, replicates]
    gap = (means[0] - means[1]).reshape(len(result.teachers), -1).T
    return np.column_stack([gap, gap.mean(axis=1)])


def selected(result: Diagnosis) -> str:
    """Selective distillation at threshold 0: an oracle."""
    frame = result.selective()
    frame = frame[frame.threshold == 0]
    rows = [
        (
            row.teacher,
            f"{row.kept_share:.0%}",
            number(row.mean_cosine),
            number(row.mean_cosine_naive),
            f"{row.null_kept_share:.0%}",
            number(row.null_mean_cosine),
            number(row.null_mean_cosine_naive),
        )
        for row in frame.itertuples()
    ]
    names = ("teacher", "kept", "mean cosine, split-half", "naive", "null: kept", "null, split-half", "null, naive")
    return table(names, rows)


def correlated(result: Diagnosis) -> str:
    """Rank correlation of divergences and entropies with alignment over nodes."""
    frame = result.correlations()
    measures = list(dict.fromkeys(frame["measure"]))
    rows = []
    for teacher in result.teachers:
        its = frame[frame.teacher == teacher].set_index("measure")
        rows.append((teacher, *(_cell(its.loc[name], "spearman") for name in measures)))
    return table(("teacher", *measures), rows)


def _cell(row: Any, name: str) -> str:
    return number(float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"]))


def report(result: Diagnosis) -> str:
    """All tables."""
    shuffled = result.permuted()
    nodes = result.nodes
    supports = nodes.groupby("n_support").size()
    counted = nodes[nodes.verdict == ""]
    about = result.about
    heading = (
        f"{len(result.questions)} questions, {about['initial_rollouts']:,} initial and {about['targeted_rollouts']:,} "
        f"targeted rollouts, {about['generated_tokens']:,} generated tokens; {len(nodes):,} nodes and teachers, "
        f"of them {len(counted):,} with an alignment, {(counted.n_support == 2).mean():.0%} of these on two tokens; "
        f"widest support {supports.index.max()}."
    )
    parts = [
        heading,
        "",
        by_teacher(result, shuffled),
        "",
        by_outcome(result, shuffled),
        "",
        "Selective distillation at threshold 0 (an oracle: it knows the outcomes):",
        "",
        selected(result),
        "",
        "Rank correlation with alignment over nodes:",
        "",
        correlated(result),
        "",
        result.recommend().text,
    ]
    return "\n".join(parts)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.findings", description=__doc__)
    parser.add_argument("--run", type=Path, help="folder of the lab's diagnosis; made where it is missing")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--budget", type=int, default=BUDGET)
    given = parser.parse_args()
    print(report(diagnosed(given.run, given.questions, given.budget)))  # noqa: T201 - a script says what it found


if __name__ == "__main__":
    main()
