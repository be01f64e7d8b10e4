"""A question: a prompt with a verifiable answer, and what is known about its solution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opd_widgets.data.message import Message, parse_messages
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Question:
    """A prompt with a verifiable answer.

    Args:
        id: names the question; rollouts point back to it.
        messages: the student's prompt, as turns or as one user turn's text.
        answer: what the verifier compares with; None where unknown.
        solution: a correct worked solution, for privileged contexts.
        wrong_solution: an incorrect worked solution, for contexts that contrast the two.
        metadata: anything else worth carrying along.

    """

    id: str
    messages: tuple[Message, ...]
    answer: str | None = None
    solution: str | None = None
    wrong_solution: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Accept a plain string as the prompt; refuse a question with no text."""
        if not isinstance(self.id, str):
            msg = f"found an id of type {type(self.id).__name__} ({self.id!r}), expected a str that names the question"
            raise InvalidInputError(msg)
        object.__setattr__(self, "messages", parse_messages(self.messages))
        if not any(message.content.strip() for message in self.messages):
            msg = f"question {self.id!r} has no text; expected at least one message with content"
            raise InvalidInputError(msg)

    @property
    def title(self) -> str:
        """The last user turn: what a reader would call the question."""
        users = [m.content for m in self.messages if m.role == "user"]
        return (users or [m.content for m in self.messages])[-1]
