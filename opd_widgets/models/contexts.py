"""Privileged contexts: what a self-distillation teacher sees and the student does not.

The five kinds of *Unmasking On-Policy Distillation* (arXiv 2605.10889), a hint, the answer only, a system prompt and
free text. A context's texts may differ from question to question: give a string for all of them, a mapping from
question id, or a function of the rollout. `summarise` has a model write the summaries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from opd_widgets.data.message import Message
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ContextError
from opd_widgets.models.summarise import summarise

__all__ = [
    "Context",
    "Placement",
    "Source",
    "answer",
    "free_text",
    "hint",
    "one_correct",
    "one_correct_one_wrong",
    "summarise",
    "summary",
    "summary_one_correct_one_wrong",
    "system_prompt",
]

Source = str | Mapping[str, str] | Callable[[Rollout], str]
Placement = Literal["user", "system", "system_turn"]

_OWN_WORDS = "With it in mind, solve the problem in your own words."
_OWN_WORDS_BOTH = "With both in mind, solve the problem in your own words."
CORRECT = f"Here is a correct solution to this problem:\n{{correct}}\n\n{_OWN_WORDS}"
SUMMARY = f"Here is a summary of a correct solution to this problem:\n{{correct}}\n\n{_OWN_WORDS}"
CONTRAST = (
    "Here is a correct solution to this problem:\n{correct}\n\n"
    f"Here is an incorrect one; do not imitate it:\n{{wrong}}\n\n{_OWN_WORDS_BOTH}"
)
HINT = f"Here is a hint for this problem:\n{{hint}}\n\n{_OWN_WORDS}"
SUMMARY_CONTRAST = (
    "Here is a summary of a correct solution to this problem:\n{correct}\n\n"
    f"Here is a summary of an incorrect one; do not imitate it:\n{{wrong}}\n\n{_OWN_WORDS_BOTH}"
)


@dataclass(frozen=True)
class Context:
    """What a teacher is told beside the question.

    Args:
        kind: a short name ("one_correct", "free_text", ...).
        template: the wording around the parts, which stand in it as {name}.
        parts: by name, a text for all questions, a mapping from question id, or a function of the rollout.
        placement: "user" puts the text after the question in the same turn; "system" at the end of the system turn, or
            in one of its own before the others where there is none; "system_turn" in one of its own, after a system
            turn that is there.
        description: one line for people.

    Raises:
        ContextError: a part or the template is of another kind, or an unknown placement.

    """

    kind: str
    template: str
    parts: tuple[tuple[str, Source], ...]
    placement: Placement = "user"
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot become text, before a model is asked."""
        if not isinstance(self.template, str):
            msg = f"found a context's template of type {type(self.template).__name__}, expected a string"
            raise ContextError(msg)
        if self.placement not in get_args(Placement):
            msg = f"found placement={self.placement!r}, expected one of {', '.join(map(repr, get_args(Placement)))}"
            raise ContextError(msg)
        for name, source in self.parts:
            if not isinstance(source, str | Mapping) and not callable(source):
                msg = (
                    f"found the context's {name} of type {type(source).__name__}, expected a string, a mapping from "
                    "question id to string, or a function of the rollout"
                )
                raise ContextError(msg)

    def text_for(self, rollout: Rollout) -> str:
        """Return the whole privileged text for one rollout.

        Raises:
            ContextError: a part has no text for this rollout's question, or its function failed.

        """
        texts = {"{" + name + "}": _resolve(name, source, rollout) for name, source in self.parts}
        for name, source in texts.items():
            if not source.strip() and self.template.strip() != name:
                msg = (
                    f"the context's {name[1:-1]} is empty for rollout {rollout.id!r} of question {rollout.question!r}, "
                    "and its wording would stand around nothing; give a text, or use the teacher without a context"
                )
                raise ContextError(msg)
        if not texts:
            return self.template
        places = "|".join(map(re.escape, texts))  # all at once: braces inside a part are that part's own text
        return re.sub(places, lambda found: texts[found[0]], self.template)

    def answer_for(self, rollout: Rollout) -> str | None:
        """Return the answer this context itself is told of a rollout's question; None for one that is told none.

        Raises:
            ContextError: it has no answer for this question, or its function failed.

        """
        source = dict(self.parts).get("answer")
        return None if source is None else _resolve("answer", source, rollout)

    def insert(self, text: str, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return the turns with `text` in its place; with no text, the turns as they are."""
        if not text:
            return messages
        if self.placement == "system":
            return _in_system_turn(text, messages)
        if self.placement == "system_turn":
            first = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
            return (*messages[:first], Message("system", text), *messages[first:])
        last = max((i for i, m in enumerate(messages) if m.role == "user"), default=None)
        if last is None:
            return (*messages, Message("user", text))
        turn = Message("user", f"{messages[last].content}\n\n{text}")
        return (*messages[:last], turn, *messages[last + 1 :])


def _in_system_turn(text: str, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    if messages and messages[0].role == "system":
        return (Message("system", f"{messages[0].content}\n\n{text}"), *messages[1:])
    return (Message("system", text), *messages)


def _resolve(name: str, source: Source, rollout: Rollout) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, Mapping):
        if rollout.question not in source:
            known = ", ".join(list(map(repr, source))[:3])
            msg = (
                f"the context has no {name} text for question {rollout.question!r} "
                f"(it has {len(source)}: {known}, ...). Give one for every question, or a function of the rollout"
            )
            raise ContextError(msg)
        return _text(f"{name} mapping holds", source[rollout.question], rollout)
    try:
        text = source(rollout)
    except Exception as error:
        msg = f"the context's {name} function failed for rollout {rollout.id!r}: {type(error).__name__}: {error}"
        raise ContextError(msg) from error
    return _text(f"{name} function returned", text, rollout)


def _text(what: str, text: Any, rollout: Rollout) -> str:
    if not isinstance(text, str):
        where = f"rollout {rollout.id!r} of question {rollout.question!r}"
        msg = f"the context's {what} {type(text).__name__} for {where}, expected a string"
        raise ContextError(msg)
    return text


def one_correct(
    solution: Source, *, author: str = "", template: str = CORRECT, placement: Placement = "user"
) -> Context:
    """Return a context with one correct worked solution: Self-1C, or Self-1C (32B) with another `author`."""
    kind = "one_correct_by_author" if author else "one_correct"
    by = f" by {author}" if author else ""
    return Context(kind, template, (("correct", solution),), placement, f"sees a correct solution{by}")


def summary(summary: Source, *, template: str = SUMMARY, placement: Placement = "user") -> Context:
    """Return a context with a summary of a correct solution: Self-Sum-1C."""
    return Context("summary", template, (("correct", summary),), placement, "sees a summary of a correct solution")


def one_correct_one_wrong(
    correct: Source, wrong: Source, *, template: str = CONTRAST, placement: Placement = "user"
) -> Context:
    """Return a context with a correct solution and one marked as wrong: Self-1C1W."""
    parts = (("correct", correct), ("wrong", wrong))
    return Context("one_correct_one_wrong", template, parts, placement, "sees a correct and a wrong solution")


def summary_one_correct_one_wrong(
    correct: Source, wrong: Source, *, template: str = SUMMARY_CONTRAST, placement: Placement = "user"
) -> Context:
    """Return a context with summaries of a correct and of a wrong solution: Self-Sum-1C1W."""
    parts = (("correct", correct), ("wrong", wrong))
    return Context(
        "summary_one_correct_one_wrong", template, parts, placement, "sees summaries of a correct and a wrong solution"
    )


def answer(answer: Source, *, template: str = "The answer is {answer}.", placement: Placement = "user") -> Context:
    """Return a context with the final answer and no working."""
    return Context("answer", template, (("answer", answer),), placement, "sees the final answer only")


def hint(hint: Source, *, template: str = HINT, placement: Placement = "user") -> Context:
    """Return a context with a hint. Whether it gives the answer away is looked up and shown, as for every context."""
    return Context("hint", template, (("hint", hint),), placement, "sees a hint")


def system_prompt(text: Source, *, merge: bool = True) -> Context:
    """Return a context that stands as a system prompt.

    Args:
        text: the prompt's wording.
        merge: whether to add it to the system turn that is there; False gives it a turn of its own after that one,
            which not every chat template takes. Mind templates that write a system prompt of their own where the
            messages have none: one of yours takes its place.

    """
    placement: Placement = "system" if merge else "system_turn"
    return Context("system_prompt", "{text}", (("text", text),), placement, "sees a system prompt of yours")


def free_text(text: Source, *, placement: Placement = "user") -> Context:
    """Return a context of any wording."""
    return Context("free_text", "{text}", (("text", text),), placement, "sees a text of yours")
