"""Rollouts drawn from the student: on-policy, and saying so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opd_widgets.data.question import Question
from opd_widgets.data.rollout import Outcome, Rollout
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.protocol import Generation, Ids, Model, Sampling
from opd_widgets.models.teacher import render_ids

Verifier = Callable[[Question, str], bool]


def sample_rollouts(
    questions: Sequence[Question],
    student: Model,
    *,
    n: int = 4,
    max_new_tokens: int = 512,
    seed: int = 0,
    verifier: Verifier | None = None,
    sampling: Sampling | None = None,
    batch_rows: int = 256,
) -> list[Rollout]:
    """Draw n rollouts a question at temperature 1, top_p 1, without top_k, min_p or penalties.

    Args:
        questions: what is asked.
        student: who answers.
        n: rollouts a question.
        max_new_tokens: a response this long is cut and marked "truncated".
        seed: the same seed draws the same rollouts on one machine and batch plan.
        verifier: judges (question, response text); where it raises, the rollout is "unverified".
        sampling: other settings; the rollouts are then not the student's own distribution.
        batch_rows: responses drawn together.

    Raises:
        InvalidInputError: no questions.

    """
    if not questions:
        msg = "found no questions, expected at least one opd.Question"
        raise InvalidInputError(msg)
    prompts = [render_ids(question.messages, student.tokenizer, {}) for question in questions]
    rollouts: list[Rollout] = []
    per_batch = max(1, batch_rows // n)
    for start in range(0, len(questions), per_batch):
        some, their = questions[start : start + per_batch], prompts[start : start + per_batch]
        drawn = student.generate(their, n=n, max_new_tokens=max_new_tokens, seed=seed + start, sampling=sampling)
        for question, prompt, generations in zip(some, their, drawn, strict=True):
            rollouts += [_rollout(question, i, prompt, g, student, verifier) for i, g in enumerate(generations)]
    return rollouts


def _rollout(  # noqa: PLR0917 - private, called once
    question: Question, index: int, prompt: Ids, drawn: Generation, student: Model, verifier: Verifier | None
) -> Rollout:
    text = response_text(drawn.ids, student)
    return Rollout(
        id=f"{question.id}/{index}",
        prompt_ids=prompt,
        response_ids=drawn.ids,
        messages=question.messages,
        response_text=text,
        question=question.id,
        outcome=judge(question, text, verifier),
        status="stop" if drawn.stopped else "truncated",
    )


def response_text(response: Ids, student: Model) -> str:
    """Return a response's text without the token that ended it."""
    ids = response[:-1] if len(response) and int(response[-1]) in student.tokenizer.end_ids else response
    return student.tokenizer.decode(ids)


def judge(question: Question, text: str, verifier: Verifier | None) -> Outcome:
    """Return what a verifier makes of a response; one that raises never counts as wrong."""
    if verifier is None:
        return "unknown"
    try:
        return "correct" if verifier(question, text) else "incorrect"
    except Exception:  # noqa: BLE001 - any verifier's any fault means the same: it could not say
        return "unverified"
