"""Questions drawn with replacement, each time with one draw of P_succ and weights: all of it in one interval.

Such an interval is rather wide than narrow: what differs between questions holds the errors of their estimates already,
and the noise of which rollouts were drawn, and a question that is drawn twice brings the same draw twice. Where that is
little beside the differences between questions, it is nothing; where questions are all alike, an interval may be half
as wide again as it need be. Over a dozen questions or fewer any bootstrap is rough, and for questions that differ too
narrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPLICATES = 1000
_STREAM = 0x626F6F74  # apart from the streams that drew the posterior


def resampled(questions: int, draws: int, seed: int, replicates: int = REPLICATES) -> NDArray[np.float64]:
    """Return how often each question is in each replicate, float64 [D, N, Q]: N replicates for each posterior draw.

    Args:
        questions: Q, drawn Q times with replacement.
        draws: D.
        seed: whole number.
        replicates: at least so many in all, D x N.

    """
    each = -(-replicates // draws)
    rng = np.random.default_rng([seed, _STREAM])
    return rng.multinomial(questions, np.full(questions, 1 / questions), size=(draws, each)).astype(np.float64)


def totals(times: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over the questions of each replicate, [..., D x N].

    Args:
        times: [D, N, Q], how often each question is in.
        values: [Q, ..., D], draws of each question's own sums: replicate (d, n) sums draw d of all its questions. With
            a last axis of 1 they are the same in every draw.

    """
    questions, inner = len(values), values.shape[1:-1]
    by_draw = np.moveaxis(values.reshape(questions, -1, values.shape[-1]), -1, 0)  # [D or 1, Q, inner]
    summed = times @ by_draw  # [D, N, inner]
    return np.moveaxis(summed.reshape(-1, summed.shape[-1]), 0, -1).reshape(*inner, -1)
