"""RLLoggingBoard: one rollout a line, with token strings and log-probabilities of the policy and its reference.

There are no ids, so tokens are shown as they were written. `ref_logprobs` become the track "teacher". Lists of
different lengths are an error that names both: its own README has 13 tokens and 12 log-probabilities. A real dump has
been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.readers.foreign import one_a_token, step_of
from opd_widgets.data.readers.spelled import token_bytes
from opd_widgets.data.readers.values import rest_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.track import LogprobTrack

NAME = "rlloggingboard"
_TRACKS = {"student": "logprobs", "teacher": "ref_logprobs"}
_PER_TOKEN = ("values", "token_rewards")
_KNOWN = frozenset({"prompt", "response", "response_tokens", "reward", "step", *_TRACKS.values()})


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    tokens = record.get("response_tokens")
    return isinstance(tokens, list) and "logprobs" in record and all(isinstance(token, str) for token in tokens)


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollout a record holds.

    Raises:
        ReadError: a list with more or fewer values than there are tokens.
        RolloutError: a log-probability above 0.

    """
    tokens = record["response_tokens"]
    tracks = {
        name: LogprobTrack.from_optional(one_a_token(field, record[field], len(tokens), "response_tokens"))
        for name, field in _TRACKS.items()
        if record.get(field) is not None
    }
    for field in _PER_TOKEN:
        if record.get(field) is not None:
            one_a_token(field, record[field], len(tokens), "response_tokens")
    prompt, response = record.get("prompt"), record.get("response")
    return [
        Rollout(
            id="",
            prompt_text=prompt,
            response_text="".join(tokens) if response is None else response,
            tokens=tuple(tokens),
            token_bytes=token_bytes(tokens, response),
            question=prompt or "",
            reward=record.get("reward"),
            step=step_of(record.get("step")),
            text_source="strings",
            tracks=tracks,
            metadata=rest_of(record, _KNOWN),
        )
    ]
