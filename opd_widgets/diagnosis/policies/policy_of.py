"""Policies for a question, from whatever speaks: a model, a teacher, a policy or a function of questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from opd_widgets.data.answers import KEY
from opd_widgets.data.question import Question
from opd_widgets.data.retokenise import render_ids
from opd_widgets.data.rollout import Rollout
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy import Policy
from opd_widgets.diagnosis.policies.served_policy import ServedPolicy
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.protocol import Model, TokenScorer, is_scorer
from opd_widgets.models.teacher import Teacher
from opd_widgets.models.tokenizer import first_unlike

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids

Speaker = Model | TokenScorer | Teacher | Policy | Callable[[Question], Policy]


def policy_of(who: Speaker, question: Question, student: Any = None) -> Policy:
    """Return somebody's policy on a question.

    Args:
        who: a model, which is asked the question by its own chat template; a teacher, which sees its context besides;
            a policy, which is used for every question; or a function of a question that returns one.
        question: what is asked.
        student: where `who` is a teacher, whose nodes it will be asked about. Where that is a model, its prompt is the
            one that the teacher's is made from, and its tokenizer has to be the teacher's. Where it is left out or is
            a policy, nothing is known of its tokenizer, and nothing is checked.

    Raises:
        InvalidInputError: none of these, or a teacher whose tokenizer means other tokens by its ids.
        ContextError: the teacher's context has nothing to say about this question.

    """
    if not isinstance(question, Question):
        msg = f"found a question of type {type(question).__name__}, expected opd.Question"
        raise InvalidInputError(msg)
    if isinstance(who, Teacher):
        return _speaking(who.model, _teacher_prompt(who, question, student))
    if _is_model(who):
        return _speaking(who, render_ids(question.messages, who.tokenizer, {}))
    if isinstance(who, Policy):
        return who
    if callable(who):
        made = who(question)
        if not isinstance(made, Policy):
            msg = f"found {type(made).__name__} for question {question.id!r}, expected the function to return a policy"
            raise InvalidInputError(msg)
        return made
    msg = (
        f"found {type(who).__name__}, expected a model such as opd.HFModel(path), an opd.Teacher, a policy, or a"
        " function of a question that returns one"
    )
    raise InvalidInputError(msg)


def _speaking(model: Any, prompt: Ids) -> Policy:
    return ServedPolicy(model, prompt) if is_scorer(model) else ModelPolicy(model, prompt)


def _is_model(who: object) -> TypeGuard[Model | TokenScorer]:
    return is_scorer(who) or isinstance(who, Model)


def _teacher_prompt(teacher: Teacher, question: Question, student: Any) -> Ids:
    """Return what a teacher sees before the student's response."""
    own = student.tokenizer if _is_model(student) else None
    if own is not None:
        unlike = first_unlike(own, teacher.model.tokenizer)
        if unlike is not None:
            token, mine, theirs = unlike
            msg = (
                f"the teacher {teacher.model.name!r} has another tokenizer than the student {student.name!r}: id"
                f" {token} is {theirs!r} there and {mine!r} here. Candidates at a node are token ids, so a diagnosis"
                " needs teachers of the student's tokenizer; opd.score compares others by their text"
            )
            raise InvalidInputError(msg)
    asked = Rollout(
        id=question.id,
        prompt_ids=None if own is None else render_ids(question.messages, own, {}),
        response_ids=np.zeros(0, np.int32),
        messages=question.messages,
        question=question.id,
        metadata={} if question.answer is None else {KEY: question.answer},
    )
    return teacher.prompt(asked, student=own).ids
