"""Scores in a few rows: every teacher's mean advantage on correct and on incorrect rollouts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.data.scores import Scores

OUTCOMES = ("correct", "incorrect")


def summarise(scores: Scores, signal: str = "advantage") -> pd.DataFrame:
    """Return the mean of a signal over the student's tokens, by the rollout's outcome: one row a teacher that has it.

    Columns: teacher, correct, incorrect (means, in the signal's unit), infinite and undefined (values of any rollout
    that are in no mean; undefined where both models say something and the signal of it is no number, as where neither
    allows the token). A mean of nothing is NaN. A large mean says that teacher and student disagree, not that the
    teacher helps.
    """
    import pandas as pd

    return pd.DataFrame([_row(scores, signal, teacher) for teacher in scores.teachers if _has(scores, signal, teacher)])


def _has(scores: Scores, signal: str, teacher: str) -> bool:
    """Return whether a teacher has a signal at all: a contrast of contexts has its own and no other."""
    first = scores.items[:1]
    return all(signal in item.signals or signal in item.teachers[teacher].signals for item in first)


def _row(scores: Scores, signal: str, teacher: str) -> dict[str, object]:
    row: dict[str, object] = {"teacher": teacher}
    for outcome in OUTCOMES:
        row[outcome] = finite_mean(_counted(scores, signal, teacher, outcome))
    every = _counted(scores, signal, teacher)
    undefined = int(np.isnan(every[_said(scores, teacher)]).sum())
    return {**row, "infinite": int(np.isinf(every).sum()), "undefined": undefined}


def finite_mean(values: NDArray[np.float32]) -> float:
    """Return the mean of the finite values, in float64; NaN where there is none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean(dtype=np.float64)) if finite.size else float("nan")


def _counted(scores: Scores, signal: str, teacher: str, outcome: str | None = None) -> NDArray[np.float32]:
    """Return a signal at all counted tokens, or at those of the rollouts of one outcome."""
    parts: Iterable[NDArray[np.float32]] = [
        scores.signal(signal, index, teacher)[rollout.counted]
        for index, rollout in enumerate(scores.rollouts)
        if outcome is None or rollout.outcome == outcome
    ]
    return np.concatenate([np.zeros(0, np.float32), *parts])


def _said(scores: Scores, teacher: str) -> NDArray[np.bool_]:
    """Return at which counted tokens both student and teacher gave a value."""
    parts = []
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        both = ~np.isnan(item.student.logprobs) & ~np.isnan(item.teachers[teacher].track.logprobs)
        parts.append(both[rollout.counted])
    return np.concatenate([np.zeros(0, bool), *parts])
