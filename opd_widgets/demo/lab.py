"""The bundled lab: a student, teachers, questions, rollouts and a verifier, all real, all offline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opd_widgets.data.question import Question
from opd_widgets.demo import arithmetic
from opd_widgets.errors import InvalidInputError, MissingDependencyError
from opd_widgets.models import contexts
from opd_widgets.models.generated import response_text
from opd_widgets.models.protocol import Sampling
from opd_widgets.models.teacher import Teacher
from opd_widgets.scoring.sample import sample_rollouts

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.hf import HFModel

MODELS = Path(__file__).parent / "models"
MAX_NEW_TOKENS = 64  # the longest working has 28
_TRIES = 4  # samples of a larger model's solution before the reference one stands in


@dataclass(frozen=True, eq=False)
class Lab:
    """Everything a first look needs.

    Args:
        student: the model whose rollouts these are.
        teachers: by name, external ones first.
        questions: what was asked, with answers, and a correct and a wrong solution each.
        rollouts: drawn from the student at temperature 1, judged by the verifier.
        verifier: (question, response text) -> whether the final answer is right.

    """

    student: HFModel
    teachers: Mapping[str, Teacher]
    questions: tuple[Question, ...]
    rollouts: tuple[Rollout, ...]
    verifier: Callable[[Question, str], bool]


def arithmetic_lab(questions: int = 24, rollouts: int = 4, seed: int = 0) -> Lab:
    """Return the arithmetic lab: models of 0.3 to 0.6 million parameters, trained by `opd_widgets.demo.train`.

    Args:
        questions: how many, all of them held out from training.
        rollouts: how many a question.
        seed: of the choice of questions and of the sampling.

    Raises:
        InvalidInputError: fewer than one question or rollout.
        MissingDependencyError: the weights are not there.

    """
    if questions < 1 or rollouts < 1:
        msg = f"found questions={questions} and rollouts={rollouts}, expected at least 1 of each"
        raise InvalidInputError(msg)
    student, teacher, other = (_model(name) for name in ("student", "teacher", "other_style"))
    problems = arithmetic.problems(questions, "held_out", seed)
    asked = tuple(_question(problem, seed) for problem in problems)
    drawn = sample_rollouts(asked, student, n=rollouts, max_new_tokens=MAX_NEW_TOKENS, seed=seed, verifier=verify)
    external = {
        "Teacher": Teacher(teacher, description="0.5M parameters, the student's own style of working"),
        "Other style": Teacher(other, description="as accurate as Teacher, works from right to left"),
    }
    written = _written_by(other, asked, seed)
    return Lab(student, {**external, **_self_teachers(student, asked, written)}, asked, tuple(drawn), verify)


def verify(question: Question, text: str) -> bool:
    """Return whether a response's final answer is the question's."""
    return arithmetic.verify(question.answer or "", text)


def _model(name: str) -> HFModel:
    from opd_widgets.models.hf import HFModel

    folder = MODELS / name
    if not folder.exists():
        msg = f"the lab's model {name!r} is missing from the package; train it with `python -m opd_widgets.demo.train`"
        raise MissingDependencyError(msg)
    return HFModel(folder, device="cpu", dtype="float32", name=f"lab-{name.replace('_', '-')}")


def _question(problem: arithmetic.Problem, seed: int) -> Question:
    return Question(
        problem.expression,
        problem.question,  # type: ignore[arg-type]  # a string becomes one user turn
        answer=problem.answer,
        solution=problem.solution(),
        wrong_solution=problem.wrong_solution(seed),
    )


def _written_by(model: HFModel, questions: Sequence[Question], seed: int) -> dict[str, str]:
    """Return a correct solution of every question as a larger model writes it."""
    prompts = [model.tokenizer.encode(model.tokenizer.render(question.messages, {})) for question in questions]
    drawn = model.generate(prompts, n=_TRIES, max_new_tokens=MAX_NEW_TOKENS, seed=seed, sampling=Sampling())
    written = {}
    for question, generations in zip(questions, drawn, strict=True):
        texts = [response_text(generation.ids, model) for generation in generations]
        right = [arithmetic.solution_of(text) for text in texts if verify(question, text)]
        written[question.id] = right[0] if right else question.solution or ""
    return written


def _self_teachers(student: HFModel, questions: Sequence[Question], written: Mapping[str, str]) -> dict[str, Teacher]:
    """Return the student under the five context kinds of arXiv 2605.10889, and under the answer alone.

    The wording is what the student was trained on: one line in a system turn.
    """
    right = {question.id: question.solution or "" for question in questions}
    wrong = {question.id: question.wrong_solution or "" for question in questions}
    short_right = {key: arithmetic.summarise(text) for key, text in right.items()}
    short_wrong = {key: arithmetic.summarise(text) for key, text in wrong.items()}
    answers = {question.id: question.answer or "" for question in questions}
    one, both = arithmetic.one_correct("{correct}"), arithmetic.one_correct_one_wrong("{correct}", "{wrong}")
    made = {
        "Self-1C": contexts.one_correct(right, template=one, placement="system"),
        "Self-Sum-1C": contexts.summary(short_right, template=one, placement="system"),
        "Self-1C1W": contexts.one_correct_one_wrong(right, wrong, template=both, placement="system"),
        "Self-Sum-1C1W": contexts.summary_one_correct_one_wrong(
            short_right, short_wrong, template=both, placement="system"
        ),
        "Self-1C (other)": contexts.one_correct(
            written, author="the other-style model", template=one, placement="system"
        ),
        "Self-answer": contexts.answer(answers, template=arithmetic.answer_hint("{answer}"), placement="system"),
    }
    return {name: Teacher(student, context) for name, context in made.items()}
