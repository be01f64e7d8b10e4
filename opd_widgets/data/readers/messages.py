"""Chat records: `{"messages": [{"role": ..., "content": ...}, ...]}`, text only.

Everything from the first assistant turn on is the response; what others say in between is shown and in no aggregate. A
real dump has been tried: no, the shape is that of Hugging Face chat data sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.message import parse_messages
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "messages"


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    turns = record.get("messages")
    return isinstance(turns, list) and bool(turns) and isinstance(turns[0], Mapping) and "role" in turns[0]


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the one rollout a record holds.

    Raises:
        ReadError: no assistant turn.

    """
    turns = parse_messages(record["messages"])
    first = next((index for index, turn in enumerate(turns) if turn.role == "assistant"), None)
    if first is None:
        roles = [turn.role for turn in turns]
        msg = f"found turns of roles {roles} and no assistant turn; expected the student's response as one"
        raise ReadError(msg)
    prompt, response = turns[:first], turns[first:]
    known = {"messages", "reward", "id"}
    return [
        Rollout(
            id="" if record.get("id") is None else str(record["id"]),
            messages=prompt,
            turns=turns,
            response_text=response[0].content if len(response) == 1 else None,
            question=prompt[-1].content if prompt else "",
            reward=record.get("reward"),
            text_source="text",
            metadata={key: value for key, value in record.items() if key not in known},
        )
    ]
