"""Means of a stored run, batch by batch: what is finite is counted, and what is not is counted apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.scored import RolloutScores
    from opd_widgets.data.stored_run import StoredRun

LEFT_OUT = ("infinite", "undefined", "missing")  # kinds of values that are in no mean


def values_of(item: RolloutScores, teacher: str | None) -> Mapping[str, NDArray[np.float32]]:
    """Return a teacher's signals along one rollout, or the student's own for None."""
    return item.signals if teacher is None else item.teachers[teacher].signals


def sorted_out(
    item: RolloutScores, teacher: str | None, signal: str, counted: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a signal's finite values at counted tokens, and how many others there are, by `LEFT_OUT`."""
    values = values_of(item, teacher)[signal][counted]
    said = ~np.isnan(item.student.logprobs)
    if teacher is not None:
        said &= ~np.isnan(item.teachers[teacher].track.logprobs)
    none = np.isnan(values)
    undefined = int((none & said[counted]).sum())
    return values[np.isfinite(values)], np.asarray([np.isinf(values).sum(), undefined, none.sum() - undefined])


def named(left: NDArray[np.int64]) -> dict[str, int]:
    """Return counts under the names of `LEFT_OUT`."""
    return dict(zip(LEFT_OUT, map(int, left), strict=True))


def summary_rows(run: StoredRun, signals: list[str] | None) -> list[dict[str, Any]]:
    """Return one row a teacher and signal of a run: mean, how many values it is of, and what is left out."""
    sums: dict[tuple[str | None, str], tuple[float, int, NDArray[np.int64]]] = {}
    for batch in run.batches(signals):
        for index, item in batch.items():
            counted = run.counted(index, len(item.student))
            for teacher in (None, *item.teachers):
                for name in values_of(item, teacher):
                    total, tokens, left = sums.get((teacher, name), (0.0, 0, np.zeros(len(LEFT_OUT), np.int64)))
                    finite, others = sorted_out(item, teacher, name, counted)
                    total += float(finite.sum(dtype=np.float64))
                    sums[teacher, name] = total, tokens + len(finite), left + others
    return [
        {
            "step": run.step,
            "teacher": teacher,
            "signal": name,
            "mean": total / tokens if tokens else np.nan,
            "tokens": tokens,
            **named(left),
        }
        for (teacher, name), (total, tokens, left) in sums.items()
    ]


def spread(finite: NDArray[np.float32]) -> dict[str, float | int]:
    """Return mean, 10th percentile, median, 90th percentile and number of finite values."""
    low, middle, high = np.quantile(finite.astype(np.float64), [0.1, 0.5, 0.9]) if finite.size else [np.nan] * 3
    return {
        "mean": float(finite.mean(dtype=np.float64)) if finite.size else np.nan,
        "p10": float(low),
        "median": float(middle),
        "p90": float(high),
        "tokens": int(finite.size),
    }
