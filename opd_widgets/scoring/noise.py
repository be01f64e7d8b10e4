"""The noise band: how far a signal moves when nothing has changed but the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from opd_widgets.data.scores import RolloutScores

PERCENTILE = 99


def noise_bands(first: Sequence[RolloutScores], second: Sequence[RolloutScores]) -> dict[str, float]:
    """Return the 99th percentile of each signal's absolute change between two scorings of the same rollouts.

    Args:
        first: rollouts scored once.
        second: the same at another batch size and padding.

    Returns:
        By signal name, in the signal's unit, over all tokens and teachers; signals without a finite pair are absent.

    """
    changes: dict[str, list[np.ndarray]] = {}
    for one, other in zip(first, second, strict=True):
        for mine, theirs in _pairs(one, other):
            for name, values in mine.items():
                with np.errstate(invalid="ignore"):
                    change = np.abs(values - theirs[name])
                changes.setdefault(name, []).append(change[np.isfinite(change)])
    joined = {name: np.concatenate(parts) for name, parts in changes.items()}
    return {name: float(np.percentile(change, PERCENTILE)) for name, change in joined.items() if change.size}


def _pairs(one: RolloutScores, other: RolloutScores) -> list[tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]]:
    teachers = [(one.teachers[name].signals, other.teachers[name].signals) for name in one.teachers]
    return [(one.signals, other.signals), *teachers]
