"""SkyRL: `dump_eval_results`, a `{data_source}.jsonl` for each source of questions.

Text only, decoded with special tokens kept. `score` is a number, or one a token, whose sum is the reward. Responses of
several turns stand in one text, without a mask. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.readers.foreign import conversation, ended, is_number, text_at
from opd_widgets.data.readers.values import rest_of
from opd_widgets.data.rollout import Rollout

NAME = "skyrl"
_KNOWN = frozenset({"input_prompt", "output_response", "score", "stop_reason"})


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    return {"input_prompt", "output_response"} <= record.keys()


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollout a record holds.

    Raises:
        ReadError: prompt or response is no text.

    """
    score = record.get("score")
    metadata = rest_of(record, _KNOWN)
    if isinstance(score, list):
        metadata["token_rewards"] = score
        score = sum(value for value in score if is_number(value))
    return [
        Rollout(
            id="",
            reward=score,
            status=ended(record.get("stop_reason")),
            metadata=metadata,
            **conversation(text_at(record, "input_prompt"), text_at(record, "output_response")),
        )
    ]
