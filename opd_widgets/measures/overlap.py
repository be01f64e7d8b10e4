"""How much two ranked token lists share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def top_k_overlap(first: NDArray[np.integer], second: NDArray[np.integer], k: int) -> NDArray[np.float64]:
    """Return |top-k of first and of second| / k for every position (arXiv 2604.13016).

    Args:
        first: int [R, K], likeliest first, -1 unused.
        second: the other list, of the same form.
        k: how many columns count; fewer where the lists are shorter.

    Returns:
        float [R], 0 to 1; NaN where a list is empty.

    """
    k = min(k, first.shape[1], second.shape[1])
    a, b = first[:, :k], second[:, :k]
    size = np.minimum((a >= 0).sum(axis=1), (b >= 0).sum(axis=1))
    # an id that both lists name stands beside itself
    both = np.sort(np.concatenate([_once(a), _once(b)], axis=1), axis=1)
    shared = ((both[:, 1:] == both[:, :-1]) & (both[:, 1:] >= 0)).sum(axis=1)
    return np.where(size > 0, shared / np.maximum(size, 1), np.nan)


def _once(ids: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return each row's ids, an id that a dump lists again made unused."""
    ordered = np.sort(ids, axis=1)
    again = ordered[:, 1:] == ordered[:, :-1]
    if again.any():
        ordered[:, 1:][again] = -1
    return ordered


def mass_at(logprobs: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the probability of the tokens whose log-probabilities stand in each row; NaN columns are unused."""
    known = ~np.isnan(logprobs)
    total = np.where(known, np.exp(np.where(known, logprobs, -np.inf)), 0.0).sum(axis=1)
    return np.where(known.any(axis=1), np.minimum(total, 1.0), np.nan)
