"""Inspect AI: a log written as `.json`, the samples of an `.eval` archive, or samples one a line.

There are no ids.
Where a model returned log-probabilities, the last response is read as token strings; otherwise the conversation is read
as text. A scorer's "C", "P", "I" and "N" are 1, 0.5, 0 and 0. A real dump has been tried: no, written from the
published shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opd_widgets.data.message import parse_messages
from opd_widgets.data.readers.foreign import are_turns, conversation, ended, is_number
from opd_widgets.data.readers.spelled import given_bytes, token_bytes
from opd_widgets.data.rollout import Rollout, Status
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import InvalidInputError, ReadError

NAME = "inspect_ai"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_ABOUT = ("id", "epoch", "target", "metadata", "limit", "error")


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    if isinstance(record.get("samples"), list):
        return isinstance(record.get("eval"), Mapping)
    output = record.get("output")
    return (
        isinstance(output, Mapping)
        and isinstance(output.get("choices"), list)
        and bool({"epoch", "messages", "input"} & record.keys())
    )


def parts(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a log's samples one by one, so that one with turns that are no text costs that one."""
    yield from record["samples"] if isinstance(record.get("samples"), list) else [record]


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollouts of a log or of one sample.

    Raises:
        ReadError: a sample without a response.
        InvalidInputError: a conversation with turns that are no text, such as tool calls.

    """
    if isinstance(record.get("samples"), list):
        return [rollout for sample in record["samples"] for rollout in _sample(sample)]
    return _sample(record)


def _sample(sample: Mapping[str, Any]) -> list[Rollout]:
    if not isinstance(sample, Mapping):
        msg = f"found a sample of type {type(sample).__name__}, expected a JSON object"
        raise ReadError(msg)
    output = sample.get("output") or {}
    choices = (output.get("choices") if isinstance(output, Mapping) else None) or []
    if not choices:
        msg = f"found sample {sample.get('id')!r} without choices in its output, expected the model's response"
        raise ReadError(msg)
    about = {name: sample[name] for name in _ABOUT if sample.get(name) is not None}
    scores = sample.get("scores") or {}
    if not isinstance(scores, Mapping):
        msg = f"found scores {scores!r:.60}, expected them by scorer"
        raise ReadError(msg)
    asked = sample.get("input")
    rollouts = []
    for choice in choices:
        fields = _response(sample, choice, len(choices), str(output.get("model") or "unknown"))
        if isinstance(asked, str):
            fields["question"] = asked
        rollouts.append(
            Rollout(
                id="",
                reward=_rewards(scores) or None,
                status=_status(sample, choice),
                metadata={**about, "scores": scores} if scores else about,
                **fields,
            )
        )
    return rollouts


def _response(sample: Mapping[str, Any], choice: Mapping[str, Any], count: int, model: str) -> dict[str, Any]:
    said = choice.get("message") or {}
    turns: list[Any] = sample.get("messages") or []
    if not are_turns(turns):
        asked = sample.get("input")
        turns = [*([{"role": "user", "content": asked}] if isinstance(asked, str) else asked or []), said]
    content = (choice.get("logprobs") or {}).get("content")
    if content:
        return _strings(turns, content, model)
    first = next((i for i, turn in enumerate(turns) if turn.get("role") == "assistant"), len(turns))
    if count > 1 or first == len(turns):  # the conversation goes on with one choice; each is a response to its prompt
        return conversation(_before(turns), [said])
    last = max(i for i, turn in enumerate(turns) if turn.get("role") == "assistant")
    return conversation(turns[:first], turns[first : last + 1])


def _strings(turns: list[Any], content: list[Mapping[str, Any]], model: str) -> dict[str, Any]:
    tokens = [str(entry["token"]) for entry in content]
    data = [given_bytes(token, entry.get("bytes") or None) for entry, token in zip(content, tokens, strict=True)]
    if not any(entry.get("bytes") for entry in content):
        data = list(token_bytes(tokens, _last_text(turns)) or data)
    track = LogprobTrack.from_optional([entry.get("logprob") for entry in content], Provenance(model=model))
    try:
        messages = parse_messages(_before(turns))
    except InvalidInputError:
        messages = ()  # earlier tool calls: the last response is shown all the same
    return {
        "messages": messages or None,
        "question": messages[-1].content if messages else "",
        "tokens": tokens,
        "token_bytes": data,
        "response_text": b"".join(data).decode("utf-8", "replace"),
        "text_source": "strings",
        "tracks": {"student": track},
    }


def _last_text(turns: list[Any]) -> str | None:
    said = [turn.get("content") for turn in turns if turn.get("role") == "assistant"]
    return said[-1] if said and isinstance(said[-1], str) else None


def _before(turns: list[Any]) -> list[Any]:
    """Return the turns before the last response."""
    last = max((i for i, turn in enumerate(turns) if turn.get("role") == "assistant"), default=len(turns))
    return turns[:last]


def _status(sample: Mapping[str, Any], choice: Mapping[str, Any]) -> Status:
    if sample.get("limit"):
        return "truncated"
    return "aborted" if sample.get("error") else ended(choice.get("stop_reason"))


def _rewards(scores: Mapping[str, Any]) -> dict[str, float | None]:
    """Return each scorer's value as a number; a scorer with several values gives several."""
    found: dict[str, float | None] = {}
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else score
        parts = value if isinstance(value, Mapping) else {"": value}
        for part, entry in parts.items():
            found[f"{name}/{part}" if part else name] = _grade(entry)
    return found


def _grade(value: Any) -> float | None:
    if isinstance(value, str):
        return _GRADES.get(value)
    return float(value) if is_number(value) or isinstance(value, bool) else None
