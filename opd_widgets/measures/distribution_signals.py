"""Signals of whole next-token distributions (tiers L2 and L3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.measures.overlap import mass_at, top_k_overlap
from opd_widgets.measures.sampled_signals import APART, SAME, SAMPLED, advantage_of
from opd_widgets.measures.sequence import entropy_divergence
from opd_widgets.measures.signal import Signal, SignalSettings, field_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.measured import Measured

_SURE, _UNSURE = "sure", "unsure"


def _baseline_subtracted(m: Measured, _: SignalSettings) -> NDArray[np.floating]:
    """Return the advantage less its mean over the student's own choices, which is -KL(p_S || p_T)."""
    with np.errstate(invalid="ignore"):  # -inf + inf: no baseline can be taken off there
        return np.asarray(advantage_of(m) + np.asarray(m.reverse_kl))


DISTRIBUTION_SIGNALS = (
    Signal(
        "reverse_kl",
        "reverse KL",
        "KL(S‖T) = Σ p_S (log p_S − log p_T)",
        "nats",
        "L3",
        "sequential",
        SAME,
        APART,
        ("reverse_kl",),
        field_of("reverse_kl"),
    ),
    Signal(
        "forward_kl",
        "forward KL",
        "KL(T‖S) = Σ p_T (log p_T − log p_S)",
        "nats",
        "L3",
        "sequential",
        SAME,
        APART,
        ("forward_kl",),
        field_of("forward_kl"),
    ),
    Signal(
        "jsd",
        "JSD",
        "β KL(T‖M) + (1−β) KL(S‖M), M = β p_T + (1−β) p_S",
        "nats",
        "L3",
        "sequential",
        SAME,
        APART,
        ("jsd",),
        field_of("jsd"),
        source="GKD, arXiv 2306.13649",
    ),
    Signal(
        "student_entropy",
        "student entropy",
        "−Σ p_S log p_S",
        "nats",
        "L3",
        "sequential",
        _SURE,
        _UNSURE,
        ("student_entropy",),
        field_of("student_entropy"),
        per_teacher=False,
    ),
    Signal(
        "teacher_entropy",
        "teacher entropy",
        "−Σ p_T log p_T",
        "nats",
        "L3",
        "sequential",
        _SURE,
        _UNSURE,
        ("teacher_entropy",),
        field_of("teacher_entropy"),
    ),
    Signal(
        "student_rank",
        "student rank",
        "1 + number of tokens likelier under S",
        "rank",
        "L3",
        "log",
        "first",
        "far down",
        ("student_rank",),
        field_of("student_rank"),
        per_teacher=False,
        aggregate="max",
    ),
    Signal(
        "teacher_rank",
        "teacher rank",
        "1 + number of tokens likelier under T",
        "rank",
        "L3",
        "log",
        "first",
        "far down",
        ("teacher_rank",),
        field_of("teacher_rank"),
        aggregate="max",
    ),
    Signal(
        "baseline_subtracted",
        "advantage − baseline",
        "(t − s) + KL(S‖T)",
        "nats",
        "L3",
        "diverging",
        "worse than the student's average choice",
        "better than it",
        (*SAMPLED, "reverse_kl"),
        _baseline_subtracted,
        source="vOPD, arXiv 2605.07865",
    ),
    Signal(
        "skew_reverse_kl",
        "skew reverse KL",
        "KL(S ‖ αS + (1−α)T)",
        "nats",
        "L3",
        "sequential",
        SAME,
        APART,
        ("skew_reverse_kl",),
        field_of("skew_reverse_kl"),
        source="DistiLLM, arXiv 2402.03898",
    ),
    Signal(
        "clipped_kl",
        "clipped KL (can be below 0)",
        "Σ_v min(p_T (log p_T − log p_S), c)",
        "nats",
        "L3",
        "diverging",
        "below 0: large terms clipped",
        APART,
        ("clipped_kl",),
        field_of("clipped_kl"),
        source="OPSD, arXiv 2601.18734",
    ),
    Signal(
        "entropy_divergence",
        "entropy–divergence",
        "h + d − h d, scaled over the response",
        "share",
        "L3",
        "sequential",
        "sure and agreed",
        "unsure or apart",
        ("student_entropy", "reverse_kl"),
        lambda m, _: entropy_divergence(np.asarray(m.student_entropy), np.asarray(m.reverse_kl), m.counted),
        aggregate="max",
        source="TIP, arXiv 2604.14084, our reading",
    ),
    Signal(
        "topk_overlap",
        "top-k overlap",
        "|topk_S ∩ topk_T| / k",
        "share",
        "L2",
        "sequential",
        "nothing shared",
        "all shared",
        ("student_top_ids", "teacher_top_ids"),
        lambda m, p: top_k_overlap(np.asarray(m.student_top_ids), np.asarray(m.teacher_top_ids), p.overlap_k),
        aggregate="mean",
        source="arXiv 2604.13016",
    ),
    Signal(
        "teacher_mass",
        "teacher mass on student's top-k",
        "Σ_{v ∈ topk_S} p_T(v)",
        "share",
        "L2",
        "sequential",
        "none",
        "all",
        ("teacher_at_student_top",),
        lambda m, _: mass_at(np.asarray(m.teacher_at_student_top)),
        aggregate="mean",
    ),
    Signal(
        "student_outside",
        "student mass outside",
        "p_S outside the shared vocabulary",
        "share",
        "L3",
        "sequential",
        "none",
        "all",
        ("student_outside",),
        field_of("student_outside"),
        aggregate="max",
    ),
    Signal(
        "teacher_outside",
        "teacher mass outside",
        "p_T outside the shared vocabulary",
        "share",
        "L3",
        "sequential",
        "none",
        "all",
        ("teacher_outside",),
        field_of("teacher_outside"),
        aggregate="max",
    ),
)
