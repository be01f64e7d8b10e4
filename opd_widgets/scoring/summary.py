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
    """Return one row a teacher: the mean of a signal over the student's tokens, by the rollout's outcome.

    Columns: teacher, correct, incorrect (means, in the signal's unit), infinite (values left out of both means). A mean
    of nothing is NaN. A large mean says that teacher and student disagree, not that the teacher helps.
    """
    import pandas as pd

    return pd.DataFrame([_row(scores, signal, teacher) for teacher in scores.teachers])


def _row(scores: Scores, signal: str, teacher: str) -> dict[str, object]:
    row: dict[str, object] = {"teacher": teacher}
    infinite = 0
    for outcome in OUTCOMES:
        values = _counted(scores, signal, teacher, outcome)
        finite = values[np.isfinite(values)]
        infinite += int(np.isinf(values).sum())
        row[outcome] = float(finite.mean()) if finite.size else float("nan")
    return {**row, "infinite": infinite}


def _counted(scores: Scores, signal: str, teacher: str, outcome: str) -> NDArray[np.float32]:
    parts: Iterable[NDArray[np.float32]] = [
        scores.signal(signal, index, teacher)[rollout.response_mask]
        for index, rollout in enumerate(scores.rollouts)
        if rollout.outcome == outcome
    ]
    return np.concatenate([np.zeros(0, np.float32), *parts])
