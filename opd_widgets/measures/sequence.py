"""Signals that look at a whole response: each takes float [R] along the response and returns float [R].

A token that is masked out or has no value takes no part: it adds 0 to sums, and its own value is NaN. An infinity
enters no sum either: it would decide every other token's value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ALIKE = 1e-4  # nats, relative above 1: a spread below it is rounding, which scaling would blow up to the whole range
_BLOCK = 64  # tokens
Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]


def discounted(values: Floats, counted: Mask, gamma: float = 1.0) -> Floats:
    """Return sum_{i>=n} gamma^(i-n) values_i; gamma = 1 is MiniLLM's reward-to-go (arXiv 2306.08543).

    An infinite value is left out of the sums of the tokens before it, and is undefined (NaN) at its own token.
    """
    usable = counted & np.isfinite(values)
    ahead = _decayed(np.where(usable, values, 0.0)[::-1].astype(np.float64), gamma)[::-1]
    return np.where(usable, ahead, np.nan)


def _decayed(values: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return sum_{i<=n} gamma^(n-i) values_i, block by block: powers over all tokens would vanish."""
    if gamma == 1:
        return np.cumsum(values)
    blocks = np.zeros(-(-len(values) // _BLOCK) * _BLOCK)
    blocks[: len(values)] = values
    steps = np.arange(_BLOCK)
    lag = steps[:, None] - steps[None, :]
    within = blocks.reshape(-1, _BLOCK) @ np.where(lag >= 0, float(gamma) ** np.maximum(lag, 0), 0.0).T
    fading, carried = float(gamma) ** (steps + 1), 0.0
    for block in range(len(within)):
        within[block] += carried * fading
        carried = float(within[block, -1])
    return within.ravel()[: len(values)]


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
