"""Divergences and entropies of next-token distributions, over the last axis, in nats.

A token of probability 0 adds nothing, whatever the other side says; a token the first distribution allows and the
second does not makes a KL infinite. Sources: Kullback and Leibler 1951; the generalised Jensen-Shannon divergence as in
GKD (Agarwal et al., arXiv 2306.13649).
"""

from __future__ import annotations

from array_api_compat import array_namespace

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.distribution import Array, Distribution


def kl(p: Distribution, q: Distribution) -> Array:
    """Return KL(p || q) = sum_k p (log p - log q), nats, shape [...]."""
    return _mean(p, q.logp)


def reverse_kl(student: Distribution, teacher: Distribution) -> Array:
    """Return KL(p_S || p_T): the mean of `-advantage` over the student's own choices."""
    return kl(student, teacher)


def forward_kl(student: Distribution, teacher: Distribution) -> Array:
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


def jsd(student: Distribution, teacher: Distribution, beta: float = 0.5) -> Array:
    """Return the generalised JSD: beta KL(p_T || M) + (1 - beta) KL(p_S || M), M = beta p_T + (1 - beta) p_S.

    Raises:
        InvalidInputError: beta is not strictly between 0 and 1.

    """
    check_beta(beta)
    mixture = log_mixture(teacher, student, beta)
    return beta * _mean(teacher, mixture) + (1 - beta) * _mean(student, mixture)


def skew_reverse_kl(student: Distribution, teacher: Distribution, skew: float = 0.1) -> Array:
    """Return KL(p_S || skew p_S + (1 - skew) p_T) (DistiLLM, arXiv 2402.03898)."""
    return _mean(student, log_mixture(student, teacher, skew))


def clipped_kl(teacher: Distribution, student: Distribution, clip: float = 0.05) -> Array:
    """Return sum_v min(p_T (log p_T - log p_S), clip): OPSD's privileged KL (arXiv 2601.18734). Can be negative."""
    xp = array_namespace(teacher.logp)
    pointwise = teacher.p * _gap(teacher, student.logp)
    return xp.sum(xp.clip(pointwise, max=clip), axis=-1)


def entropy(p: Distribution) -> Array:
    """Return H(p) = -sum_k p log p, nats, shape [...]."""
    xp = array_namespace(p.logp)
    return -xp.sum(p.p * _possible(p, p.logp), axis=-1)


def log_mixture(first: Distribution, second: Distribution, weight: float) -> Array:
    """Return log(weight p_first + (1 - weight) p_second); 0 where both are 0."""
    xp = array_namespace(first.logp)
    mixed = weight * first.p + (1 - weight) * second.p
    if first.full or second.full:
        return xp.log(mixed)
    return xp.log(xp.where(mixed == 0, xp.ones_like(mixed), mixed))  # such a token adds nothing: its term is guarded


def _mean(p: Distribution, logq: Array) -> Array:
    xp = array_namespace(logq)
    return xp.sum(p.p * _gap(p, logq), axis=-1)


def _gap(p: Distribution, logq: Array) -> Array:
    """Return log p - log q where p is not 0, and 0 elsewhere: neither 0 * inf nor inf - inf has a place in a mean."""
    return _possible(p, p.logp) - _possible(p, logq)


def _possible(p: Distribution, values: Array) -> Array:
    """Return `values` with 0 in place of those whose token has probability 0, by nature or as far as the dtype goes."""
    if p.full:
        return values
    xp = array_namespace(values)
    return xp.where(p.p == 0, xp.zeros_like(values), values)
