"""Signals of the sampled token alone (tier L1): all a dump with log-probabilities needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.measures.estimators import advantage, k2, k3
from opd_widgets.measures.sequence import discounted, position_weighted
from opd_widgets.measures.signal import Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.measured import Measured

SAMPLED = ("student_logprob", "teacher_logprob")
OTHER, THIS = "teacher prefers another token", "teacher prefers this token"
SAME, APART = "same", "far apart"
_CERTAIN, _IMPROBABLE = "certain", "improbable"
_APART_AHEAD, _AGREED_AHEAD = "disagreement ahead", "agreement ahead"


def advantage_of(m: Measured) -> NDArray[np.floating]:
    """Return t - s along the response."""
    return advantage(np.asarray(m.student_logprob), np.asarray(m.teacher_logprob))


def surprisal(logp: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return -log p: 0 for a certain token, infinite for an impossible one."""
    return np.asarray(0.0 - logp)  # not -logp: a certain token is 0, not -0


def power_advantage(student: NDArray[np.floating], teacher: NDArray[np.floating], power: float) -> NDArray[np.floating]:
    """Return p_T^a - p_S^a from log-probabilities: -1 to 1, also where one of them is impossible."""
    return np.asarray(np.exp(power * teacher) - np.exp(power * student))


def soft_log(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return sign(A) log(1 + |A|)."""
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


SAMPLED_SIGNALS = (
    Signal(
        "advantage",
        "advantage",
        "t − s",
        "nats",
        "L1",
        "diverging",
        OTHER,
        THIS,
        SAMPLED,
        lambda m, _: advantage_of(m),
        source="on-policy distillation; k1 with its sign turned",
    ),
    Signal(
        "student_surprisal",
        "student surprisal",
        "−s = −log p_S(y)",
        "nats",
        "L1",
        "sequential",
        _CERTAIN,
        _IMPROBABLE,
        ("student_logprob",),
        lambda m, _: surprisal(np.asarray(m.student_logprob)),
        per_teacher=False,
    ),
    Signal(
        "teacher_surprisal",
        "teacher surprisal",
        "−t = −log p_T(y)",
        "nats",
        "L1",
        "sequential",
        _CERTAIN,
        _IMPROBABLE,
        ("teacher_logprob",),
        lambda m, _: surprisal(np.asarray(m.teacher_logprob)),
    ),
    Signal(
        "position_weighted",
        "position-weighted",
        "w_n (t − s), w_n = 1 + g (1 − Σ_{i<n}|A_i| / Σ|A_i|)",
        "nats",
        "L1",
        "diverging",
        OTHER,
        THIS,
        SAMPLED,
        lambda m, p: position_weighted(advantage_of(m), m.counted, p.position_gain),
        whole=True,
        source="IW-OPD, arXiv 2606.22600",
    ),
    Signal(
        "reward_to_go",
        "advantage to go",
        "Σ_{i≥n} A_i",
        "nats",
        "L1",
        "diverging",
        _APART_AHEAD,
        _AGREED_AHEAD,
        SAMPLED,
        lambda m, _: discounted(advantage_of(m), m.counted),
        aggregate="mean",
        whole=True,
        source="MiniLLM, arXiv 2306.08543",
    ),
    Signal(
        "discounted_advantage",
        "discounted advantage",
        "Σ_{i≥n} γ^(i−n) A_i",
        "nats",
        "L1",
        "diverging",
        _APART_AHEAD,
        _AGREED_AHEAD,
        SAMPLED,
        lambda m, p: discounted(advantage_of(m), m.counted, p.gamma),
        aggregate="mean",
        whole=True,
    ),
    Signal(
        "power_advantage",
        "power advantage",
        "p_T(y)^a − p_S(y)^a",
        "",
        "L1",
        "diverging",
        OTHER,
        THIS,
        SAMPLED,
        lambda m, p: power_advantage(np.asarray(m.student_logprob), np.asarray(m.teacher_logprob), p.power),
        source="arXiv 2606.17199 (our reading)",
    ),
    Signal(
        "soft_log_advantage",
        "soft-log advantage",
        "sign(A) log(1 + |A|), A = t − s",
        "",
        "L1",
        "diverging",
        OTHER,
        THIS,
        SAMPLED,
        lambda m, _: soft_log(advantage_of(m)),
        source="arXiv 2607.13399 (our reading)",
    ),
    Signal(
        "k2",
        "k2",
        "(s − t)² / 2",
        "nats²",
        "L1",
        "sequential",
        SAME,
        APART,
        SAMPLED,
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
        SAME,
        APART,
        SAMPLED,
        lambda m, _: k3(np.asarray(m.student_logprob), np.asarray(m.teacher_logprob)),
        source="Schulman 2020, Approximating KL divergence",
    ),
)
