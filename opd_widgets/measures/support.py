"""The support K of a node: the tokens whose success probability is known, and what student and teacher put on them.

Both distributions are renormalised on K and both gradients are taken there. What lies outside K is not seen by any
number computed on it, so the masses p_S(K) and p_T(K) go wherever such a number goes. Source: arXiv 2605.10889.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ENOUGH_MASS = 0.9 - 1e-9  # 0.3 + 0.3 + 0.3 is enough
POINTS_OUTSIDE = "points outside the support"
_ROUNDING = 0.02  # by how much probabilities of half-precision models may sum to more than one


@dataclass(frozen=True, eq=False)
class Support:
    """Student and teacher on the K tokens of a node's support.

    Args:
        tokens: int64 [K], positions in the arrays that were given.
        student_logp: float64 [K], nats, renormalised: its probabilities sum to one on K.
        teacher_logp: float64 [K], the same of the teacher.
        student_mass: p_S(K) before renormalising.
        teacher_mass: p_T(K) before renormalising.

    """

    tokens: NDArray[np.int64]
    student_logp: NDArray[np.float64]
    teacher_logp: NDArray[np.float64]
    student_mass: float
    teacher_mass: float

    @property
    def points_outside(self) -> bool:
        """Whether p_S(K) or p_T(K) is below 0.9: then what is computed on K is no number to average."""
        return min(self.student_mass, self.teacher_mass) < ENOUGH_MASS

    @property
    def verdict(self) -> str:
        """`"points outside the support"`, or an empty text where both masses are 0.9 or more."""
        return POINTS_OUTSIDE if self.points_outside else ""


def on_support(student_logp: ArrayLike, teacher_logp: ArrayLike, support: ArrayLike | None = None) -> Support:
    """Renormalise both distributions on a node's support.

    Args:
        student_logp: [N], log-probabilities of N tokens at the node, nats: the vocabulary, or a part that holds K.
            NaN, a token that was not measured, may stand outside K; -inf anywhere.
        teacher_logp: [N], of the same tokens.
        support: the tokens of K: positions [K], each once, or booleans [N]; None for all N.

    Raises:
        InvalidInputError: lengths differ, probabilities sum to more than one, K is no set of two or more of the N
            tokens, or a value on K is missing or adds up to no probability.

    """
    student, teacher = logprobs(student_logp, "student_logp"), logprobs(teacher_logp, "teacher_logp")
    if student.shape != teacher.shape:
        msg = (
            f"found student_logp of {len(student)} and teacher_logp of {len(teacher)} tokens, expected the same tokens "
            "in the same order: take both at the ids that the two vocabularies share"
        )
        raise InvalidInputError(msg)
    tokens = support_tokens(support, len(student))
    student_kept, student_mass = _renormalised(student[tokens], "student_logp")
    teacher_kept, teacher_mass = _renormalised(teacher[tokens], "teacher_logp")
    return Support(tokens, student_kept, teacher_kept, student_mass, teacher_mass)


def float_vector(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return the values as float64 [N].

    Raises:
        InvalidInputError: the values are no numbers, or not of one dimension.

    """
    try:
        vector = np.asarray(values, np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # text; ragged lists; tensors off the CPU or in bfloat16
        msg = f"found {name} that numpy cannot read as numbers ({error}), expected float [N]; see tensor.double().cpu()"
        raise InvalidInputError(msg) from error
    if vector.ndim != 1:
        msg = f"found {name} of shape {vector.shape}, expected [N]: one value a token, of one node at a time"
        raise InvalidInputError(msg)
    return vector


def logprobs(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return log-probabilities of one node as float64 [N]; NaN stays.

    Raises:
        InvalidInputError: not numbers [N], or their probabilities sum to more than one, as logits' would.

    """
    logp = float_vector(values, name)
    with np.errstate(over="ignore"):
        total = float(np.nansum(np.exp(logp)))
    if not total <= 1 + _ROUNDING:
        msg = (
            f"found {name} whose probabilities sum to {total:.6g}, expected log-probabilities in nats, at most one in "
            "sum: take the log-softmax of logits over the whole vocabulary first"
        )
        raise InvalidInputError(msg)
    return logp


def support_tokens(support: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Return the support as positions, int64 [K]; None is all n tokens.

    Raises:
        InvalidInputError: not booleans [n] or distinct positions below n, or fewer than two.

    """
    given = np.arange(n) if support is None else np.asarray(support)
    if given.ndim == 1 and given.dtype == np.bool_ and len(given) == n:
        given = np.flatnonzero(given)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        msg = (
            f"found a support of shape {given.shape} and type {given.dtype}, expected positions [K] or booleans [{n}], "
            "one a token"
        )
        raise InvalidInputError(msg)
    if given.size and not (given.min() >= 0 and given.max() < n and len(np.unique(given)) == len(given)):
        msg = f"found support {given.tolist()}, expected each token once, as a position from 0 to {n - 1}"
        raise InvalidInputError(msg)
    if len(given) < 2:
        msg = (
            f"found a support of {len(given)} token(s), expected two or more: with one there is nothing to choose "
            "between. Leave the node out, or give more of its tokens rollouts"
        )
        raise InvalidInputError(msg)
    return given.astype(np.int64)


def _renormalised(logp_K: NDArray[np.float64], name: str) -> tuple[NDArray[np.float64], float]:
    """Return log-probabilities that sum to one, and the mass that they had."""
    if np.isnan(logp_K).any():
        missing = np.flatnonzero(np.isnan(logp_K)).tolist()
        msg = f"found no {name} (NaN) at places {missing} of the support, expected all of them: measure or leave out"
        raise InvalidInputError(msg)
    top = logp_K.max()
    if top == -np.inf:
        msg = f"found {name} of -inf for every token of the support, expected some probability: leave the node out"
        raise InvalidInputError(msg)
    log_mass = top + np.log(np.exp(logp_K - top).sum())  # the largest is taken out so that none underflows
    return logp_K - log_mass, float(np.exp(log_mass))
