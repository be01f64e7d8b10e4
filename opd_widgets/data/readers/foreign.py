"""What foreign records have in common: prompts as text or turns, lists with one value a token, steps, ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opd_widgets.data.message import Message, parse_messages
from opd_widgets.data.readers.values import numeric, status_of
from opd_widgets.data.rollout import Status
from opd_widgets.errors import ReadError

# An environment's or provider's limits, beside the words engines have.
_LIMITS = frozenset({
    "max_new_tokens", "model_length", "max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens",
    "compaction_failed",
})  # fmt: skip


def ended(reason: object) -> Status:
    """Return how a response ended, from the word an engine or environment has for it."""
    return "truncated" if isinstance(reason, str) and reason.lower() in _LIMITS else status_of(reason)


def step_of(raw: object) -> int | None:
    """Return a training step, also where a logger wrote it as text.

    Raises:
        ReadError: no whole number.

    """
    if raw is None or raw == "":
        return None
    try:
        value = float(raw)  # type: ignore[arg-type]  # what cannot be converted is named below
        if value.is_integer():
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    msg = f"found {raw!r:.60} as a step, expected a whole number"
    raise ReadError(msg)


def is_number(value: object) -> bool:
    """Return whether a value is a number; True and False are judgements, not numbers."""
    return value is not None and numeric(value)


def text_at(record: Mapping[str, Any], name: str) -> str:
    """Return a field that has to be text.

    Raises:
        ReadError: not there, or no text.

    """
    value = record.get(name)
    if not isinstance(value, str):
        found = f"{name} of type {type(value).__name__}" if name in record else f"no {name!r} in {list(record)[:8]}"
        msg = f"found {found}, expected a text"
        raise ReadError(msg)
    return value


def one_a_token(name: str, raw: object, length: int, of: str = "tokens") -> list[Any]:
    """Return a list with one value a token.

    Raises:
        ReadError: no list, or one of another length; both lengths are named.

    """
    if isinstance(raw, str) or not isinstance(raw, Sequence):
        msg = f"{name} is of type {type(raw).__name__}, expected a list of {length}, one a token"
        raise ReadError(msg)
    if len(raw) != length:
        msg = f"found {length} {of} and {len(raw)} {name}; expected one a token. Nothing is cut to fit: mend the dump"
        raise ReadError(msg)
    return list(raw)


def only_where(keep: Sequence[object], values: Sequence[Any]) -> list[Any]:
    """Return the values where `keep` holds and None elsewhere: a placeholder is no value."""
    return [value if kept else None for kept, value in zip(keep, values, strict=True)]


def are_turns(value: object) -> bool:
    """Return whether a value is a list of chat turns."""
    return isinstance(value, Sequence) and bool(value) and isinstance(value[0], Mapping) and "role" in value[0]


def conversation(prompt: object, completion: object) -> dict[str, Any]:
    """Return the fields of a rollout whose prompt and completion are each a text or a list of turns.

    Raises:
        ReadError: no assistant turn in the completion, or one in a prompt that several responses follow: read as
            text, it could not be told from the student's own.
        InvalidInputError: something that is no turn.

    """
    fields: dict[str, Any] = {"text_source": "text"}
    turns = None if isinstance(completion, str) else parse_messages(completion)  # type: ignore[arg-type]
    if isinstance(prompt, str) and (turns is None or len(turns) == 1):
        fields |= {"prompt_text": prompt, "question": prompt}
        messages: tuple[Message, ...] = ()
    else:
        messages = parse_messages(prompt)  # type: ignore[arg-type]
        fields |= {"messages": messages, "question": messages[-1].content if messages else ""}
    if turns is None:
        return {**fields, "response_text": completion}
    roles = [turn.role for turn in turns]
    if "assistant" not in roles:
        msg = f"found a completion with turns of roles {roles} and no assistant turn; expected the student's response"
        raise ReadError(msg)
    if len(turns) == 1:
        return {**fields, "response_text": turns[0].content}
    if any(turn.role == "assistant" for turn in messages):
        msg = (
            f"found an assistant turn in the prompt and a completion of {len(turns)} turns; read as text, the two "
            "cannot be told apart. Give the rollout's token ids"
        )
        raise ReadError(msg)
    return {**fields, "turns": (*messages, *turns)}
