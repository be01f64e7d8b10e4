"""Advantages along whole rollouts: what the MiniLLM row needs, and what it costs to have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy import Policy, rows_of
from opd_widgets.diagnosis.policies.served_policy import ServedPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.drawn import Drawn

BLOCK_BYTES = 2**26  # of float64 rows [n, V] held at a time
PREFIXES = 4096  # prefixes whose hidden states are held at a time


def advantages_along(
    student: Policy,
    teachers: Mapping[str, Policy],
    rollouts: Sequence[Drawn],
    checkpoint: Callable[[], None] = lambda: None,
) -> list[NDArray[np.float64]]:
    """Return log p_teacher - log p_student of every token of every rollout, float64 [T, R] each, nats.

    Student and teachers read each distinct response once, whole.

    Args:
        student: whose rollouts these are.
        teachers: by name.
        rollouts: of one question.
        checkpoint: called between readings; raises to stop.

    """
    distinct = list({drawn.ids.tobytes(): drawn.ids for drawn in rollouts}.values())
    own, *theirs = [track(policy, distinct, checkpoint) for policy in (student, *teachers.values())]
    found: dict[bytes, NDArray[np.float64]] = {}
    for row, ids in enumerate(distinct):
        said = np.array([track[row] for track in theirs]).reshape(len(theirs), len(ids))
        with np.errstate(invalid="ignore"):
            found[ids.tobytes()] = said - own[row]
    return [found[drawn.ids.tobytes()] for drawn in rollouts]


def track(
    policy: Policy, responses: Sequence[NDArray[np.int32]], checkpoint: Callable[[], None]
) -> list[NDArray[np.float64]]:
    """Return a policy's log-probability of every token of each response, float64 [R] each, nats."""
    if isinstance(policy, ServedPolicy) and not policy.full_vocabulary:
        whole = [np.concatenate([policy.prompt, ids]) for ids in responses]
        said = policy.model.token_logprobs(whole, [len(policy.prompt)] * len(whole), 1, checkpoint=checkpoint)
        return [one.logprob.astype(np.float64) for one in said]
    tracks = []
    for some in _groups(responses):
        checkpoint()
        prefixes = [ids[:depth] for ids in some for depth in range(len(ids))]
        tokens = np.concatenate([np.zeros(0, np.int64), *some]).astype(np.int64)
        logp = (
            policy.logprobs_of(prefixes, tokens) if isinstance(policy, ModelPolicy) else _of(policy, prefixes, tokens)
        )
        tracks += np.split(logp, np.cumsum([len(ids) for ids in some])[:-1])
    return tracks


def _of(policy: Policy, prefixes: Sequence[NDArray[np.int32]], tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log-probability of one token after each of n prefixes, float64 [n]."""
    logp, done = np.empty(len(tokens)), 0
    for rows in rows_of(policy, prefixes, max(1, BLOCK_BYTES // (8 * policy.vocab_size))):
        here = tokens[done : done + len(rows)]
        logp[done : done + len(rows)] = rows[np.arange(len(rows)), here]
        done += len(rows)
    return logp


def _groups(responses: Sequence[NDArray[np.int32]]) -> list[list[NDArray[np.int32]]]:
    groups: list[list[NDArray[np.int32]]] = [[]]
    held = 0
    for ids in responses:
        if held and held + len(ids) > PREFIXES:
            groups.append([])
            held = 0
        groups[-1].append(ids)
        held += len(ids)
    return groups if responses else []
