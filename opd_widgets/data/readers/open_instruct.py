"""open-instruct: `{run}_rollouts_{shard}.jsonl` of save_traces: ids and the student's log-probabilities.

A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.readers.values import per_token, rest_of, status_of, text_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.track import LogprobTrack, Provenance

NAME = "open_instruct"
_KNOWN = ("prompt_tokens", "response_tokens", "logprobs", "reward", "finish_reason", "prompt_idx", "step")


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    return {"prompt_tokens", "response_tokens"} <= record.keys()


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the one rollout a record holds. A log-probability of 0.0 is a value here: a certain token.

    Raises:
        ReadError: log-probabilities that are no numbers.
        RolloutError: lengths that do not fit each other.

    """
    tracks = {}
    if record.get("logprobs") is not None:
        tracks["student"] = LogprobTrack(per_token("logprobs", record["logprobs"]), provenance=Provenance("vllm"))
    return [
        Rollout(
            id="",
            prompt_ids=record["prompt_tokens"],
            response_ids=record["response_tokens"],
            question=text_of(record.get("prompt_idx")),
            reward=record.get("reward"),
            status=status_of(record.get("finish_reason")),
            step=record.get("step"),
            tracks=tracks,
            metadata=rest_of(record, _KNOWN),
        )
    ]
