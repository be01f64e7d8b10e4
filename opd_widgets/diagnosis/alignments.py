"""Alignment of every teacher at every node of a question, for any number of draws of P_succ at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.measures.node_gradient import Loss, NodeGradient, alignment, distillation, ideal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from opd_widgets.diagnosis.estimate.fit import Fit
    from opd_widgets.diagnosis.nodes import Nodes

MOST_NUMBERS = 2**18  # teachers times draws times candidates held at a time: 2 MB an array


def support(nodes: Nodes, fit: Fit, min_visits: int) -> NDArray[np.bool_]:
    """Return which candidates make up K, bool [M, T, C]: enough visits, and known to student and teacher.

    Args:
        nodes: M nodes.
        fit: estimate with the visits behind it.
        min_visits: N_sig; a candidate with which the response ends needs one.

    """
    enough = (fit.visits >= min_visits) | fit.known
    return enough[:, None] & nodes.said_by_both


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
        Ideal [M, T, C], or [M, T, D, C], [M, 1, D, C] where K is the same for all teachers; distillation [M, T, C], or
        [M, T, 1, C].

    """
    return _gradients((nodes.student_logp, nodes.teacher_logp), success, kept, loss, beta)


def _gradients(
    logp: tuple[NDArray[np.float64], NDArray[np.float64]],
    success: NDArray[np.floating],
    kept: NDArray[np.bool_],
    loss: Loss,
    beta: float,
) -> tuple[NodeGradient, NodeGradient]:
    """Return both gradients; `logp` is the student's [M, C] and the teachers' [M, T, C].

    The ideal one has one row for all teachers, [M, 1, ...], where K is the same for all.
    """
    student = renormalised(logp[0][:, None], kept)
    teacher = renormalised(logp[1], kept)
    pulled = distillation(loss, student, teacher, beta)
    if success.ndim == 2:
        return _ideal(student, success[:, None], kept), pulled
    alike = kept.shape[1] and bool((kept == kept[:, :1]).all())
    shared = slice(0, 1) if alike else slice(None)
    of_draws = np.moveaxis(success, -1, 1)[:, None]
    wanted = _ideal(student[:, shared, None], of_draws, kept[:, shared, None])
    return wanted, NodeGradient(pulled.signal[:, :, None], pulled.gradient[:, :, None])


def _ideal(student: NDArray[np.float64], success: NDArray[np.floating], kept: NDArray[np.bool_]) -> NodeGradient:
    return ideal(np.exp(student), np.clip(np.where(kept, success, 0.0), 0.0, 1.0))


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
    enough = kept.sum(axis=-1) >= 2
    if success.ndim == 2:
        cosine = alignment(*gradients(nodes, success, kept, loss, beta))
        return np.where(enough, cosine, np.nan)
    found = np.full((*kept.shape[:2], success.shape[-1]), np.nan)
    for rows, columns in _parts(kept, success.shape[-1]):
        student = np.take_along_axis(nodes.student_logp[rows], columns, axis=1)
        teacher = np.take_along_axis(nodes.teacher_logp[rows], columns[:, None], axis=2)
        draws = np.take_along_axis(success[rows], columns[..., None], axis=1)
        here = np.take_along_axis(kept[rows], columns[:, None], axis=2)
        found[rows] = alignment(*_gradients((student, teacher), draws, here, loss, beta))
    return np.where(enough[..., None], found, np.nan)


def _parts(kept: NDArray[np.bool_], draws: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield nodes, int64 [m], with the columns that one of their teachers keeps first, int64 [m, c].

    Most nodes have a few candidates and some have many: nodes of like width go together, a few at a time.
    """
    used = kept.any(axis=1)
    width = used.sum(axis=1)
    first = np.argsort(~used, axis=1, kind="stable")
    waiting = np.argsort(width, kind="stable")
    waiting = waiting[width[waiting] >= 2]
    while len(waiting):
        widths = width[waiting]
        size = np.arange(1, len(waiting) + 1) * widths * kept.shape[1] * draws
        rows = waiting[: max(1, int(np.searchsorted(size, MOST_NUMBERS, side="right")))]
        yield rows, first[rows, : width[rows[-1]]]
        waiting = waiting[len(rows) :]
