"""OpenAI's Responses API: messages with output texts and, where `include` asked for them, their log-probabilities.

As in chat completions there are no ids, only token strings with their bytes. The texts of all messages of a response
are one rollout; its refusal is its text. What is no message (reasoning, calls of tools) is counted in the metadata
under `other_output`: its tokens are not given. Where a text came without log-probabilities, the response is read as
text. The track is named "student": whoever answered. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from opd_widgets.data.message import Message, parse_messages
from opd_widgets.data.readers.foreign import ended
from opd_widgets.data.readers.openai import of_chat, student_track
from opd_widgets.data.readers.openai_batch import body_of, check_answered, known_of, name_of
from opd_widgets.data.readers.values import text_of
from opd_widgets.data.rollout import Rollout, Status
from opd_widgets.errors import InvalidInputError, ReadError

NAME = "openai_responses"
_KEPT = ("model", "created_at")


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format: a response, or a line of a batch's output."""
    body = body_of(record)
    output = body.get("output")
    if not isinstance(output, list):
        return False
    return body.get("object") == "response" or any(map(_is_message, output))


def _is_message(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "message" and isinstance(item.get("content"), list)


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the one rollout a response holds.

    Raises:
        ReadError: a request that failed, a response without a message, or tokens without strings.
        RolloutError: a log-probability above 0.

    """
    check_answered(record)
    body = body_of(record)
    parts = [part for item in body["output"] if _is_message(item) for part in item["content"]]
    texts = [part.get("text", part.get("refusal")) if isinstance(part, Mapping) else None for part in parts]
    if not any(isinstance(text, str) for text in texts):
        raise ReadError(_no_text(body))
    text = "".join(text for text in texts if isinstance(text, str))
    messages = _asked(record, body)
    common: dict[str, Any] = {
        "id": text_of(name_of(record, body)),
        "status": _status(body),
        "messages": messages,
        "question": messages[-1].content if messages else text_of(record.get("custom_id")),
        "response_text": text,
    }
    about = {name: body[name] for name in _KEPT if body.get(name) is not None} | known_of(record, body)
    others = Counter(str(item.get("type")) for item in body["output"] if _is_other(item))
    about |= {"other_output": dict(others)} if others else {}
    lists = [part.get("logprobs") for part, said in zip(parts, texts, strict=True) if said]
    if not lists or not all(isinstance(found, list) and found for found in lists):
        return [Rollout(text_source="text", metadata=about, **common)]
    said = of_chat([entry for found in lists for entry in found], text)
    return [
        Rollout(
            tokens=tuple(said.tokens),
            token_bytes=None if said.data is None else tuple(said.data),
            text_source="strings",
            tracks={"student": student_track(said.logprobs, body)},
            metadata=about | ({"top_logprobs": said.top} if any(said.top) else {}),
            **common,
        )
    ]


def _is_other(item: object) -> bool:
    return isinstance(item, Mapping) and not _is_message(item)


def _no_text(body: Mapping[str, Any]) -> str:
    """Say why a response has nothing to show."""
    error = body.get("error")
    if isinstance(error, Mapping):
        return f"found a failed request: {error.get('message') or error.get('code')!s:.300}. Expected a response"
    kinds = [item.get("type") if isinstance(item, Mapping) else type(item).__name__ for item in body["output"]]
    return f"found a response with status {body.get('status')!r} and the output {kinds}, expected a message with a text"


def _status(body: Mapping[str, Any]) -> Status:
    why = body.get("incomplete_details")
    return ended(why["reason"] if isinstance(why, Mapping) and why.get("reason") else body.get("status"))


def _asked(record: Mapping[str, Any], body: Mapping[str, Any]) -> tuple[Message, ...] | None:
    """Return the prompt's turns, where the request is kept beside the response."""
    request = record.get("request")
    asked = request.get("body", request) if isinstance(request, Mapping) else record
    given = asked.get("input") if isinstance(asked, Mapping) else None
    if not isinstance(given, str | list) or not given:
        return None
    rules = body.get("instructions") or asked.get("instructions")
    try:
        turns = parse_messages(given)
    except InvalidInputError:
        return None  # earlier tool calls or pictures: the response can be shown all the same
    return (Message("system", rules), *turns) if isinstance(rules, str) else turns
