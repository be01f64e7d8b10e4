"""One colour scale a signal, the same for all rollouts and teachers in view."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scores import Scores
from opd_widgets.measures.signal import Signal
from opd_widgets.measures.signals import REGISTRY

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PERCENTILE = 99.5  # a single outlier must not turn everything else pale; what lies beyond takes the last colour
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)


def signal_rows(scores: Scores) -> list[dict[str, Any]]:
    """Return every registered signal with its scale over these scores, and the reason where it is not to be had."""
    return [_row(signal, scores) for signal in REGISTRY.values()]


def _row(signal: Signal, scores: Scores) -> dict[str, Any]:
    values = _all_values(signal, scores)
    reason = None if values is not None else signal.reason or f"needs {', '.join(signal.needs)}, not measured here"
    return {
        "name": signal.name,
        "label": signal.label,
        "formula": signal.formula,
        "unit": signal.unit,
        "tier": signal.tier,
        "scale": signal.scale,
        "per_teacher": signal.per_teacher,
        "available": values is not None,
        "reason": reason,
        "limit": _limit(signal, values),
        "noise": scores.noise.get(signal.name),
        "low": signal.low,
        "high": signal.high,
        "aggregate": signal.aggregate,
    }


def _all_values(signal: Signal, scores: Scores) -> NDArray[np.float32] | None:
    parts = []
    for item in scores.items:
        sources = [teacher.signals for teacher in item.teachers.values()] if signal.per_teacher else [item.signals]
        parts += [source[signal.name] for source in sources if signal.name in source]
    return np.concatenate(parts) if parts else None


def _limit(signal: Signal, values: NDArray[np.float32] | None) -> float:
    if signal.unit == "share":
        return 1.0
    if values is None:
        return 1.0
    finite = np.abs(values[np.isfinite(values)])
    if not finite.size:
        return 1.0
    return round_up(float(np.percentile(finite, _PERCENTILE)), least=2.0 if signal.scale == "log" else 1e-6)


def round_up(value: float, least: float) -> float:
    """Return the next round number: 1, 1.5, 2, 3, 5, 7.5 times a power of ten."""
    value = max(value, least)
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in _STEPS if step * power >= value * (1 - 1e-9))
