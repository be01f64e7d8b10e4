"""Means over nodes by teacher, and by outcome, question or depth, each with an interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.tables.bootstrap import resampled, totals
from opd_widgets.diagnosis.tables.quantiles import quantiles
from opd_widgets.diagnosis.tables.ratios import ratio
from opd_widgets.diagnosis.tables.tally import ALL, BY_OUTCOME, SUMS, Aggregate, bin_name
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.settings import DiagnosisSettings
    from opd_widgets.diagnosis.tables.tally import Tally

KEYS = ("teacher", "outcome", "question", "depth")
COUNTS = ("n_nodes", "n_undefined", "n_outside", "n_few_visits")
MEANS = ("mean_cosine", "share_positive", "weighted_cosine", "mean_teacher_advantage")
BOTH = "questions and posterior"
ONE_QUESTION = "posterior and rollouts: one question"


@dataclass(frozen=True, eq=False)
class Cells:
    """Tallies of Q questions, summed over what no row is made for: O outcomes, T teachers, G depth bins are left.

    Args:
        counts: [Q, 4, O, T, G], nodes by kind.
        middle: posterior means weighed by plain counts: weights [Q, O, T, G, 1], sums [Q, 5, O, T, G, 1].
        draws: of P_succ and of the rollouts' weights together, the same with D last.

    """

    counts: NDArray[np.int64]
    middle: Aggregate
    draws: Aggregate

    @classmethod
    def of(cls, tallies: Sequence[Tally], by: Sequence[str]) -> Cells:
        """Stack the tallies of questions and sum over depth, or over outcomes, unless they are in `by`."""
        outcomes = slice(None) if "outcome" in by else slice(BY_OUTCOME.index(ALL), None)
        apart = "depth" in by
        counts = np.stack([tally.counts[:, outcomes] for tally in tallies])
        return cls(
            counts if apart else counts.sum(-1, keepdims=True),
            _stacked([tally.middle for tally in tallies], outcomes, by_depth=apart),
            _stacked([tally.draws for tally in tallies], outcomes, by_depth=apart),
        )

    def split(self) -> Iterator[Cells]:
        """Yield each question by itself."""
        for q in range(len(self.counts)):
            one = slice(q, q + 1)
            parts = (
                Aggregate(part.weight[one], part.inside[one], part.sums[one]) for part in (self.middle, self.draws)
            )
            yield Cells(self.counts[one], *parts)

    def centre(self) -> dict[str, NDArray[np.float64]]:
        """Return each mean, [O, T, G]; NaN where there is nothing to average."""
        once = np.ones((1, 1, len(self.counts)))
        return {name: values[..., 0] for name, values in _means(self.middle, once).items()}

    def means(self, times: NDArray[np.float64] | None = None) -> dict[str, NDArray[np.float64]]:
        """Return draws of each mean, [O, T, G, draws]; NaN where there is nothing to average.

        Args:
            times: [D, N, Q], how often each question is in each replicate; None for once.

        """
        once = np.ones((self.draws.sums.shape[-1], 1, len(self.counts)))
        return _means(self.draws, once if times is None else times)


def _stacked(parts: Sequence[Aggregate], outcomes: slice, *, by_depth: bool) -> Aggregate:
    weight = np.stack([one.weight[outcomes] for one in parts])
    inside = np.stack([one.inside[outcomes] for one in parts])
    sums = np.stack([one.sums[:, outcomes] for one in parts])
    return Aggregate(*(one if by_depth else one.sum(-2, keepdims=True) for one in (weight, inside, sums)))


def _means(found: Aggregate, times: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    weight, inside = totals(times, found.weight), totals(times, found.inside)
    sums = dict(zip(SUMS, totals(times, found.sums), strict=True))
    spread = np.where(weight > 0, sums["range"], 0.0)
    # the spread of one reading around the value of another may reach a little past what a mean can be
    return {
        "mean_cosine": np.clip(ratio(sums["cosine"], weight), -1.0, 1.0),
        "share_positive": np.clip(ratio(sums["positive"], weight), 0.0, 1.0),
        "weighted_cosine": np.clip(ratio(sums["weighted_cosine"], spread), -1.0, 1.0),
        "mean_teacher_advantage": ratio(sums["gain"], inside),
    }


def summarise(
    tallies: Sequence[Tally],
    questions: Sequence[str],
    teachers: Sequence[str],
    settings: DiagnosisSettings,
    by: Sequence[str] = ("teacher", "outcome"),
) -> pd.DataFrame:
    """Return means over nodes, one row for each combination of `by`; see `Diagnosis.summary` for the columns.

    Args:
        tallies: one for each of Q questions that have nodes.
        questions: their ids.
        teachers: T names.
        settings: level and seed of the intervals.
        by: which of "teacher", "outcome", "question" and "depth" make a row.

    Raises:
        InvalidInputError: something else in `by`, the same twice, or no "teacher".

    """
    import pandas as pd

    _check(by)
    rows: list[tuple[dict[str, int], dict[str, Any]]] = []
    if tallies and teachers:
        cells = Cells.of(tallies, by)
        for place, one in enumerate(cells.split() if "question" in by else [cells]):
            rows += _rows(one, place, questions, teachers, settings=settings, by=by)
    rows.sort(key=lambda row: [row[0][key] for key in by])
    ends = [f"{name}{end}" for name in MEANS for end in ("", "_low", "_high")]
    columns = [*by, "n_questions", *COUNTS, "weight", *ends, "interval"]
    frame = pd.DataFrame([row for _, row in rows], columns=columns)
    frame.attrs["level"] = settings.level
    return frame


def _rows(
    cells: Cells,
    place: int,
    questions: Sequence[str],
    teachers: Sequence[str],
    *,
    settings: DiagnosisSettings,
    by: Sequence[str],
) -> Iterator[tuple[dict[str, int], dict[str, Any]]]:
    """Yield each row with its place by each key; a depth at which there is no node has none."""
    n = len(cells.counts)
    found: dict[str, NDArray[np.float64]] = {}
    times = None if n == 1 else resampled(n, cells.draws.sums.shape[-1], settings.seed)
    middle, spread = cells.centre(), cells.means(times)
    for name in MEANS:
        low, high = quantiles(spread[name], settings.tails)
        found |= {name: middle[name], f"{name}_low": low, f"{name}_high": high}
    counts, weight = cells.counts.sum(axis=0), cells.middle.weight.sum(axis=0)[..., 0]
    scored, inside = ((part[..., 0] > 0).sum(axis=0) for part in (cells.middle.weight, cells.middle.inside))
    some = np.where(scored > 0, scored, inside)
    for o, t, g in np.ndindex(weight.shape):
        if "depth" in by and not counts[:, o, t, g].any():
            continue
        names = dict(zip(KEYS, (teachers[t], BY_OUTCOME[o], questions[place], bin_name(g)), strict=True))
        n_questions = int(some[o, t, g])
        row: dict[str, Any] = {key: names[key] for key in by} | {"n_questions": n_questions}
        row |= {name: int(count) for name, count in zip(COUNTS, counts[:, o, t, g], strict=True)}
        row |= {"weight": float(weight[o, t, g])} | {name: float(values[o, t, g]) for name, values in found.items()}
        row["interval"] = ("", ONE_QUESTION)[n_questions] if n_questions < 2 else BOTH
        yield {"teacher": t, "outcome": o, "question": place, "depth": g}, row


def _check(by: Sequence[str]) -> None:
    if isinstance(by, str) or not set(by) <= set(KEYS) or len(set(by)) < len(by) or "teacher" not in by:
        msg = (
            f"found by={by!r}, expected 'teacher' and any of 'outcome', 'question' and 'depth', each once, such as "
            "('teacher', 'outcome')"
        )
        raise InvalidInputError(msg)
