"""Alignment of every teacher at every node of a question, for any number of draws of P_succ at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.measures.node_gradient import Loss, NodeGradient, alignment, distillation, ideal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.estimate.fit import Fit
    from opd_widgets.diagnosis.nodes import Nodes


def support(nodes: Nodes, fit: Fit, min_visits: int) -> NDArray[np.bool_]:
    """Return which candidates make up K, bool [M, T, C]: enough visits, and known to student and teacher.

    Args:
        nodes: M nodes.
        fit: estimate with the visits behind it.
        min_visits: N_sig; a candidate with which the response ends needs one.

    """
    enough = (fit.visits >= min_visits) | fit.known
    said = ~np.isnan(nodes.teacher_logp) & ~np.isnan(nodes.student_logp)[:, None]
    return (enough & (nodes.tokens >= 0))[:, None] & said


def renormalised(logp: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return log-probabilities that sum to one over what is kept, the last axis; -inf elsewhere, and where none is."""
    inside = np.where(kept, logp, -np.inf)
    top = inside.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(inside - top).sum(axis=-1, keepdims=True))
    return np.where(np.isfinite(total), inside - top - np.where(np.isfinite(total), total, 0.0), -np.inf)


def gradients(
    nodes: Nodes, success: NDArray[np.floating], kept: NDArray[np.bool_], loss: Loss, beta: float
) -> tuple[NodeGradient, NodeGradient]:
    """Return the ideal and the distillation gradient on K.

    Args:
        nodes: M nodes, T teachers, C candidates.
        success: P_succ, [M, C] or draws [M, C, D]; read on K only.
        kept: K, bool [M, T, C].
        loss: "reverse_kl", "forward_kl" or "jsd".
        beta: of the JSD.

    Returns:
        Ideal [M, T, C], or [M, T, D, C]; distillation [M, T, C], or [M, T, 1, C].

    """
    student = renormalised(nodes.student_logp[:, None], kept)
    teacher = renormalised(nodes.teacher_logp, kept)
    if success.ndim == 3:
        of_draws = np.moveaxis(success, -1, 1)[:, None]
        inside = np.where(kept[:, :, None], of_draws, 0.0)
        wanted = ideal(np.exp(student)[:, :, None], np.clip(inside, 0.0, 1.0))
        pulled = distillation(loss, student, teacher, beta)
        return wanted, NodeGradient(pulled.signal[:, :, None], pulled.gradient[:, :, None])
    inside = np.where(kept, success[:, None], 0.0)
    return ideal(np.exp(student), np.clip(inside, 0.0, 1.0)), distillation(loss, student, teacher, beta)


def alignments(
    nodes: Nodes,
    success: NDArray[np.floating],
    kept: NDArray[np.bool_],
    loss: Loss = "reverse_kl",
    beta: float = 0.5,
) -> NDArray[np.float64]:
    """Return the cosine of both gradients, [M, T], or of every draw, [M, T, D]; NaN where it is undefined.

    It is undefined with fewer than two candidates in K, too.
    """
    cosine = alignment(*gradients(nodes, success, kept, loss, beta))
    enough = kept.sum(axis=-1) >= 2
    enough = enough[:, :, None] if success.ndim == 3 else enough
    found: NDArray[np.float64] = np.where(enough, cosine, np.nan)
    return found
