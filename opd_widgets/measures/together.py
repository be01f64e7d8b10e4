"""All divergences of a student and a teacher at once, sharing what their formulas have in common.

The formulas are those of the module `divergence`, which takes each by itself. Written with the log-ratio
d = log p_T - log p_S and, for a mixture M, r = log M - log p_S:

    reverse KL = -sum p_S d     forward KL = sum p_T d
    JSD = beta sum p_T d - sum M r, for M = beta p_T + (1 - beta) p_S
    skew reverse KL = -sum p_S r, for M = skew p_S + (1 - skew) p_T
"""

from __future__ import annotations

from array_api_compat import array_namespace, is_torch_array

from opd_widgets.measures import divergence
from opd_widgets.measures.distribution import Array, Distribution


def divergences(
    student: Distribution, teacher: Distribution, *, beta: float, skew: float, clip: float
) -> dict[str, Array]:
    """Return reverse_kl, forward_kl, jsd, skew_reverse_kl and clipped_kl, nats, shape [...].

    Args:
        student: [..., V].
        teacher: of the same tokens.
        beta: of the generalised JSD, 0 < beta < 1.
        skew: share of the student in the mixture of the skew reverse KL.
        clip: largest contribution of one token to the clipped KL, nats.

    Raises:
        InvalidInputError: beta is not strictly between 0 and 1.

    """
    divergence.check_beta(beta)
    if not (student.full and teacher.full):
        return _apart(student, teacher, beta, skew, clip)
    xp = array_namespace(student.logp)
    ratio = teacher.logp - student.logp
    forward = teacher.p * ratio
    more = teacher.p - student.p  # either mixture is the student and a share of this
    forward_kl = xp.sum(forward, axis=-1)
    mixture = _plus(student.p, more, beta)
    jsd = beta * forward_kl - xp.sum(mixture * _log_ratio(mixture, student), axis=-1)
    skewed = _log_ratio(_plus(student.p, more, 1 - skew), student)
    return {
        "reverse_kl": -xp.sum(student.p * ratio, axis=-1),
        "forward_kl": forward_kl,
        "jsd": jsd,
        "skew_reverse_kl": -xp.sum(student.p * skewed, axis=-1),
        "clipped_kl": xp.sum(xp.clip(forward, max=clip), axis=-1),
    }


def _log_ratio(mixture: Array, student: Distribution) -> Array:
    """Return log M - log p_S."""
    ratio = array_namespace(mixture).log(mixture)
    ratio -= student.logp
    return ratio


def _plus(p: Array, more: Array, share: float) -> Array:
    """Return p + share * more."""
    if is_torch_array(p):  # one pass in place of two
        return p.add(more, alpha=share)
    return p + share * more


def _apart(s: Distribution, t: Distribution, beta: float, skew: float, clip: float) -> dict[str, Array]:
    """Return them each by itself, where a probability of 0 needs a guard in every term."""
    return {
        "reverse_kl": divergence.reverse_kl(s, t),
        "forward_kl": divergence.forward_kl(s, t),
        "jsd": divergence.jsd(s, t, beta),
        "skew_reverse_kl": divergence.skew_reverse_kl(s, t, skew),
        "clipped_kl": divergence.clipped_kl(t, s, clip),
    }
