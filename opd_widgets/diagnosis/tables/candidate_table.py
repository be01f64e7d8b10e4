"""One row for each node, candidate and teacher of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.alignments import gradients
from opd_widgets.diagnosis.tables.bounds import success, success_bounds
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading
    from opd_widgets.diagnosis.tables.spelling import Spelling

CANDIDATE_COLUMNS = (
    *("question", "node", "token_id", "token", "teacher", "visits", "in_support"),
    *("success", "success_low", "success_high", "success_mean", "success_estimate"),
    *("success_if_wrong", "success_if_right"),
    *("student_logprob", "teacher_logprob", "ideal_gradient", "distillation_gradient"),
)


def candidate_columns(reading: Reading, spelling: Spelling) -> dict[str, Any]:
    """Return the columns of `Diagnosis.candidates` for one question, candidate by candidate of node by node."""
    nodes = reading.evidence.nodes
    teachers = len(nodes.teachers)
    if not nodes.used.any() or not teachers:
        return {name: [] for name in CANDIDATE_COLUMNS}
    node, column = np.nonzero(nodes.used)
    ids = nodes.tokens[node, column]
    low, high = quantiles(reading.fit.posterior, reading.settings.tails)
    wrong, right = success_bounds(reading)
    by_candidate: dict[str, NDArray[Any]] = {
        "node": node,
        "token_id": ids,
        "token": np.array([spelling.token(token) for token in ids.tolist()], object),
        **{
            name: values[node, column]
            for name, values in {
                "visits": reading.fit.visits,
                "success": success(reading.fit),
                "success_mean": mean(reading.fit.posterior),
                "success_estimate": reading.fit.success,
                "success_low": low,
                "success_high": high,
                "success_if_wrong": wrong,
                "success_if_right": right,
                "student_logprob": nodes.student_logp,
            }.items()
        },
    }
    wanted, pulled = node_gradients(reading)
    by_teacher = {
        "in_support": reading.kept,
        "teacher_logprob": nodes.teacher_logp,
        "ideal_gradient": wanted,
        "distillation_gradient": pulled,
    }
    found = {
        "question": np.full(len(node) * teachers, reading.evidence.question, object),
        "teacher": np.tile(np.array(nodes.teachers, object), len(node)),
        **{name: np.repeat(values, teachers) for name, values in by_candidate.items()},
        **{name: np.moveaxis(values, 1, 2)[node, column].ravel() for name, values in by_teacher.items()},
    }
    return {name: found[name] for name in CANDIDATE_COLUMNS}


def node_gradients(reading: Reading) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ideal gradient at the posterior mean of P_succ, and the loss's, [M, T, C]; NaN outside K.

    NaN at all of K where it has fewer than two tokens; the ideal one also where no outcome differed on K from another:
    what the posterior mean would give there is not observed.
    """
    setting, kept = reading.settings, reading.kept
    if not kept.size:
        return np.full(kept.shape, np.nan), np.full(kept.shape, np.nan)
    both = gradients(reading.evidence.nodes, mean(reading.fit.posterior), kept, setting.loss, setting.beta)
    there = kept & (reading.n_support >= 2)[..., None]
    wanted, pulled = (np.where(there, one.gradient, np.nan) for one in both)
    return np.where(reading.silent[..., None], np.nan, wanted), pulled
