"""The noise band: how far a signal moves when nothing has changed but the arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.scores import RolloutScores, Values
    from opd_widgets.scoring.prepare import Task

PERCENTILE = 99
# Longer rollouts are scored a second time only where there are no shorter ones: three of them take time, and a mask of
# their length squared.
LONG = 2048


def spread(tasks: Sequence[Task], count: int) -> list[int]:
    """Return the indices of at most `count` rollouts of spread lengths, shortest first, to be scored a second time."""
    by_length = sorted((i for i, task in enumerate(tasks) if len(task.rollout)), key=lambda i: tasks[i].length)
    short = [i for i in by_length if tasks[i].length <= LONG] or by_length[:1]
    if count < 1 or not short:
        return []
    return [short[place] for place in np.unique(np.linspace(0, len(short) - 1, count).round().astype(int))]


def noise_bands(
    first: Sequence[RolloutScores], second: Sequence[RolloutScores], counted: Sequence[NDArray[np.bool_]]
) -> dict[str, float]:
    """Return the 99th percentile of each signal's absolute change between two scorings of the same rollouts.

    Args:
        first: rollouts scored once.
        second: the same at another batch size and padding.
        counted: bool [R] a rollout, False for tokens that are in no aggregate.

    Returns:
        By signal name, in the signal's unit, over all tokens and teachers; signals without a finite pair are absent.

    """
    changes: dict[str, list[NDArray[np.float32]]] = {}
    for one, other, mask in zip(first, second, counted, strict=True):
        for mine, theirs in _pairs(one, other):
            for name, values in mine.items():
                with np.errstate(invalid="ignore"):
                    change = np.abs(values - theirs[name])[mask]
                changes.setdefault(name, []).append(change[np.isfinite(change)])
    joined = {name: np.concatenate(parts) for name, parts in changes.items()}
    return {name: float(np.percentile(change, PERCENTILE)) for name, change in joined.items() if change.size}


def _pairs(one: RolloutScores, other: RolloutScores) -> list[tuple[Values, Values]]:
    teachers = [(one.teachers[name].signals, other.teachers[name].signals) for name in one.teachers]
    return [(one.signals, other.signals), *teachers]
