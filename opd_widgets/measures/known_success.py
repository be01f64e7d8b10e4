"""Success probabilities of a node's tokens, and the support that they define."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.support import float_vector, support_tokens

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def known_success(
    success: ArrayLike, n: int, support: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return P_succ on the support, float64 [K], and the support's positions, int64 [K].

    Args:
        success: P_succ, [N], 0 to 1; NaN where unknown.
        n: N, how many tokens the log-probabilities beside it are of.
        support: K, positions [K] or booleans [N]; None for every token whose success is known.

    Raises:
        InvalidInputError: another length, a value on K is missing or not from 0 to 1, or K is no set of two or more
            tokens.

    """
    all_N = float_vector(success, "success")
    if len(all_N) != n:
        msg = f"found success of {len(all_N)} and student_logp of {n} tokens, expected one a token, NaN if unknown"
        raise InvalidInputError(msg)
    tokens = support_tokens(~np.isnan(all_N) if support is None else support, len(all_N))
    kept = all_N[tokens]
    bad = ~((kept >= 0) & (kept <= 1))  # NaN too
    if bad.any():
        where, value = int(tokens[bad][0]), kept[bad][0]
        what = "no success (NaN)" if np.isnan(value) else f"success {value:g}"
        msg = (
            f"found {what} for token {where}, expected a probability from 0 to 1 for every token of the support: "
            "leave tokens without one out of `support`"
        )
        raise InvalidInputError(msg)
    return kept, tokens
