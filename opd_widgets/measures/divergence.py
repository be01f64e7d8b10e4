"""Divergences and entropies of next-token distributions.

All functions take log-probabilities over the last axis, in nats, from any array-API library, and return nats. A token
of probability 0 adds nothing, whatever the other side says; a token the first distribution allows and the second does
not makes a KL infinite. Sources: Kullback and Leibler 1951; the generalised Jensen-Shannon divergence as in GKD
(Agarwal et al., arXiv 2306.13649).
"""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace

from opd_widgets.errors import InvalidInputError

Array = Any  # an array of any array-API library; the libraries share no static type


def log_softmax(logits: Array) -> Array:
    """Return log-probabilities of logits over the last axis: shape kept, nats."""
    xp = array_namespace(logits)
    shifted = logits - xp.max(logits, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def renormalise(logp: Array) -> tuple[Array, Array]:
    """Return log-probabilities that sum to one, and the log of what they summed to before, shape [...]."""
    xp = array_namespace(logp)
    top = xp.max(logp, axis=-1, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    log_mass = top + xp.log(xp.sum(xp.exp(logp - top), axis=-1, keepdims=True))
    return logp - log_mass, log_mass[..., 0]


def kl(logp: Array, logq: Array) -> Array:
    """Return KL(p || q) = sum_k p (log p - log q), nats, shape [...]."""
    xp = array_namespace(logp)
    return xp.sum(_pointwise(logp, logq), axis=-1)


def reverse_kl(student: Array, teacher: Array) -> Array:
    """Return KL(p_S || p_T): the mean of `-advantage` over the student's own choices."""
    return kl(student, teacher)


def forward_kl(student: Array, teacher: Array) -> Array:
    """Return KL(p_T || p_S)."""
    return kl(teacher, student)


def check_beta(beta: float) -> float:
    """Return `beta` if the generalised JSD is defined there.

    Raises:
        InvalidInputError: beta is not strictly between 0 and 1.

    """
    if not 0 < beta < 1:
        msg = (
            f"found beta={beta}, expected 0 < beta < 1: the generalised JSD is 0 at both ends. "
            "Use forward_kl for the end at 0 and reverse_kl for the end at 1"
        )
        raise InvalidInputError(msg)
    return beta


def jsd(student: Array, teacher: Array, beta: float = 0.5) -> Array:
    """Return the generalised JSD: beta KL(p_T || M) + (1 - beta) KL(p_S || M), M = beta p_T + (1 - beta) p_S.

    Raises:
        InvalidInputError: beta is not strictly between 0 and 1.

    """
    check_beta(beta)
    mixture = log_mixture(teacher, student, beta)
    return beta * kl(teacher, mixture) + (1 - beta) * kl(student, mixture)


def skew_reverse_kl(student: Array, teacher: Array, skew: float = 0.1) -> Array:
    """Return KL(p_S || skew p_S + (1 - skew) p_T) (DistiLLM, arXiv 2402.03898)."""
    return kl(student, log_mixture(student, teacher, skew))


def clipped_kl(teacher: Array, student: Array, clip: float = 0.05) -> Array:
    """Return sum_v min(p_T (log p_T - log p_S), clip): OPSD's privileged KL (arXiv 2601.18734). Can be negative."""
    xp = array_namespace(teacher)
    pointwise = _pointwise(teacher, student)
    return xp.sum(xp.minimum(pointwise, xp.full_like(pointwise, clip)), axis=-1)


def entropy(logp: Array) -> Array:
    """Return H(p) = -sum_k p log p, nats, shape [...]."""
    xp = array_namespace(logp)
    probability = xp.exp(logp)
    return -xp.sum(probability * _where_possible(probability, logp), axis=-1)


def log_mixture(first: Array, second: Array, weight: float) -> Array:
    """Return log(weight p_first + (1 - weight) p_second), computed without leaving the log scale."""
    xp = array_namespace(first)
    return xp.logaddexp(first + math.log(weight), second + math.log(1 - weight))


def _pointwise(logp: Array, logq: Array) -> Array:
    """Return p (log p - log q), with 0 where p is 0: neither 0 * inf nor inf - inf has a place in a mean."""
    xp = array_namespace(logp)
    probability = xp.exp(logp)
    return probability * (_where_possible(probability, logp) - _where_possible(probability, logq))


def _where_possible(probability: Array, values: Array) -> Array:
    """Return `values` with 0 in place of those whose probability is 0, by nature or because float32 holds no less."""
    xp = array_namespace(probability)
    return xp.where(probability == 0, xp.zeros_like(values), values)
