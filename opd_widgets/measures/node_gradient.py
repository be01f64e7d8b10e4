"""Gradients in the logits of one node, their cosine, and the exact rows: the ideal one and those of three losses.

All run over the last axis, K tokens, and broadcast over the others: one student against many draws of the success
probabilities is one call. Every gradient has the form g(j) = p_S(j) (f(j) - sum_k p_S(k) f(k)), an ascent direction, f
being the row's signal. It is the steepest ascent in this node's logits, with what follows held fixed; it says nothing
about shared parameters. Source: arXiv 2605.10889.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from array_api_compat import array_namespace

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.distribution import Array
from opd_widgets.measures.divergence import check_beta

Loss = Literal["reverse_kl", "forward_kl", "jsd"]
LOSSES: tuple[str, ...] = get_args(Loss)
_FLAT = 1e-12  # of max(1, max |f|): a signal that varies by no more is constant


@dataclass(frozen=True, eq=False)
class NodeGradient:
    """A gradient and the signal that it comes from.

    Args:
        signal: f, [..., K]; NaN at a token whose signal takes no part, because the student never takes it.
        gradient: g, [..., K], sums to 0; all NaN where the signal makes it infinite.

    """

    signal: Array
    gradient: Array


def softmax_gradient(p: Array, signal: Array) -> NodeGradient:
    """Return g(j) = p(j) (f(j) - sum_k p(k) f(k)); a token with p = 0 has no part in it.

    Args:
        p: [..., K], probabilities that sum to one.
        signal: f, [..., K].

    """
    xp = array_namespace(p, signal)
    top = xp.arange(p.shape[-1]) == xp.argmax(p, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", over="ignore"):
        taken = p > 0
        f = xp.where(taken, signal, xp.nan)
        # Measured from the likeliest token's: a constant signal then leaves exactly 0, and not its rounding.
        lifted = xp.where(taken, f - _total(xp.where(top, f, 0.0)), 0.0)
        return NodeGradient(f, _closed(p * (lifted - _total(p * lifted)), top))


def ideal(p: Array, success: Array) -> NodeGradient:
    """Return the gradient of the expected success: p_S(j) (P_succ(j) - V).

    Args:
        p: p_S, [..., K], sums to one.
        success: P_succ, [..., K], the probability that the student ends correct after each token.

    """
    return softmax_gradient(p, success)


def distillation(loss: Loss, student_logp: Array, teacher_logp: Array, beta: float = 0.5) -> NodeGradient:
    """Return the exact gradient of a negative loss in the student's logits.

    Args:
        loss: "reverse_kl", f = log p_T - log p_S; "forward_kl", f = p_T / p_S, so that g = p_T - p_S; or "jsd",
            f = (1 - beta) (log M - log p_S) with M = beta p_T + (1 - beta) p_S.
        student_logp: [..., K], nats, probabilities that sum to one.
        teacher_logp: [..., K], of the same tokens.
        beta: weight of the teacher in M, 0 < beta < 1; read for "jsd" only.

    Raises:
        InvalidInputError: another loss, or a beta at which the JSD is 0; it names the KL of that end.

    """
    if loss not in LOSSES:
        msg = f"found loss {loss!r}, expected one of {', '.join(LOSSES)}"
        raise InvalidInputError(msg)
    xp = array_namespace(student_logp, teacher_logp)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = teacher_logp - student_logp
        if loss == "forward_kl":
            return _forward_kl(student_logp, teacher_logp, gap)
        if loss == "jsd":
            check_beta(beta)
            # log(beta e^gap + 1 - beta), from the side on which nothing overflows, exact where gap is near 0
            below, above = xp.where(gap > 0, 0.0, gap), xp.where(gap > 0, gap, 0.0)
            log_ratio = above + xp.log1p(xp.where(gap > 0, (1 - beta) * xp.expm1(-above), beta * xp.expm1(below)))
            gap = (1 - beta) * log_ratio
        return softmax_gradient(xp.exp(student_logp), gap)


def value(p: Array, success: Array) -> Array:
    """Return V = sum_k p_S(k) P_succ(k), [...]."""
    return array_namespace(p, success).sum(p * success, axis=-1)


def teacher_advantage(student: Array, teacher: Array, success: Array) -> Array:
    """Return sum_k (p_T - p_S)(k) P_succ(k), [...]: the node's, not the advantage of a token.

    Args:
        student: p_S, [..., K], sums to one.
        teacher: p_T, [..., K], sums to one.
        success: P_succ, [..., K].

    """
    return value(teacher - student, success)


def success_range(success: Array) -> Array:
    """Return max P_succ - min P_succ, [...]: how much the choice of the token matters."""
    xp = array_namespace(success)
    return xp.max(success, axis=-1) - xp.min(success, axis=-1)


def varies(signal: Array) -> Array:
    """Return whether max f - min f > 1e-12 max(1, max |f|), booleans [...]; NaN takes no part.

    By the signal and not by the gradient's norm: a sharp node has a tiny gradient and a real direction.
    """
    xp = array_namespace(signal)
    known = ~xp.isnan(signal)
    size = xp.max(xp.where(known, xp.abs(signal), 0.0), axis=-1)
    with np.errstate(invalid="ignore"):
        high = xp.max(xp.where(known, signal, -xp.inf), axis=-1)
        low = xp.min(xp.where(known, signal, xp.inf), axis=-1)
        return xp.isinf(size) | (high - low > _FLAT * xp.clip(size, min=1.0))


def alignment(one: NodeGradient, other: NodeGradient) -> Array:
    """Return the cosine of two gradients, [...], -1 to 1.

    NaN, never 0, where it is undefined: a signal is constant, or a gradient is infinite or vanishes in the dtype.
    """
    xp = array_namespace(one.gradient, other.gradient)
    u, u_defined = _scaled(one.gradient)
    v, v_defined = _scaled(other.gradient)
    defined = u_defined & v_defined & varies(one.signal) & varies(other.signal)
    length = xp.sqrt(xp.sum(u * u, axis=-1) * xp.sum(v * v, axis=-1))
    cosine = xp.sum(u * v, axis=-1) / xp.where(defined, length, 1.0)
    return xp.where(defined, xp.clip(cosine, -1.0, 1.0), xp.nan)


def _forward_kl(student_logp: Array, teacher_logp: Array, gap: Array) -> NodeGradient:
    """Return p_T - p_S: from the larger of the two, for p_T / p_S may be more than any float."""
    xp = array_namespace(gap)
    student, teacher = xp.exp(student_logp), xp.exp(teacher_logp)
    top = xp.arange(gap.shape[-1]) == xp.argmax(student, axis=-1, keepdims=True)
    gradient = xp.where(gap > 0, -teacher * xp.expm1(-gap), student * xp.expm1(gap))
    return NodeGradient(xp.exp(gap), _closed(xp.where(xp.isnan(gap), 0.0, gradient), top))  # NaN: neither takes it


def _closed(gradient: Array, top: Array) -> Array:
    """Return the gradient with minus the sum of the others at the likeliest token, where its own digits cancel."""
    xp = array_namespace(gradient)
    gradient = xp.where(top, -_total(xp.where(top, 0.0, gradient)), gradient)
    return xp.where(xp.all(xp.isfinite(gradient), axis=-1, keepdims=True), gradient, xp.nan)


def _total(values: Array) -> Array:
    return array_namespace(values).sum(values, axis=-1, keepdims=True)


def _scaled(gradient: Array) -> tuple[Array, Array]:
    """Return the gradient over its largest entry, so that no square underflows, and whether it has a direction."""
    xp = array_namespace(gradient)
    largest = xp.max(xp.abs(gradient), axis=-1, keepdims=True)
    usable = xp.isfinite(largest) & (largest > 0)
    return xp.where(usable, gradient, 0.0) / xp.where(usable, largest, 1.0), usable[..., 0]
