"""Summaries of solutions, written by a model: what the Self-Sum contexts of arXiv 2605.10889 hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from opd_widgets.data.message import Message
from opd_widgets.data.question import Question
from opd_widgets.data.retokenise import render_ids
from opd_widgets.errors import ContextError, InvalidInputError, LengthLimitError
from opd_widgets.models.generated import response_text
from opd_widgets.models.protocol import Generation, Generator, Ids, Model, Sampling, is_scorer

SUMMARISE = (
    "Here is a solution to a problem:\n\n{solution}\n\nSummarise it in a few sentences: the idea and the main steps, "
    "without the details of the calculation. Write nothing but the summary."
)
GREEDY = Sampling(temperature=0.0)
_END_OF_THOUGHTS = "</think>"
_SHOWN = 3
Incomplete = Literal["raise", "leave_out"]


def summarise(
    solutions: Mapping[str, str] | Iterable[Question],
    model: Generator,
    *,
    template: str = SUMMARISE,
    max_new_tokens: int = 256,
    seed: int = 0,
    sampling: Sampling = GREEDY,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    incomplete: Incomplete = "raise",
    batch_rows: int = 32,
) -> dict[str, str]:
    """Have a model summarise one solution a question, for `contexts.summary` and `summary_one_correct_one_wrong`.

    What a model writes here is not checked for truth: read some before you rely on them. A model of a few million
    parameters writes none worth the name; the paper used Qwen3-32B.

    Args:
        solutions: by question id; or questions, whose own correct solutions are taken.
        model: who writes: any model that generates, local or served.
        template: what it is asked, with the solution in place of {solution}.
        max_new_tokens: a summary that is not finished by then is incomplete.
        seed: of the sampling; a greedy one needs none.
        sampling: how tokens are drawn; greedy by default.
        chat_template_kwargs: passed to the model's chat template (`enable_thinking=False`, say). A thinking block that
            it writes all the same is no part of the summary.
        incomplete: what to do where a summary was cut or is empty: "raise", or "leave_out" with a warning, so that
            such a question has none.
        batch_rows: how many are written together; a drawn summary depends on it.

    Returns:
        The summaries by question id, in the order given, without white space at either end.

    Raises:
        InvalidInputError: no solutions, a question without one, or arguments of the wrong kind.
        LengthLimitError: a prompt and `max_new_tokens` are more than the model takes. Nothing is written.
        ContextError: a summary was cut or is empty, and `incomplete` is "raise".

    Example:
        >>> short = opd.contexts.summarise(lab.questions, big)  # doctest: +SKIP
        >>> opd.Teacher(student, opd.contexts.summary(short))  # doctest: +SKIP

    """
    texts = _solutions(solutions)
    _check_arguments(model, template, incomplete, max_new_tokens, batch_rows)
    prompts = [
        render_ids([Message("user", template.replace("{solution}", text))], model.tokenizer, chat_template_kwargs or {})
        for text in texts.values()
    ]
    _check_room(list(texts), prompts, model, max_new_tokens)
    written: list[Generation] = []
    for start in range(0, len(prompts), batch_rows):
        some = prompts[start : start + batch_rows]
        drawn = model.generate(some, n=1, max_new_tokens=max_new_tokens, seed=seed + start, sampling=sampling)
        written += [one[0] for one in drawn]
    return _finished(dict(zip(texts, written, strict=True)), model, max_new_tokens, incomplete)


def _finished(written: Mapping[str, Generation], model: Generator, new: int, incomplete: Incomplete) -> dict[str, str]:
    """Return the summaries that are whole; say which are not."""
    found = {question: _without_thoughts(response_text(one.ids, model)) for question, one in written.items()}
    cut = [question for question, one in written.items() if not one.stopped]
    empty = [question for question, text in found.items() if not text and question not in cut]
    faults = []
    if cut:
        faults.append(f"{len(cut)} of {len(found)} summaries were cut at max_new_tokens={new} ({_some(cut)})")
    if empty:
        faults.append(f"{len(empty)} of {len(found)} summaries are empty ({_some(empty)})")
    if not faults:
        return found
    what = f"{model.name!r}: {'; '.join(faults)}"
    if incomplete == "raise":
        msg = (
            f"{what}. Expected whole summaries: allow more tokens, ask for fewer in template=, or take "
            "incomplete='leave_out' to go on without these"
        )
        raise ContextError(msg)
    warnings.warn(f"{what}; they are left out", stacklevel=3)
    return {question: text for question, text in found.items() if question not in {*cut, *empty}}


def _without_thoughts(text: str) -> str:
    return text.rpartition(_END_OF_THOUGHTS)[2].strip()


def _solutions(given: Any) -> dict[str, str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        msg = f"found solutions of type {type(given).__name__}, expected a mapping from question id, or questions"
        raise InvalidInputError(msg)
    found: dict[str, Any] = dict(given) if isinstance(given, Mapping) else dict(map(_own_solution, given))
    if not found:
        msg = "found no solutions, expected at least one to summarise"
        raise InvalidInputError(msg)
    for question, text in found.items():
        if not isinstance(text, str) or not text.strip():
            kind = "an empty one" if isinstance(text, str) else type(text).__name__
            msg = f"found {kind} as the solution of question {question!r}, expected a text to summarise"
            raise InvalidInputError(msg)
    return found


def _own_solution(question: object) -> tuple[str, str | None]:
    if not isinstance(question, Question):
        msg = f"found {type(question).__name__} among the questions, expected opd.Question"
        raise InvalidInputError(msg)
    return question.id, question.solution


def _check_arguments(model: object, template: object, incomplete: object, *sizes: object) -> None:
    if not is_scorer(model) and not isinstance(model, Model):
        msg = f"found {type(model).__name__} as the model, expected one that generates, such as opd.HFModel(path)"
        raise InvalidInputError(msg)
    if not isinstance(template, str) or "{solution}" not in template:
        msg = f"found template={template!r}, expected a text with {{solution}} where the solution goes"
        raise InvalidInputError(msg)
    if incomplete not in {"raise", "leave_out"}:
        msg = f"found incomplete={incomplete!r}, expected 'raise' or 'leave_out'"
        raise InvalidInputError(msg)
    for name, size in zip(("max_new_tokens", "batch_rows"), sizes, strict=True):
        if not isinstance(size, int) or size < 1:
            msg = f"found {name}={size!r}, expected a whole number of at least 1"
            raise InvalidInputError(msg)


def _check_room(questions: Sequence[str], prompts: Sequence[Ids], model: Generator, new: int) -> None:
    for question, prompt in zip(questions, prompts, strict=True):
        if model.limit is not None and len(prompt) + new > model.limit:
            msg = (
                f"{model.name!r} takes {model.limit} tokens and the summary of question {question!r} needs "
                f"{len(prompt) + new}: a prompt of {len(prompt)}, and max_new_tokens={new}. Nothing is cut. Ask for "
                "fewer new tokens, or choose a longer model"
            )
            raise LengthLimitError(msg)


def _some(questions: Sequence[str]) -> str:
    return ", ".join(map(repr, questions[:_SHOWN])) + (", ..." if len(questions) > _SHOWN else "")
