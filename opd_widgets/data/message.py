"""One turn of a conversation, as chat templates take it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opd_widgets.errors import InvalidInputError


@dataclass(frozen=True)
class Message:
    """One turn: who speaks and what is said."""

    role: str
    content: str

    def __post_init__(self) -> None:
        """Refuse what is not text."""
        for name in ("role", "content"):
            if not isinstance(getattr(self, name), str):
                msg = f"found a message's {name} of type {type(getattr(self, name)).__name__}, expected a string"
                raise InvalidInputError(msg)

    def to_dict(self) -> dict[str, str]:
        """Return the form chat templates read."""
        return {"role": self.role, "content": self.content}

    @classmethod
    def parse(cls, raw: object) -> Message:
        """Read a turn from a mapping; content may be a string or a list of text parts.

        Raises:
            InvalidInputError: no role, or content that is not text.

        """
        if isinstance(raw, Message):
            return raw
        fields: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
        role = fields.get("role")
        if not isinstance(role, str):
            msg = f"found {raw!r} as a message, expected a mapping with 'role' and 'content'"
            raise InvalidInputError(msg)
        if fields.get("tool_calls") or fields.get("function_call"):
            msg = (
                f"found a turn of role {role!r} with tool calls, expected text: only a chat template knows how a call "
                "is written, so its tokens would be lost. Give the rollout's token ids"
            )
            raise InvalidInputError(msg)
        return cls(role, _text(fields.get("content")))


def parse_messages(raw: str | Sequence[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
    """Read a prompt: a string is one user turn, a sequence is the turns themselves.

    Raises:
        InvalidInputError: neither, or a turn that is no message.

    """
    if isinstance(raw, str):
        return (Message("user", raw),)
    if isinstance(raw, Mapping) or not isinstance(raw, Iterable):
        msg = f"found messages of type {type(raw).__name__}, expected a text or a list of turns"
        raise InvalidInputError(msg)
    return tuple(Message.parse(turn) for turn in raw)


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(_part(part) for part in content)
    msg = f"found message content of type {type(content).__name__}, expected a string or a list of text parts"
    raise InvalidInputError(msg)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    msg = f"found a message part of type {kind!r}, expected text: images and sound cannot be scored as tokens"
    raise InvalidInputError(msg)
