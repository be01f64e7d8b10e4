"""One colour scale a signal, the same for all rollouts and teachers in view."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scores import Scores
from opd_widgets.measures.signal import Signal
from opd_widgets.measures.signals import REGISTRY
from opd_widgets.scoring.notes.lacking import needs_distribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The end of a scale is the middle one of the teachers' 99th percentiles, of two the lower: one outlier, or one teacher
# that differs everywhere, must not turn all the rest pale. A teacher that cannot be told from the student has no say.
# What lies beyond takes the last colour, and the legend says so.
_PERCENTILE = 99
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)


def signal_rows(scores: Scores) -> list[dict[str, Any]]:
    """Return every registered signal with its scale over these scores, and the reason where it is not to be had."""
    return [_row(signal, scores) for signal in REGISTRY.values()]


def _row(signal: Signal, scores: Scores) -> dict[str, Any]:
    groups = _by_teacher(signal, scores)
    limit = _limit(signal, groups, scores.noise.get(signal.name) or 0.0)
    return {
        "name": signal.name,
        "label": signal.label,
        "formula": signal.formula,
        "unit": signal.unit,
        "tier": signal.tier,
        "scale": signal.scale,
        "per_teacher": signal.per_teacher,
        "available": bool(groups),
        "reason": _reason(signal, scores, available=bool(groups)),
        "limit": limit,
        "below": any(bool((values < -limit).any()) for values in groups),
        "above": any(bool((values > limit).any()) for values in groups),
        "noise": scores.noise.get(signal.name),
        "low": signal.low,
        "high": signal.high,
        "aggregate": signal.aggregate,
    }


def _reason(signal: Signal, scores: Scores, *, available: bool) -> str | None:
    """Return why there is no such signal, for any teacher or for those behind servers; None where all have it."""
    absent = {name: _engine(scores, name) for name in scores.teachers if not _has(scores, name, signal)}
    silent = {name: engine for name, engine in absent.items() if engine is not None}
    if silent and needs_distribution(signal):
        who = ", ".join(f"{name} ({engine})" for name, engine in silent.items())
        return (
            f"no whole distribution from {who}: a server gives the likeliest tokens only. A local teacher has it; so "
            "has opd.ServerModel(..., full_vocabulary=True), for a small vocabulary"
        )
    return None if available else signal.reason or f"needs {', '.join(signal.needs)}, not measured here"


def _has(scores: Scores, teacher: str, signal: Signal) -> bool:
    return any(signal.name in item.teachers[teacher].signals for item in scores.items)


def _engine(scores: Scores, teacher: str) -> str | None:
    """Return the engine of a teacher that was asked over HTTP for what the student's model said here; None for others.

    Tracks of a dump bring no distribution of the student either.
    """
    for item in scores.items:
        theirs = item.teachers[teacher]
        engine = theirs.track.provenance.engine
        if theirs.groups is None and item.student.entropy is not None and engine != "transformers":
            return engine
    return None


def _by_teacher(signal: Signal, scores: Scores) -> list[NDArray[np.float32]]:
    """Return the counted values of a signal, one array a teacher; one array for the student's own."""
    if signal.per_teacher:
        sources = [[item.teachers[teacher].signals for item in scores.items] for teacher in scores.teachers]
    else:
        sources = [[item.signals for item in scores.items]]
    found = []
    for source in sources:
        there = zip(scores.rollouts, source, strict=True)
        parts = [values[signal.name][rollout.counted] for rollout, values in there if signal.name in values]
        found += [np.concatenate(parts)] if parts else []
    return found


def _limit(signal: Signal, groups: list[NDArray[np.float32]], noise: float) -> float:
    """Return the scale's end, in the signal's unit, from the values of each teacher and the signal's noise band."""
    if signal.unit in {"share", "cosine"}:
        return 1.0
    sizes = [np.abs(values[np.isfinite(values)]) for values in groups]
    ends = [float(np.percentile(size, _PERCENTILE)) for size in sizes if size.size]
    if not ends:
        return 1.0
    told = sorted([end for end in ends if end > noise] or ends)
    least = 2.0 if signal.scale == "log" else 1e-6
    return round_up(told[(len(told) - 1) // 2], least=max(least, noise))  # a band wider than its scale says nothing


def round_up(value: float, least: float) -> float:
    """Return the next round number: 1, 1.5, 2, 3, 5, 7.5 times a power of ten."""
    value = max(value, least)
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in _STEPS if step * power >= value * (1 - 1e-9))
