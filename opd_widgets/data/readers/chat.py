"""Chat data sets with `prompt` and `completion`, each a text or a list of turns; text only.

For records that have all turns under `messages`, see `messages`. A real dump has been tried: no, the shape is that of
Hugging Face chat data sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.readers.foreign import are_turns, conversation
from opd_widgets.data.readers.values import rest_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "chat"
_KNOWN = frozenset({"id", "prompt", "completion", "reward"})
_OTHERS = frozenset({"step", "gen_step", "advantage", "advantages", "example_id", "choices"})  # of other formats


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    if not {"prompt", "completion"} <= record.keys() or _OTHERS & record.keys():
        return False
    return all(isinstance(record[name], str) or are_turns(record[name]) for name in ("prompt", "completion"))


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollout a record holds.

    Raises:
        ReadError: no prompt or completion, or no assistant turn in it.
        InvalidInputError: something that is no turn.

    """
    for name in ("prompt", "completion"):
        if record.get(name) is None:
            msg = f"found no {name!r} in a record with {list(record)[:6]}, expected a text or a list of turns"
            raise ReadError(msg)
    return [
        Rollout(
            id="" if record.get("id") is None else str(record["id"]),
            reward=record.get("reward"),
            metadata=rest_of(record, _KNOWN),
            **conversation(record["prompt"], record["completion"]),
        )
    ]
