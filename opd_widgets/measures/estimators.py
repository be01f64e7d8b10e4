"""Estimators of a KL from the sampled token alone (Schulman, "Approximating KL divergence", 2020).

`student` and `teacher` are log-probabilities of the sampled token, nats. For KL(p_S || p_T) with tokens sampled from
p_S: k1 and k3 are unbiased, k2 is biased with low variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def advantage(student: Floats, teacher: Floats) -> Floats:
    """Return t - s. Undefined (NaN) where both are -inf: neither model allows the token."""
    with np.errstate(invalid="ignore"):
        return np.asarray(teacher - student)


def k1(student: Floats, teacher: Floats) -> Floats:
    """Return s - t, the advantage with its sign turned."""
    return -advantage(student, teacher)


def k2(student: Floats, teacher: Floats) -> Floats:
    """Return (s - t)^2 / 2, nats squared, never negative."""
    return advantage(student, teacher) ** 2 / 2


def k3(student: Floats, teacher: Floats) -> Floats:
    """Return exp(t - s) - (t - s) - 1, never negative; grows fast where the teacher is far surer."""
    difference = advantage(student, teacher)
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.expm1(difference) - difference
    return np.asarray(np.where(np.isposinf(difference), np.inf, value))
