"""One row for each node and teacher of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT, UNVERIFIED
from opd_widgets.diagnosis.evidence import NOWHERE
from opd_widgets.diagnosis.tables.candidate_table import node_gradients
from opd_widgets.diagnosis.tables.crossfit import through_nodes
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles
from opd_widgets.diagnosis.tables.single_samples import expected_cosine
from opd_widgets.diagnosis.tables.verdict import COUNTED, NO_SIGNAL, verdicts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.reading import Reading
    from opd_widgets.diagnosis.tables.spelling import Spelling

NODE_COLUMNS = (
    *("question", "node", "depth", "prefix", "teacher", "n_support", "student_mass", "teacher_mass", "verdict"),
    *("alignment", "alignment_low", "alignment_high", "alignment_mean", "alignment_plugin", "p_positive"),
    *("alignment_on_support", "success", "teacher_advantage", "teacher_advantage_low", "teacher_advantage_high"),
    *("success_range", "success_range_low", "success_range_high", "single_sample", "ideal_norm", "distillation_norm"),
    *("reverse_kl", "forward_kl", "jsd", "student_entropy", "teacher_entropy"),
    *("visits", "correct", "incorrect", "truncated", "unverified", "targeted"),
)

NORMS = ("ideal_norm", "distillation_norm")


def node_columns(reading: Reading, spelling: Spelling) -> dict[str, Any]:
    """Return the columns of `Diagnosis.nodes` for one question: M x T values each, node by node.

    Raises nothing for a question without nodes: the columns are empty.
    """
    nodes = reading.evidence.nodes
    rows, teachers = len(nodes), len(nodes.teachers)
    if not rows or not teachers:
        return {name: [] for name in NODE_COLUMNS}
    by_node = {
        "node": np.arange(rows),
        "depth": nodes.depths,
        "prefix": np.array([spelling.prefix(ids) for ids in nodes.prefixes], object),
        "success": node_success(reading),
        "student_entropy": nodes.student_entropy,
        **_counts(reading.evidence),
    }
    found = {
        "question": np.full(rows * teachers, reading.evidence.question, object),
        "teacher": np.tile(np.array(nodes.teachers, object), rows),
        **{name: np.repeat(values, teachers) for name, values in by_node.items()},
        **{name: values.ravel() for name, values in _by_teacher(reading).items()},
    }
    return {name: found[name] for name in NODE_COLUMNS}


def node_success(reading: Reading) -> NDArray[np.float64]:
    """Return V, the student's success at each node, [M]: over all candidates, renormalised, the mean of draws."""
    logp = reading.evidence.nodes.student_logp
    p = np.where(np.isnan(logp) | ~reading.evidence.nodes.used, 0.0, np.exp(logp))
    mass = p.sum(axis=-1)
    total = (p * np.nan_to_num(mean(reading.fit.posterior))).sum(axis=-1)
    found: NDArray[np.float64] = np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), np.nan)
    return found


def _by_teacher(reading: Reading) -> dict[str, NDArray[Any]]:
    """Return what differs by teacher, [M, T] each; NaN where no mean may take it in."""
    nodes, verdict = reading.evidence.nodes, verdicts(reading)
    scored, inside = verdict == COUNTED, np.isin(verdict, [COUNTED, NO_SIGNAL]) & (reading.n_support >= 2)
    low, middle, high = quantiles(reading.draws, (reading.settings.tails[0], 0.5, reading.settings.tails[1]))
    above = np.where(np.isnan(reading.draws), np.nan, reading.draws > 0)
    samples = expected_cosine(nodes, mean(reading.fit.posterior), reading.kept)
    both = node_gradients(reading)
    of_score = {
        "alignment": middle,
        "alignment_low": low,
        "alignment_high": high,
        "alignment_mean": mean(reading.draws),
        "alignment_plugin": reading.plug_in,
        "p_positive": mean(above),
        "single_sample": samples,
        **{name: np.sqrt((np.nan_to_num(one) ** 2).sum(axis=-1)) for name, one in zip(NORMS, both, strict=True)},
    }
    found: dict[str, NDArray[Any]] = {name: np.where(scored, values, np.nan) for name, values in of_score.items()}
    for name, draws in (("teacher_advantage", reading.teacher_advantage), ("success_range", reading.success_range)):
        ends = (mean(draws), *quantiles(draws, reading.settings.tails))
        for suffix, values in zip(("", "_low", "_high"), ends, strict=True):
            found[name + suffix] = np.where(inside, values, np.nan)
    return found | {
        "verdict": verdict,
        "alignment_on_support": middle,
        "n_support": reading.n_support,
        "student_mass": reading.student_mass,
        "teacher_mass": reading.teacher_mass,
        **{name: getattr(nodes, name) for name in ("reverse_kl", "forward_kl", "jsd", "teacher_entropy")},
    }


def _counts(evidence: Evidence) -> dict[str, NDArray[np.int64]]:
    """Return the initial rollouts through each node by how they ended, and the targeted ones begun there, [M] each."""
    cut = np.array([drawn.truncated for drawn in evidence.rollouts], np.bool_)
    groups = {
        "visits": evidence.initial,
        "correct": evidence.initial & ~cut & (evidence.outcome == CORRECT),
        "incorrect": evidence.initial & ~cut & (evidence.outcome == INCORRECT),
        "truncated": evidence.initial & cut,
        "unverified": evidence.initial & ~cut & (evidence.outcome == UNVERIFIED),
    }
    found = {name: through_nodes(evidence, chosen).astype(np.int64) for name, chosen in groups.items()}
    begun = np.bincount(evidence.tree.begin, minlength=len(evidence.tree))
    place = evidence.candidate_place
    targeted = np.where(place == NOWHERE, 0, begun[np.where(place == NOWHERE, 0, place)]).sum(axis=-1)
    return {**found, "targeted": targeted}
