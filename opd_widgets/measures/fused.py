"""The measures of a student and a teacher as sums over logits, each written as one expression for a compiler to fuse.

Evaluated operation by operation they would cost more than those of the module `together`: every term carries its guard,
and probabilities are made anew where they are needed. Fused, all sums of a pair take one pass over both sides' logits,
and nothing of the vocabulary's length is written. The formulas are those of the module `divergence`.
"""

from __future__ import annotations

from typing import Any

from opd_widgets.measures.distribution import Array

PAIR = ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl")


def normaliser(xp: Any, x: Array) -> tuple[Array, Array]:
    """Return what makes log-probabilities of logits [n, V]: (x - largest) - log_total, both [n, 1]."""
    largest = xp.max(x, axis=-1, keepdims=True)
    return largest, xp.log(xp.sum(xp.exp(x - largest), axis=-1, keepdims=True))


def entropy(xp: Any, x: Array, largest: Array, log_total: Array) -> Array:
    """Return -sum p log p, nats, [n]; the last two as `normaliser` returns them."""
    logp = (x - largest) - log_total
    p = xp.exp(logp)
    return -xp.sum(xp.where(p > 0, p * logp, 0.0), axis=-1)


def pair(
    xp: Any,
    student: tuple[Array, Array, Array],
    teacher: tuple[Array, Array, Array],
    *,
    beta: float,
    skew: float,
    clip: float,
) -> Array:
    """Return the divergences named in `PAIR`, nats: [5, n].

    Args:
        xp: the array library.
        student: logits [n, V] and their `normaliser`.
        teacher: of the same tokens.
        beta: of the generalised JSD, 0 < beta < 1.
        skew: share of the student in the mixture of the skew reverse KL.
        clip: largest contribution of one token to the clipped KL, nats.

    """
    s, t = ((x - largest) - log_total for x, largest, log_total in (student, teacher))
    p, q = xp.exp(s), xp.exp(t)
    forward = xp.where(q > 0, q * (t - s), 0.0)
    mixture = beta * q + (1 - beta) * p
    skewed = skew * p + (1 - skew) * q
    log_mixture = xp.log(xp.where(mixture > 0, mixture, 1.0))
    log_skewed = xp.log(xp.where(skewed > 0, skewed, 1.0))
    jsd = beta * xp.where(q > 0, q * (t - log_mixture), 0.0) + (1 - beta) * xp.where(p > 0, p * (s - log_mixture), 0.0)
    return xp.stack(
        [
            xp.sum(xp.where(p > 0, p * (s - t), 0.0), axis=-1),
            xp.sum(forward, axis=-1),
            xp.sum(jsd, axis=-1),
            xp.sum(xp.where(p > 0, p * (s - log_skewed), 0.0), axis=-1),
            xp.sum(xp.where(forward > clip, clip, forward), axis=-1),
        ]
    )
