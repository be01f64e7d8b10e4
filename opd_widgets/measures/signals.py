"""The registry of per-token signals.

Tiers say what a signal needs: L1 the sampled token's log-probabilities; L1+C the same in several contexts; L2 the
likeliest tokens of one or both sides; L3 the full vocabulary (streamed, never stored); L4 success probabilities.

No signal here says whether a teacher helps. A large |advantage| is a large disagreement and nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import MissingSignalError
from opd_widgets.measures.estimators import advantage, k2, k3
from opd_widgets.measures.overlap import mass_at, top_k_overlap
from opd_widgets.measures.sequence import discounted, entropy_divergence, position_weighted
from opd_widgets.measures.signal import Compute, Signal, SignalSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.measured import Measured

_SAMPLED = ("student_logprob", "teacher_logprob")
_OTHER, _THIS = "teacher prefers another token", "teacher prefers this token"
_SAME, _APART = "same", "far apart"
_SURE, _UNSURE = "sure", "unsure"


def _field(name: str) -> Compute:
    return lambda m, _: np.asarray(getattr(m, name))


def _advantage(m: Measured) -> NDArray[np.floating]:
    return advantage(np.asarray(m.student_logprob), np.asarray(m.teacher_logprob))


def _baseline_subtracted(m: Measured, _: SignalSettings) -> NDArray[np.floating]:
    """Return the advantage less its mean over the student's own choices, which is -KL(p_S || p_T)."""
    with np.errstate(invalid="ignore"):  # -inf + inf: no baseline can be taken off there
        return np.asarray(_advantage(m) + np.asarray(m.reverse_kl))


_ALL = (
    Signal(
        "advantage",
        "advantage",
        "t − s",
        "nats",
        "L1",
        "diverging",
        _OTHER,
        _THIS,
        _SAMPLED,
        lambda m, _: _advantage(m),
        source="on-policy distillation; k1 with its sign turned",
    ),
    Signal(
        "reverse_kl",
        "reverse KL",
        "KL(S‖T) = Σ p_S (log p_S − log p_T)",
        "nats",
        "L3",
        "sequential",
        _SAME,
        _APART,
        ("reverse_kl",),
        _field("reverse_kl"),
    ),
    Signal(
        "forward_kl",
        "forward KL",
        "KL(T‖S) = Σ p_T (log p_T − log p_S)",
        "nats",
        "L3",
        "sequential",
        _SAME,
        _APART,
        ("forward_kl",),
        _field("forward_kl"),
    ),
    Signal(
        "jsd",
        "JSD",
        "β KL(T‖M) + (1−β) KL(S‖M), M = β p_T + (1−β) p_S",
        "nats",
        "L3",
        "sequential",
        _SAME,
        _APART,
        ("jsd",),
        _field("jsd"),
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
        _field("student_entropy"),
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
        _field("teacher_entropy"),
    ),
    Signal(
        "student_logprob",
        "log p student",
        "s = log p_S(y)",
        "nats",
        "L1",
        "diverging",
        "improbable",
        "certain",
        ("student_logprob",),
        _field("student_logprob"),
        per_teacher=False,
    ),
    Signal(
        "teacher_logprob",
        "log p teacher",
        "t = log p_T(y)",
        "nats",
        "L1",
        "diverging",
        "improbable",
        "certain",
        ("teacher_logprob",),
        _field("teacher_logprob"),
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
        _field("student_rank"),
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
        _field("teacher_rank"),
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
        (*_SAMPLED, "reverse_kl"),
        _baseline_subtracted,
        source="vOPD, arXiv 2605.07865",
    ),
    Signal(
        "position_weighted",
        "position-weighted",
        "w_n (t − s), w_n = 1 + g (1 − Σ_{i<n}|A_i| / Σ|A_i|)",
        "nats",
        "L1",
        "diverging",
        _OTHER,
        _THIS,
        _SAMPLED,
        lambda m, p: position_weighted(_advantage(m), m.counted, p.position_gain),
        source="IW-OPD, arXiv 2606.22600",
    ),
    Signal(
        "reward_to_go",
        "advantage to go",
        "Σ_{i≥n} A_i",
        "nats",
        "L1",
        "diverging",
        "disagreement ahead",
        "agreement ahead",
        _SAMPLED,
        lambda m, _: discounted(_advantage(m), m.counted),
        aggregate="mean",
        source="MiniLLM, arXiv 2306.08543",
    ),
    Signal(
        "discounted_advantage",
        "discounted advantage",
        "Σ_{i≥n} γ^(i−n) A_i",
        "nats",
        "L1",
        "diverging",
        "disagreement ahead",
        "agreement ahead",
        _SAMPLED,
        lambda m, p: discounted(_advantage(m), m.counted, p.gamma),
        aggregate="mean",
    ),
    Signal(
        "k2",
        "k2",
        "(s − t)² / 2",
        "nats²",
        "L1",
        "sequential",
        _SAME,
        _APART,
        _SAMPLED,
        lambda m, _: k2(np.asarray(m.student_logprob), np.asarray(m.teacher_logprob)),
        source="Schulman 2020, Approximating KL divergence",
    ),
    Signal(
        "k3",
        "k3",
        "exp(t − s) − (t − s) − 1",
        "nats",
        "L1",
        "sequential",
        _SAME,
        _APART,
        _SAMPLED,
        lambda m, _: k3(np.asarray(m.student_logprob), np.asarray(m.teacher_logprob)),
        source="Schulman 2020, Approximating KL divergence",
    ),
    Signal(
        "skew_reverse_kl",
        "skew reverse KL",
        "KL(S ‖ αS + (1−α)T)",
        "nats",
        "L3",
        "sequential",
        _SAME,
        _APART,
        ("skew_reverse_kl",),
        _field("skew_reverse_kl"),
        source="DistiLLM, arXiv 2402.03898",
    ),
    Signal(
        "clipped_kl",
        "clipped KL",
        "Σ_v min(p_T (log p_T − log p_S), c)",
        "nats",
        "L3",
        "diverging",
        "clipped below 0",
        _APART,
        ("clipped_kl",),
        _field("clipped_kl"),
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
        _field("student_outside"),
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
        _field("teacher_outside"),
        aggregate="max",
    ),
    Signal(
        "alignment",
        "gradient alignment",
        "cos(g_ideal, g_distill)",
        "",
        "L4",
        "diverging",
        "hurts",
        "helps",
        reason="needs success probabilities from targeted rollouts; scoring alone cannot estimate it",
        source="Unmasking On-Policy Distillation, arXiv 2605.10889",
    ),
)

REGISTRY: dict[str, Signal] = {signal.name: signal for signal in _ALL}


def get_signal(name: str) -> Signal:
    """Return a signal by its registry name.

    Raises:
        MissingSignalError: no such signal; the message lists those there are.

    """
    if name not in REGISTRY:
        msg = f"no signal {name!r}; there are {', '.join(REGISTRY)}"
        raise MissingSignalError(msg)
    return REGISTRY[name]


def compute_signals(
    measured: Measured, settings: SignalSettings | None = None, *, per_teacher: bool
) -> dict[str, NDArray[np.float32]]:
    """Compute every signal that these measurements allow.

    Args:
        measured: what was measured along one response of R tokens.
        settings: parameters of the signals.
        per_teacher: True for signals of a teacher, False for the student's own.

    Returns:
        float32 [R] by name; signals whose needs are unmet are absent.

    """
    settings = settings or SignalSettings()
    return {
        signal.name: np.asarray(signal.compute(measured, settings), dtype=np.float32)
        for signal in _ALL
        if signal.per_teacher == per_teacher and signal.compute is not None and signal.unmet(measured) is None
    }
