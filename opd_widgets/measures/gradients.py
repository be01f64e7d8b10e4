"""Whether a teacher's gradient at a node points where success lies; public as `opd.gradients`.

Success probabilities say which next tokens lead to correct answers, and so which way the student's distribution should
move: the ideal gradient. Its cosine with a distillation loss's gradient is the alignment. Source: arXiv 2605.10889.

    node = opd.gradients.node_alignment(student_logp, teacher_logp, success, support=[0, 3, 7])
    node.alignment, node.reason, node.verdict
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.measures.known_success import known_success
from opd_widgets.measures.node_aggregates import NodeAggregate, aggregate_nodes
from opd_widgets.measures.node_gradient import (
    LOSSES,
    Loss,
    NodeGradient,
    alignment,
    distillation,
    ideal,
    success_range,
    teacher_advantage,
    value,
    varies,
)
from opd_widgets.measures.sampled_gradients import (
    SingleSampleAlignment,
    dr_grpo,
    minillm,
    single_sample,
    single_sample_alignment,
)
from opd_widgets.measures.support import POINTS_OUTSIDE, Support, float_vector, on_support

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LOSSES",
    "Loss",
    "NodeAggregate",
    "NodeAlignment",
    "NodeGradient",
    "SingleSampleAlignment",
    "Support",
    "aggregate_nodes",
    "alignment",
    "distillation",
    "dr_grpo",
    "ideal",
    "minillm",
    "node_alignment",
    "on_support",
    "single_sample",
    "single_sample_alignment",
    "success_range",
    "teacher_advantage",
    "value",
    "varies",
]


@dataclass(frozen=True, eq=False)
class NodeAlignment:
    """A node's alignment with everything that it stands on. All but the masses is on the support K.

    Args:
        loss: "reverse_kl", "forward_kl" or "jsd".
        beta: of the JSD; None for the others.
        tokens: int64 [K], positions in the arrays that were given.
        student: p_S, float64 [K], renormalised.
        teacher: p_T, float64 [K], renormalised.
        success: P_succ, float64 [K].
        student_mass: p_S(K).
        teacher_mass: p_T(K).
        ideal: gradient of the expected success, float64 [K].
        distillation: gradient of the negative loss, float64 [K].
        alignment: their cosine, -1 to 1; NaN where it is undefined. With two tokens it can only be -1 or 1.
        reason: why it is undefined; empty where it is not.
        value: V, the expected success.
        teacher_advantage: sum (p_T - p_S) P_succ.
        success_range: max P_succ - min P_succ.
        verdict: "points outside the support" where either mass is below 0.9, and then no number to average; else empty.

    """

    loss: Loss
    beta: float | None
    tokens: NDArray[np.int64]
    student: NDArray[np.float64]
    teacher: NDArray[np.float64]
    success: NDArray[np.float64]
    student_mass: float
    teacher_mass: float
    ideal: NDArray[np.float64]
    distillation: NDArray[np.float64]
    alignment: float
    reason: str
    value: float
    teacher_advantage: float
    success_range: float
    verdict: str

    @property
    def n_support(self) -> int:
        """How many tokens stand behind the score."""
        return len(self.tokens)

    @property
    def points_outside(self) -> bool:
        """Whether p_S(K) or p_T(K) is below 0.9."""
        return self.verdict == POINTS_OUTSIDE


def node_alignment(
    student_logp: ArrayLike,
    teacher_logp: ArrayLike,
    success: ArrayLike,
    loss: Loss = "reverse_kl",
    support: ArrayLike | None = None,
    *,
    beta: float = 0.5,
) -> NodeAlignment:
    """Return how a teacher's gradient at one node lies to the one that raises the student's success most.

    Args:
        student_logp: [N], log-probabilities of N next tokens at the node, nats, not renormalised: the vocabulary, or a
            part that holds the support.
        teacher_logp: [N], of the same tokens.
        success: P_succ, [N], the probability that the student ends correct after each token; NaN where unknown.
        loss: "reverse_kl", "forward_kl" or "jsd".
        support: the tokens K whose success is known well enough: positions [K] or booleans [N]; None for every token
            whose success is known.
        beta: weight of the teacher in the JSD's mixture, 0 < beta < 1; read for "jsd" only.

    Raises:
        InvalidInputError: lengths differ, probabilities sum to more than one, a success is not from 0 to 1, the
            support is not two or more of the tokens, an unknown loss, or a JSD's beta at its ends.

    """
    known, tokens = known_success(success, len(float_vector(student_logp, "student_logp")), support)
    kept = on_support(student_logp, teacher_logp, tokens)
    student, teacher = np.exp(kept.student_logp), np.exp(kept.teacher_logp)
    wanted = ideal(student, known)
    pulled = distillation(loss, kept.student_logp, kept.teacher_logp, beta)
    cosine = float(alignment(wanted, pulled))
    return NodeAlignment(
        loss=loss,
        beta=beta if loss == "jsd" else None,
        tokens=tokens,
        student=student,
        teacher=teacher,
        success=known,
        student_mass=kept.student_mass,
        teacher_mass=kept.teacher_mass,
        ideal=wanted.gradient,
        distillation=pulled.gradient,
        alignment=cosine,
        reason=_why_undefined(wanted, pulled) if np.isnan(cosine) else "",
        value=float(value(student, known)),
        teacher_advantage=float(teacher_advantage(student, teacher, known)),
        success_range=float(success_range(known)),
        verdict=kept.verdict,
    )


def _why_undefined(wanted: NodeGradient, pulled: NodeGradient) -> str:
    if not varies(wanted.signal):
        return "no signal: success is the same after every token of the support that the student may take"
    if not np.isfinite(pulled.gradient).all():
        return "infinite: the teacher gives probability 0 to a token of the support that the student may take"
    if not varies(pulled.signal):
        return "no signal: the loss wants the student as it is on the support"
    return "no gradient: all of it is smaller than the smallest number"
