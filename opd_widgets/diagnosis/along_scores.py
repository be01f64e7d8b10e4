"""The alignment at a diagnosis's nodes, along rollouts that were scored token by token."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.tables.quantiles import quantiles
from opd_widgets.diagnosis.tables.verdict import COUNTED, verdicts
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scores import RolloutScores, Scores
    from opd_widgets.diagnosis.nodes import Nodes
    from opd_widgets.diagnosis.reading import Reading

SIGNAL = "alignment"
NO_NODE = -1


def along_scores(readings: Sequence[Reading], teachers: Sequence[str], scores: Scores) -> Scores:
    """Return scores with the signal `alignment`: the posterior median at each token where a rollout takes a node.

    A token belongs to a node where the rollout's tokens before it are the node's prefix and both are of one question.
    It is NaN at all other tokens, and at nodes without an alignment to average. Teachers are matched by name; those
    that the diagnosis does not have get no such signal.

    Args:
        readings: of the diagnosis.
        teachers: its teachers.
        scores: of rollouts of the same student; `result.rollouts()` or any others of these questions.

    Raises:
        InvalidInputError: no teacher in common, or no token of the rollouts is at a node.

    """
    shared = [name for name in teachers if name in scores.teachers]
    if not shared:
        msg = (
            f"found scores under {list(scores.teachers)} and a diagnosis of {list(teachers)}, expected a teacher of "
            "one name in both"
        )
        raise InvalidInputError(msg)
    known = {one.evidence.question: one for one in readings}
    medians = {name: _medians(one) for name, one in known.items()}
    items, met = [], 0
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        reading = known.get(rollout.question)
        at = np.full(len(rollout), NO_NODE, np.int32)
        if reading is not None and rollout.response_ids is not None:
            at = nodes_along(reading.evidence.nodes, [rollout.response_ids])[0]
        met += int((at != NO_NODE).sum())
        items.append(_with_alignment(item, at, medians.get(rollout.question), teachers, shared))
    if not met:
        raise InvalidInputError(_nothing(scores.rollouts, list(known)))
    return replace(scores, items=tuple(items))


def nodes_along(nodes: Nodes, responses: Sequence[NDArray[np.integer]]) -> list[NDArray[np.int32]]:
    """Return the node at each token of some responses, int32 [R] each; -1 where there is none.

    A node stands at the token that the response took there: the tokens before it are the node's prefix.
    """
    found = [np.full(len(ids), NO_NODE, np.int32) for ids in responses]
    keys = sorted((_key(ids), index) for index, ids in enumerate(responses))
    for node, prefix in enumerate(nodes.prefixes):
        start = _key(prefix)
        for place in range(bisect_left(keys, (start, -1)), len(keys)):
            key, index = keys[place]
            if not key.startswith(start):
                break
            if len(prefix) < len(found[index]):
                found[index][len(prefix)] = node
    return found


def _key(ids: Sequence[int] | NDArray[np.integer]) -> bytes:
    """Return ids as bytes whose order is the order of the ids."""
    return np.asarray(ids).astype(">u4").tobytes()


def _medians(reading: Reading) -> NDArray[np.float32]:
    """Return the alignment of every node and teacher, [M, T], as `Diagnosis.nodes` has it."""
    middle = quantiles(reading.draws, (0.5,))[0]
    return np.where(verdicts(reading) == COUNTED, middle, np.nan).astype(np.float32)


def _with_alignment(
    item: RolloutScores,
    at: NDArray[np.int32],
    medians: NDArray[np.float32] | None,
    teachers: Sequence[str],
    shared: Sequence[str],
) -> RolloutScores:
    theirs = dict(item.teachers)
    taken = at != NO_NODE
    for name in shared:
        values = np.full(len(at), np.nan, np.float32)
        if medians is not None:
            values[taken] = medians[at[taken], teachers.index(name)]
        theirs[name] = replace(theirs[name], signals={**theirs[name].signals, SIGNAL: values})
    return replace(item, teachers=theirs)


def _nothing(rollouts: Sequence[Rollout], questions: Sequence[str]) -> str:
    found = sorted({rollout.question for rollout in rollouts})
    if not set(found) & set(questions):
        return (
            f"found rollouts of questions {found[:5]} and a diagnosis of {questions[:5]}, expected rollouts of its "
            "questions under the same ids, such as result.rollouts()"
        )
    return (
        "found no rollout that passes a node of its question, expected responses of the same student and tokenizer, "
        "such as result.rollouts()"
    )
