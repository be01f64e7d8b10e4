"""Gradients of a node that come from samples: single-sample distillation, MiniLLM and Dr. GRPO.

Each is compared with the ideal one by `alignment`, as the exact rows are. Source: arXiv 2605.10889; MiniLLM, arXiv
2306.08543; Dr. GRPO, arXiv 2503.20783.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.known_success import known_success
from opd_widgets.measures.node_gradient import NodeGradient, alignment, ideal, softmax_gradient
from opd_widgets.measures.support import float_vector, logprobs, on_support

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class SingleSampleAlignment:
    """What single-sample distillation points at, by the token that is sampled.

    Args:
        tokens: int64 [K], the support.
        alignment: float64 [K], the cosine when that token is sampled; NaN where undefined.
        expected: E_y[cos] over y ~ p_S on K where the cosine is defined; NaN if it never is. It is not the cosine of
            the mean gradient, which is the reverse-KL row's.
        defined_mass: probability on K, under the student, that the cosine is defined.
        student_mass: p_S(K); a token outside K has no cosine at all.
        teacher_mass: p_T(K).

    """

    tokens: NDArray[np.int64]
    alignment: NDArray[np.float64]
    expected: float
    defined_mass: float
    student_mass: float
    teacher_mass: float


def single_sample(
    student_logp: ArrayLike, teacher_logp: ArrayLike, token: int, support: ArrayLike | None = None
) -> NodeGradient:
    """Return the policy-gradient estimate from one sampled token y: f(j) = 1[j = y] A(y) / p_S(y), on K.

    A(y) = log p_T(y) - log p_S(y) is raw: renormalising it on K could turn its sign. Its mean over y ~ p_S is the
    reverse-KL row.

    Args:
        student_logp: [N], nats, as for `on_support`.
        teacher_logp: [N], of the same tokens.
        token: y, a position from 0 to N - 1.
        support: K, positions [K] or booleans [N]; None for all.

    Returns:
        [K]; all NaN where y is outside K: the estimate is undefined there.

    Raises:
        InvalidInputError: as for `on_support`, or y is none of the N tokens.

    """
    kept = on_support(student_logp, teacher_logp, support)
    n = len(logprobs(student_logp, "student_logp"))
    if not 0 <= token < n:
        msg = f"found sampled token {token}, expected a position from 0 to {n - 1}"
        raise InvalidInputError(msg)
    at = kept.tokens == token
    if not at.any():
        undefined = np.full(len(at), np.nan)
        return NodeGradient(undefined, undefined)
    raw = _raw_advantage(student_logp, teacher_logp)[token]
    return _one_sample(np.exp(kept.student_logp), np.where(at, raw, 0.0), at)


def single_sample_alignment(
    student_logp: ArrayLike, teacher_logp: ArrayLike, success: ArrayLike, support: ArrayLike | None = None
) -> SingleSampleAlignment:
    """Return the cosine with the ideal gradient for every token that may be sampled, and its expectation.

    Args:
        student_logp: [N], nats, as for `on_support`.
        teacher_logp: [N], of the same tokens.
        success: P_succ, [N], 0 to 1; NaN where unknown, outside K.
        support: K, positions [K] or booleans [N]; None for every token whose success is known.

    Raises:
        InvalidInputError: as for `node_alignment`.

    """
    known, tokens = known_success(success, len(logprobs(student_logp, "student_logp")), support)
    kept = on_support(student_logp, teacher_logp, tokens)
    p = np.exp(kept.student_logp)
    raw = _raw_advantage(student_logp, teacher_logp)[tokens]
    wanted = ideal(p, known)
    cosines = np.full(len(tokens), np.nan)
    for y in range(len(tokens)):  # one row at a time: [K, K] of a whole vocabulary is no matrix to hold
        at = np.arange(len(tokens)) == y
        cosines[y] = alignment(wanted, _one_sample(p, np.where(at, raw[y], 0.0), at))
    defined = ~np.isnan(cosines)
    mass = float(p[defined].sum())
    expected = float((p[defined] * cosines[defined]).sum() / mass) if mass > 0 else np.nan
    return SingleSampleAlignment(tokens, cosines, expected, mass, kept.student_mass, kept.teacher_mass)


def minillm(p: ArrayLike, tokens: ArrayLike, advantages: Sequence[ArrayLike]) -> NodeGradient:
    """Return MiniLLM's gradient, undiscounted: f(j) is the mean reward-to-go of the rollouts through (u, j).

    It costs rollouts through every token of K, and the teacher's log-probabilities along every one to its end.

    Args:
        p: p_S renormalised on K, [K].
        tokens: [R], which place of K each rollout takes at the node, 0 to K - 1.
        advantages: for each of the R rollouts, A = log p_T - log p_S of its tokens, nats, from the one at this node to
            the last.

    Raises:
        InvalidInputError: lengths differ, an advantage is missing, or a token of K has no rollout.

    """
    student = _probabilities(p)
    taken = _places(tokens, len(student))
    if taken.shape != (len(advantages),):
        msg = f"found tokens of shape {taken.shape} and {len(advantages)} rollouts' advantages, expected one of each"
        raise InvalidInputError(msg)
    to_go = np.array([float_vector(a, "advantages").sum() for a in advantages], np.float64)
    if np.isnan(to_go).any():
        where = np.flatnonzero(np.isnan(to_go)).tolist()
        msg = f"found rollouts {where} with an advantage missing or undefined (NaN), expected one a token: score them"
        raise InvalidInputError(msg)
    counts = np.bincount(taken, minlength=len(student))
    if not counts.all():
        where = np.flatnonzero(counts == 0).tolist()
        msg = f"found no rollout through places {where} of the support, expected one or more each: take them out of K"
        raise InvalidInputError(msg)
    with np.errstate(invalid="ignore"):
        return softmax_gradient(student, np.bincount(taken, to_go, len(student)) / counts)


def dr_grpo(p: ArrayLike, tokens: ArrayLike, rewards: ArrayLike) -> NodeGradient:
    """Return Dr. GRPO's gradient of each group: g(j) = 1/G sum_{i: y_i = j} (R_i - mean R).

    The term -p_S(j) of the softmax drops out, since R_i - mean R sums to 0. Its expectation is (1 - 1/G) times the
    ideal gradient. The rollouts must be on-policy ones that took no part in P_succ: from the same rollouts the cosine
    would be 1 by construction.

    Args:
        p: p_S renormalised on K, [K], above 0 where a rollout goes.
        tokens: [..., G], which place of K each rollout takes at the node; G of two or more. Rollouts that leave K are
            to be left out before grouping.
        rewards: [..., G], of the same rollouts.

    Returns:
        [..., K]; a group whose rewards are all equal has a signal of 0 throughout, and no direction.

    Raises:
        InvalidInputError: shapes differ, a group of one, a place outside K, one with p = 0, or a reward missing.

    """
    student = _probabilities(p)
    taken, reward = _places(tokens, len(student)), np.asarray(rewards, np.float64)
    if taken.shape != reward.shape or taken.ndim < 1 or taken.shape[-1] < 2:
        msg = f"found tokens of shape {taken.shape} and rewards of {reward.shape}, expected [..., G] twice, G >= 2"
        raise InvalidInputError(msg)
    if not np.isfinite(reward).all() or not (student[taken] > 0).all():
        msg = "found a reward that is no finite number or a token that the student never takes, expected neither"
        raise InvalidInputError(msg)
    # Group by group around its first reward: equal rewards then leave exactly 0, and not rounding to take for a signal.
    centred = reward - reward[..., :1]
    centred = centred - centred.mean(axis=-1, keepdims=True)
    chosen = taken[..., None] == np.arange(len(student))
    gradient = (centred[..., None] * chosen).mean(axis=-2)
    signal = np.divide(gradient, student, out=np.zeros_like(gradient), where=student > 0)
    return NodeGradient(signal, gradient)


def _one_sample(p: NDArray[np.float64], advantage: NDArray[np.float64], at: NDArray[np.bool_]) -> NodeGradient:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return softmax_gradient(p, np.where(at, advantage / p, 0.0))


def _raw_advantage(student_logp: ArrayLike, teacher_logp: ArrayLike) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return logprobs(teacher_logp, "teacher_logp") - logprobs(student_logp, "student_logp")


def _probabilities(p: ArrayLike) -> NDArray[np.float64]:
    student = float_vector(p, "p")
    if len(student) < 2 or not (student >= 0).all() or abs(student.sum() - 1) > 1e-6:
        msg = (
            f"found p of {len(student)} values that sum to {student.sum():.6g}, expected p_S on two or more tokens, "
            "renormalised: on_support(...).student_logp gives its logarithm"
        )
        raise InvalidInputError(msg)
    return student


def _places(tokens: ArrayLike, k: int) -> NDArray[np.int64]:
    places = np.asarray(tokens)
    if not np.issubdtype(places.dtype, np.integer) or not ((places >= 0) & (places < k)).all():
        msg = f"found tokens that are not all places of the support, expected whole numbers from 0 to {k - 1}"
        raise InvalidInputError(msg)
    return places.astype(np.int64)
