"""The initial rollouts of a diagnosis as records that everything else takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opd_widgets.data.answers import KEY
from opd_widgets.data.rollout import Outcome, Rollout
from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.evidence import Evidence

_OUTCOMES: Mapping[int, Outcome] = {CORRECT: "correct", INCORRECT: "incorrect"}


def initial_rollouts(evidence: Iterable[Evidence], about: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollouts that were drawn from the prompt on, question by question.

    An id is "question/index", the index in the question's evidence: views of a diagnosis name rollouts so. Prompt and
    answer are those that the diagnosis was asked with, where `about["questions"]` has them.
    """
    asked = about.get("questions", {})
    return [
        _rollout(one.question, index, drawn, asked.get(one.question, {}))
        for one in evidence
        for index, drawn in enumerate(one.rollouts)
        if drawn.start == 0
    ]


def _rollout(question: str, index: int, drawn: Drawn, asked: Mapping[str, Any]) -> Rollout:
    return Rollout(
        id=f"{question}/{index}",
        response_ids=drawn.ids,
        messages=asked.get("messages"),
        response_text=None,
        question=question,
        outcome=_OUTCOMES.get(drawn.outcome, "unverified"),
        status="truncated" if drawn.truncated else "stop",
        metadata={KEY: asked["answer"]} if asked.get("answer") is not None else {},
    )
