"""What one context makes of a token against others: the same model asked twice, so that only the context differs.

Both take log-probabilities of the sampled token, nats, and return float64 [R]. A difference of two impossible tokens is
undefined (NaN), and one that is missing on either side is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.estimators import advantage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def hint_contrast(right: ArrayLike, wrong: ArrayLike) -> NDArray[np.float64]:
    """Return log p(y | right) - log mean_k p(y | wrong_k), the mean of probabilities (RLCSD, arXiv 2606.11709).

    Args:
        right: [R], under the right context.
        wrong: [K, R], under each of K wrong ones. A token impossible under some of them counts with probability 0.

    Raises:
        InvalidInputError: no wrong context, or of another length.

    """
    one, others = np.asarray(right, np.float64), np.asarray(wrong, np.float64)
    if others.ndim != 2 or not len(others) or others.shape[1:] != one.shape:
        msg = f"found right of shape {one.shape} and wrong of shape {others.shape}, expected [R] and [K, R] with K >= 1"
        raise InvalidInputError(msg)
    return advantage(_log_mean(others), one).astype(np.float64)


def context_difference(right: ArrayLike, wrong: ArrayLike) -> NDArray[np.float64]:
    """Return log p(y | right) - log p(y | wrong); both [R]."""
    return advantage(np.asarray(wrong, np.float64), np.asarray(right, np.float64)).astype(np.float64)


def _log_mean(logp_KR: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log of the mean of probabilities over the first axis; the largest is taken out so that none underflows."""
    top = logp_KR.max(axis=0)
    shift = np.where(np.isfinite(top), top, 0.0)  # all impossible: log 0; a missing one: NaN stays NaN
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.exp(logp_KR - shift).mean(axis=0)), np.float64)
