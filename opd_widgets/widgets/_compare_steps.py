"""Several checkpoints' scores of the same rollouts, in the shape the front end takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scores import Scores
from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets._traits import planes
from opd_widgets.widgets.wire.buffers import floats
from opd_widgets.widgets.wire.scale import signal_rows

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout

NO_STEPS: dict[str, Any] = {"generation": 0, "first": None, "others": [], "limits": {}}


def by_step(scores: object) -> dict[int, Scores]:
    """Return scores by ascending step, or nothing for scores of one checkpoint.

    Raises:
        InvalidInputError: a step that is no whole number, something that is no scores, or steps that did not score the
            same rollouts under the same teachers; the message names the first difference.

    """
    if not isinstance(scores, Mapping):
        return {}
    if not scores:
        msg = "found no steps, expected scores by step, such as opd.Compare({100: early, 200: late})"
        raise InvalidInputError(msg)
    for step in scores:
        if isinstance(step, bool) or not isinstance(step, int | np.integer):
            msg = f"found step {step!r}, expected whole numbers: opd.Compare({{100: early, 200: late}})"
            raise InvalidInputError(msg)
    found = {int(step): scores[step] for step in sorted(scores)}
    for step, held in found.items():
        if not isinstance(held, Scores):
            msg = f"found {type(held).__name__} at step {step}, expected opd.Scores as opd.score returns them"
            raise InvalidInputError(msg)
    first, *others = found
    for step in others:
        _check_same(found[first], found[step], f"steps {first} and {step}")
    return found


def wire_steps(steps: Mapping[int, Scores], generation: int) -> dict[str, Any]:
    """Return what the front end needs beside the `scores` of the first step.

    Args:
        steps: scores by ascending step, as `by_step` gives them.
        generation: which run of scores of the widget the first step's are; others are not laid over them.

    Returns:
        first: that step. others: by step, float32 [planes, N] in the order of the first's planes. limits: the end of
        each signal's scale over all steps, in its unit.

    """
    if len(steps) < 2:
        return {**NO_STEPS, "generation": generation, "first": next(iter(steps), None)}
    first, *others = steps
    return {
        "generation": generation,
        "first": first,
        "others": [{"step": step, "values": _values(steps[step])} for step in others],
        "limits": _limits(steps),
    }


def _values(scores: Scores) -> bytes:
    rows = [
        np.concatenate([(i.signals if who is None else i.teachers[who].signals)[name] for i in scores.items])
        for name, who in planes(scores)
    ]
    return floats(np.stack(rows) if rows else np.zeros(0))


def _limits(steps: Mapping[int, Scores]) -> dict[str, float]:
    """Return the widest of the steps' own ends: a scale fitted to all of them."""
    rows = [row for scores in steps.values() for row in signal_rows(scores) if row["available"]]
    found: dict[str, float] = {}
    for row in rows:
        found[row["name"]] = max(row["limit"], found.get(row["name"], 0.0))
    return found


def _check_same(one: Scores, other: Scores, which: str) -> None:
    """Refuse other rollouts, teachers or signals: values would be laid over tokens they do not belong to."""
    difference = _other_rollouts(one, other) or _other_planes(one, other)
    if difference:
        msg = (
            f"{which} are not of the same rollouts under the same teachers: {difference}. Expected the same rollouts "
            "in the same order; score them with each checkpoint: "
            "opd.score_to(rollouts, checkpoint, teachers, out, step=N)"
        )
        raise InvalidInputError(msg)


def _other_rollouts(one: Scores, other: Scores) -> str:
    for index, (a, b) in enumerate(zip(one.rollouts, other.rollouts, strict=False)):
        if a.id != b.id:
            return f"rollout {index} is {a.id!r} in one and {b.id!r} in the other"
        if difference := _other_ids(a, b):
            return f"rollout {a.id!r} {difference}"
    if len(one) != len(other):
        return f"{len(one)} rollouts in one and {len(other)} in the other"
    return ""


def _other_ids(a: Rollout, b: Rollout) -> str:
    """Return how two rollouts of one id differ; nothing where they do not. The first other token is named."""
    if len(a) != len(b):
        return f"has {len(a)} tokens in one and {len(b)} in the other"
    if a.response_ids is None or b.response_ids is None:
        same = (a.response_ids is b.response_ids) and a.tokens == b.tokens and a.response_text == b.response_text
        return "" if same else "has other text"
    others = np.flatnonzero(a.response_ids != b.response_ids)
    if others.size:
        at = int(others[0])
        return f"has token id {a.response_ids[at]} at position {at} in one and {b.response_ids[at]} in the other"
    if a.prompt_ids is None or b.prompt_ids is None or np.array_equal(a.prompt_ids, b.prompt_ids):
        return ""
    return "has another prompt"


def _other_planes(one: Scores, other: Scores) -> str:
    if list(one.teachers) != list(other.teachers):
        return f"the teachers are {list(one.teachers)} in one and {list(other.teachers)} in the other"
    mine, theirs = planes(one), planes(other)
    for name, teacher in sorted({*mine} ^ {*theirs}, key=str):
        return f"the signal {name!r} of {teacher or 'the student'!r} is there in one only"
    return ""
