"""Rollouts drawn from the student: on-policy, and saying so."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from opd_widgets.data.answers import KEY
from opd_widgets.data.question import Question
from opd_widgets.data.retokenise import render_ids
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.models.generated import response_text
from opd_widgets.models.protocol import Generation, Generator, Ids, Model, Sampling, is_scorer
from opd_widgets.scoring.judging import Judge, Verifier

DEFAULT_NEW_TOKENS = 512


def sample_rollouts(
    questions: Sequence[Question],
    student: Generator,
    *,
    n: int = 4,
    max_new_tokens: int | None = None,
    seed: int = 0,
    verifier: Verifier | None = None,
    sampling: Sampling | None = None,
    batch_rows: int = 256,
) -> list[Rollout]:
    """Draw n rollouts a question at temperature 1, top_p 1, without top_k, min_p or penalties.

    Questions are drawn in batches of `batch_rows // n`, each from a generator of its own, seeded by `seed` and the id
    of the batch's first question. The draws are therefore the same where all of these are: the model and machine, the
    questions and their order, `n`, `batch_rows`, `max_new_tokens`, `sampling` and `seed`. Other batches or another seed
    draw independently.

    A question's answer, where it has one, goes into its rollouts' metadata as "answer".

    Args:
        questions: what is asked; no two of one id.
        student: who answers.
        n: rollouts a question.
        max_new_tokens: a response this long is cut and marked "truncated"; by default 512, or what the student has room
            for after the longest prompt.
        seed: any whole number.
        verifier: judges (question, response text); where it raises, or says neither, the rollout is "unverified".
            Where it does so every time, a warning says why.
        sampling: other settings; the rollouts are then not the student's own distribution, and carry the settings in
            their metadata as "sampling".
        batch_rows: responses drawn together.

    Raises:
        InvalidInputError: no questions, two of one id, sizes below 1, or arguments of the wrong kind.
        LengthLimitError: a prompt and `max_new_tokens` are more than the student takes. Nothing is drawn.

    """
    questions = checked_questions(questions)
    asked = DEFAULT_NEW_TOKENS if max_new_tokens is None else max_new_tokens
    _check_arguments(student, verifier, sampling, {"n": n, "max_new_tokens": asked, "batch_rows": batch_rows})
    prompts = [render_ids(question.messages, student.tokenizer, {}) for question in questions]
    if max_new_tokens is None and student.limit is not None:
        asked = max(1, min(asked, student.limit - max(map(len, prompts))))
    _check_room(questions, prompts, student, asked)
    judge = None if verifier is None else Judge(verifier)
    settings = {} if sampling is None or sampling == Sampling() else {"sampling": asdict(sampling)}
    rollouts: list[Rollout] = []
    per_batch = max(1, batch_rows // n)
    for start in range(0, len(questions), per_batch):
        some, their = questions[start : start + per_batch], prompts[start : start + per_batch]
        drawn = student.generate(their, n=n, max_new_tokens=asked, seed=batch_seed(seed, some[0].id), sampling=sampling)
        for question, prompt, generations in zip(some, their, drawn, strict=True):
            for index, generation in enumerate(generations):
                rollout = _rollout(question, index, prompt, generation, student, settings)
                if judge is not None:
                    rollout = rollout.with_outcome(judge.judge(question, rollout.response_text or "").outcome)
                rollouts.append(rollout)
    if judge is not None:
        judge.warn_if_mute()
    return rollouts


def batch_seed(seed: int, question: str) -> int:
    """Return the seed of the batch that a question opens: unlike for unlike seeds and questions, below 2^63.

    Raises:
        InvalidInputError: a seed that is not a whole number.

    """
    if not isinstance(seed, int | np.integer):
        msg = f"found seed={seed!r}, expected a whole number"
        raise InvalidInputError(msg)
    key = f"{int(seed)}\0{question}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") >> 1


def checked_questions(questions: Any) -> list[Question]:
    """Return questions as a list.

    Raises:
        InvalidInputError: none, something else among them, or two of one id.

    """
    found = list(questions) if isinstance(questions, Iterable) else [questions]
    for index, question in enumerate(found):
        if not isinstance(question, Question):
            msg = f"question {index} is of type {type(question).__name__}, expected opd.Question"
            raise InvalidInputError(msg)
    if not found:
        msg = "found no questions, expected at least one opd.Question"
        raise InvalidInputError(msg)
    name, times = Counter(question.id for question in found).most_common(1)[0]
    if times > 1:
        msg = (
            f"found {times} questions of id {name!r}, expected an id of its own for each: rollouts point back to their "
            "question by it. For more rollouts of one question, give n="
        )
        raise InvalidInputError(msg)
    return found


def _check_arguments(student: object, verifier: object, sampling: object, sizes: Mapping[str, object]) -> None:
    if not is_scorer(student) and not isinstance(student, Model):
        msg = f"found {type(student).__name__}, expected a Model such as opd.HFModel(path) as the student"
        raise InvalidInputError(msg)
    if verifier is not None and not callable(verifier):
        msg = f"found a verifier of type {type(verifier).__name__}, expected a function of (question, response text)"
        raise InvalidInputError(msg)
    if sampling is not None and not isinstance(sampling, Sampling):
        msg = f"found sampling of type {type(sampling).__name__}, expected opd.Sampling(temperature=..., ...)"
        raise InvalidInputError(msg)
    for name, value in sizes.items():
        if not isinstance(value, int | np.integer) or value < 1:
            msg = f"found {name}={value!r}, expected a whole number of at least 1"
            raise InvalidInputError(msg)


def _check_room(questions: Sequence[Question], prompts: Sequence[Ids], student: Generator, new: int) -> None:
    for question, prompt in zip(questions, prompts, strict=True):
        if student.limit is not None and len(prompt) + new > student.limit:
            room = student.limit - len(prompt)
            way = f"Ask for at most {room} new tokens" if room > 0 else "The prompt alone leaves no room: shorten it"
            msg = (
                f"{student.name!r} takes {student.limit} tokens and question {question.id!r} needs {len(prompt) + new}:"
                f" a prompt of {len(prompt)}, and max_new_tokens={new}. Nothing is cut. {way}, or choose a longer model"
            )
            raise LengthLimitError(msg)


def _rollout(  # noqa: PLR0917 - private, called once
    question: Question, index: int, prompt: Ids, drawn: Generation, student: Generator, settings: Mapping[str, Any]
) -> Rollout:
    answer = {} if question.answer is None else {KEY: question.answer}
    return Rollout(
        id=f"{question.id}/{index}",
        prompt_ids=prompt,
        response_ids=drawn.ids,
        messages=question.messages,
        response_text=response_text(drawn.ids, student),
        question=question.id,
        status="stop" if drawn.stopped else "truncated",
        metadata={**settings, **answer},
    )
