"""TRL: the completions table of `log_completions=True`, as Parquet or JSON Lines, one row a completion.

Text only, decoded without special tokens: an end-of-text token, and think tags where a tokenizer calls them special,
are lost. A column of numbers that is none of TRL's own is a reward; `advantage` is one number for the whole
completion. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.message import Message, parse_messages
from opd_widgets.data.readers.values import numeric
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "trl"
_OWN = ("step", "prompt", "completion", "advantage")
_OTHERS = ("example_id", "gen_step", "choices", "response_tokens", "token_ids")  # fields of other formats


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    if not {"prompt", "completion"} <= record.keys() or not {"step", "advantage"} & record.keys():
        return False
    return not isinstance(record.get("step"), list) and not any(name in record for name in _OTHERS)


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the one rollout a row holds.

    Raises:
        ReadError: a completion that is neither text nor turns.
        InvalidInputError: turns that are no text.

    """
    rewards = {name: value for name, value in record.items() if name not in _OWN and numeric(value)}
    metadata = {name: value for name, value in record.items() if name not in {*_OWN, *rewards}}
    if record.get("advantage") is not None:
        metadata["advantage"] = record["advantage"]
    return [
        Rollout(
            id="",
            reward=rewards or None,
            step=_step(record.get("step")),
            text_source="text",
            metadata=metadata,
            **_said(record["prompt"], record["completion"]),
        )
    ]


def _said(prompt: object, completion: object) -> dict[str, Any]:
    if isinstance(prompt, str):
        asked: dict[str, Any] = {"prompt_text": prompt, "question": prompt}
        messages: tuple[Message, ...] = ()
    else:
        messages = parse_messages(prompt)  # type: ignore[arg-type]  # it says what is wrong with anything else
        asked = {"messages": messages, "question": messages[-1].content if messages else ""}
    if isinstance(completion, str):
        return {**asked, "response_text": completion}
    if not isinstance(completion, list) or not messages:
        msg = f"found a completion of type {type(completion).__name__}, expected text, or turns after a prompt of turns"
        raise ReadError(msg)
    turns = parse_messages(completion)
    return {**asked, "turns": (*messages, *turns), "response_text": turns[0].content if len(turns) == 1 else None}


def _step(raw: Any) -> Any:
    """Return the step; the table of the distillation trainers holds it as text."""
    return int(raw) if isinstance(raw, str) and raw.strip().isdigit() else raw
