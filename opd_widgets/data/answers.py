"""The right answer to a rollout's question, where it is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opd_widgets.data.question import Question
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError

KEY = "answer"  # in a rollout's metadata; this package's own samples carry it
# what the formats that are read call it: verifiers and open-instruct, verl, slime, lm-eval and Inspect
_KEYS = (KEY, "ground_truth", "gts", "label", "target")


def answer_of(rollout: Rollout) -> str | None:
    """Return the right answer as the rollout's metadata have it; None where they name none, or more than one."""
    for key in _KEYS:
        found = rollout.metadata.get(key)
        if isinstance(found, list | tuple) and len(found) == 1:
            found = found[0]
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            continue
        if str(found).strip():
            return str(found)
    return None


def with_answers(rollouts: Sequence[Rollout], answers: Mapping[str, str] | Iterable[Question]) -> list[Rollout]:
    """Return the rollouts with the right answer to their question in the metadata, under "answer".

    Args:
        rollouts: of any source; one whose question has no answer here stays as it is.
        answers: by question id, or questions that have one.

    Raises:
        InvalidInputError: answers that are no text, or for none of these rollouts' questions.

    """
    by_id: dict[str, Any] = (
        dict(answers)
        if isinstance(answers, Mapping)
        else {question.id: question.answer for question in answers if question.answer is not None}
    )
    for question, answer in by_id.items():
        if not isinstance(answer, str):
            msg = f"found the answer to question {question!r} of type {type(answer).__name__}, expected a string"
            raise InvalidInputError(msg)
    asked = {rollout.question for rollout in rollouts}
    if rollouts and not asked & by_id.keys():
        msg = (
            f"found answers to {_some(by_id)} and rollouts of {_some(asked)}, expected answers to questions that the "
            "rollouts name"
        )
        raise InvalidInputError(msg)
    return [
        replace(rollout, metadata={**rollout.metadata, KEY: by_id[rollout.question]})
        if rollout.question in by_id
        else rollout
        for rollout in rollouts
    ]


def _some(ids: Iterable[str]) -> str:
    shown = [repr(name) for name in list(ids)[:3]]
    return "questions " + ", ".join(shown) if shown else "no question"
