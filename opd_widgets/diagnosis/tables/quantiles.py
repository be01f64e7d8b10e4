"""Means and quantiles over draws, with the undefined ones left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mean(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the mean over the last axis without its NaN; NaN where nothing else is there."""
    known = ~np.isnan(values)
    count = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1, dtype=np.float64)
    found: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found


def quantiles(values: NDArray[np.floating], levels: Sequence[float]) -> list[NDArray[np.float64]]:
    """Return a quantile over the last axis for each level, without its NaN, with linear interpolation.

    numpy's own goes through such arrays one row at a time.
    """
    ordered = np.sort(values.astype(np.float64), axis=-1)  # NaN comes last
    last = np.maximum((~np.isnan(ordered)).sum(axis=-1, keepdims=True) - 1, 0)
    found = []
    for level in levels:
        place = level * last
        low = np.floor(place).astype(np.int64)
        below = np.take_along_axis(ordered, low, axis=-1)
        above = np.take_along_axis(ordered, np.minimum(low + 1, last), axis=-1)
        found.append((below + (place - low) * (above - below))[..., 0])
    return found
