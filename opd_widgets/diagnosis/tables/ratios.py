"""Ratios of sums over questions, and intervals of them over replicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.tables.quantiles import quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return above / below, which broadcast; NaN where nothing is below."""
    above, below = np.broadcast_arrays(above, below)
    found: NDArray[np.float64] = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return found


def interval(
    values: NDArray[np.float64], tails: tuple[float, float], n_questions: NDArray[np.int64] | int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the interval over replicates, [...] each; NaN with fewer than two questions.

    Args:
        values: [..., B]; NaN in a replicate that holds nothing to average, which is then left out.
        tails: quantiles at which it ends.
        n_questions: with something to average, one number for all or [...].

    """
    low, high = (np.where(np.asarray(n_questions) >= 2, end, np.nan) for end in quantiles(values, tails))
    return low, high
