"""Signals that look at a whole response: each takes float [R] along the response and returns float [R].

A token that is masked out or has no value takes no part: it adds 0 to sums, and its own value is NaN. An infinity
enters no sum either: it would decide every other token's value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ALIKE = 1e-4  # nats, relative above 1: a spread below it is rounding, which scaling would blow up to the whole range
Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]


def discounted(values: Floats, counted: Mask, gamma: float = 1.0) -> Floats:
    """Return sum_{i>=n} gamma^(i-n) values_i; gamma = 1 is MiniLLM's reward-to-go (arXiv 2306.08543).

    An infinite value is left out of the sums of the tokens before it, and is undefined (NaN) at its own token.
    """
    usable = counted & np.isfinite(values)
    out = np.full(len(values), np.nan)
    total = 0.0
    for position in range(len(values) - 1, -1, -1):
        total = gamma * total + (values[position] if usable[position] else 0.0)
        if usable[position]:
            out[position] = total
    return out


def position_weighted(advantage: Floats, counted: Mask, gain: float = 0.5) -> Floats:
    """Return w_n A_n, w_n = 1 + gain (1 - sum_{i<n} |A_i| / sum_i |A_i|) (IW-OPD, arXiv 2606.22600)."""
    usable = counted & np.isfinite(advantage)
    size = np.where(usable, np.abs(np.where(usable, advantage, 0.0)), 0.0)
    total = size.sum()
    before = np.cumsum(size) - size
    share = before / total if total > 0 else np.zeros_like(before)
    return np.where(counted, (1 + gain * (1 - share)) * advantage, np.nan)


def min_max(values: Floats, counted: Mask) -> Floats:
    """Return values scaled to 0..1 over the counted, finite tokens of the response; 0 where all are nearly alike."""
    usable = counted & np.isfinite(values)
    out = np.full(len(values), np.nan)
    if usable.any():
        low, high = values[usable].min(), values[usable].max()
        apart = high - low > ALIKE * max(1.0, abs(low), abs(high))
        out[usable] = (values[usable] - low) / (high - low) if apart else 0.0
    return out


def entropy_divergence(entropy: Floats, divergence: Floats, counted: Mask) -> Floats:
    """Return h + d - h d of the scaled entropy and divergence (TIP, arXiv 2604.14084, as we read it)."""
    h, d = min_max(entropy, counted), min_max(divergence, counted)
    return h + d - h * d
