"""Signals that scoring alone cannot give: named with what they lack, so that a reader need not look for them.

Those of two contexts are had from scores afterwards, by `opd.contrast`.
"""

from __future__ import annotations

from opd_widgets.measures.sampled_signals import OTHER, THIS
from opd_widgets.measures.signal import Signal

_TWO_CONTEXTS = "compares two teachers' contexts: opd.contrast(scores, name, right=..., wrong=...) adds it as a teacher"

UNSCORED_SIGNALS = (
    Signal(
        "hint_contrast",
        "hint contrast",
        "log p(y | right) − log mean_k p(y | wrong_k)",
        "nats",
        "L1+C",
        "diverging",
        "likelier under the wrong contexts",
        "likelier under the right context",
        reason=_TWO_CONTEXTS,
        source="RLCSD, arXiv 2606.11709",
    ),
    Signal(
        "context_difference",
        "context difference",
        "log p(y | right) − log p(y | wrong)",
        "nats",
        "L1+C",
        "diverging",
        "likelier under the wrong context",
        "likelier under the right context",
        reason=_TWO_CONTEXTS,
        source="the plain difference of two contexts; the contrast of one wrong one",
    ),
    Signal(
        "reward_anchored_weight",
        "reward-anchored weight",
        "A_R ((1−λ) + λ clip(exp(sign(A_R) (t − s)), 0.8, 1.2)), λ = 0.5",
        "",
        "L1+C",
        "diverging",
        "rewarded less than its group",
        "rewarded more than its group",
        reason="needs A_R, a rollout's reward against the others of its question, which scoring does not take",
        source="RLSD, arXiv 2604.03128",
    ),
    Signal(
        "extrapolated_advantage",
        "extrapolated advantage",
        "λ (t − b) − (s − b), λ = 1.25",
        "nats",
        "L1+C",
        "diverging",
        OTHER,
        THIS,
        reason="needs b, the log-probabilities of a base model beside student and teacher",
        source="ExOPD, arXiv 2602.12125",
    ),
    Signal(
        "teacher_free_baseline",
        "teacher-free baseline",
        "−1/2 on the 20 % of tokens with the lowest s",
        "",
        "L1",
        "diverging",
        "among the student's least likely",
        "not among them",
        per_teacher=False,
        aggregate="mean",
        reason="its source has not been checked: whether the 20 % are of a response or of a batch is not known here",
        source="OPSA, arXiv 2608.31046 (our reading)",
    ),
    Signal(
        "alignment",
        "gradient alignment",
        "cos(g_ideal, g_distill)",
        "cosine",
        "L4",
        "diverging",
        "against the ideal gradient",
        "along the ideal gradient",
        aggregate="mean",
        reason=(
            "needs success probabilities from targeted rollouts, which scoring alone cannot estimate: "
            "opd.diagnose(...).along(scores) adds it at the nodes of a diagnosis"
        ),
        source="Unmasking On-Policy Distillation, arXiv 2605.10889",
    ),
)
