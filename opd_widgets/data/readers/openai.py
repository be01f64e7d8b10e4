"""OpenAI-compatible responses: chat completions with log-probabilities, and completions, with echo or without.

There are no ids, only token strings; where their bytes are given, a character that lies in two tokens is put together.
-9999 stands for "too unlikely to say". With `echo` the prompt's tokens are scored too: they come first, and where the
response says how many there are and some were generated, they are no part of any aggregate. The other likely tokens
are strings as well and stay in the metadata, under `top_logprobs`. The track is named "student": whoever answered. A
line of a batch's output is named after its `custom_id`. For the Responses API see `openai_responses`. A real dump has
been tried: no, written from the published shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opd_widgets.data.message import parse_messages
from opd_widgets.data.readers.openai_batch import body_of, check_answered, is_failed, known_of, name_of
from opd_widgets.data.readers.spelled import PART, given_bytes, token_bytes
from opd_widgets.data.readers.values import per_token, status_of, text_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import InvalidInputError, ReadError

NAME = "openai"
_OF_VLLM = ("prompt_logprobs", "token_ids")
_OF_RESPONSES = frozenset({"object", "usage", "model", "created", "system_fingerprint"})
_BYTES = re.compile(r"bytes:(?:\\x[0-9a-fA-F]{2})+")  # how completions write a token that is only part of a character


@dataclass(frozen=True)
class Spoken:
    """A response's tokens as strings.

    Args:
        tokens: one string a token.
        logprobs: one value a token.
        data: the bytes of each; None where no token's are given.
        top: at each token the likeliest strings with their values; empty where there are none.

    """

    tokens: list[str]
    logprobs: Sequence[Any]
    data: Sequence[bytes] | None
    top: list[Any]


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format: a response, a line of a batch's output, a failed request."""
    if is_failed(record):
        return True
    body = body_of(record)
    choices = body.get("choices")
    if choices == []:
        return body is not record or bool(_OF_RESPONSES & body.keys()) or body.keys() <= {"id", "choices"}
    if not isinstance(choices, list) or not all(map(_is_choice, choices)):
        return False
    return not any(part.get(name) is not None for part in (body, *choices) for name in _OF_VLLM)


def _is_choice(choice: object) -> bool:
    return isinstance(choice, Mapping) and ("message" in choice or "text" in choice)


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return a rollout for each choice.

    Raises:
        ReadError: a request that failed, a response without choices, neither text nor tokens, or lists that do not fit
            each other.
        RolloutError: a log-probability above 0.

    """
    check_answered(record)
    body = body_of(record)
    name = name_of(record, body)
    if not body["choices"]:
        which = "" if name is None else f" {name!r}"
        msg = f"found the response{which} without choices, expected at least one: nothing was generated for the request"
        raise ReadError(msg)
    several = len(body["choices"]) > 1
    made = []
    for number, choice in enumerate(body["choices"]):
        own = f"{name}/{choice.get('index', number)}" if several else f"{name}"
        made.append(_rollout("" if name is None else own, record, body, choice))
    return made


def _rollout(name: str, record: Mapping[str, Any], body: Mapping[str, Any], choice: Mapping[str, Any]) -> Rollout:
    text = text_of_choice(choice)
    said = spoken(choice.get("logprobs"), text)
    if text is None and said is None:
        msg = f"found a choice with neither text nor log-probabilities: {list(choice)}; expected the response's text"
        raise ReadError(msg)
    common: dict[str, Any] = {
        "id": name,
        "status": status_of(choice.get("finish_reason")),
        "question": text_of_prompt(record) or text_of(record.get("custom_id")),
        "metadata": _metadata(body, choice, said) | known_of(record, body),
        **prompt_of(record),
    }
    if said is None:
        return Rollout(response_text=text, text_source="text", **common)
    whole = b"".join(said.data).decode("utf-8", "replace") if said.data is not None else "".join(said.tokens)
    return Rollout(
        response_text=whole if text is None else text,
        tokens=tuple(said.tokens),
        token_bytes=None if said.data is None else tuple(said.data),
        response_mask=_mask(body, said),
        text_source="strings",
        tracks={"student": student_track(said.logprobs, body)},
        **common,
    )


def student_track(values: Any, body: Mapping[str, Any], engine: str = "unknown", **parts: Any) -> LogprobTrack:
    """Return the track of whoever answered, under the model's name."""
    provenance = Provenance(engine, model=str(body.get("model") or "unknown"))
    return LogprobTrack(per_token("logprobs", values), provenance=provenance, **parts)


def text_of_choice(choice: Mapping[str, Any]) -> str | None:
    """Return the text of a choice, of a chat or of a completion."""
    message = choice.get("message")
    text = message.get("content") if isinstance(message, Mapping) else choice.get("text")
    return text if isinstance(text, str) else None


def prompt_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prompt, where the record or the request kept beside it has one."""
    request = record.get("request")
    asked = record if not isinstance(request, Mapping) else request.get("body", request)
    if isinstance(asked.get("messages"), list):
        try:
            return {"messages": parse_messages(asked["messages"])}
        except InvalidInputError:
            return {}  # earlier tool calls or pictures: the response can be shown all the same
    return {"prompt_text": asked["prompt"]} if isinstance(asked.get("prompt"), str) else {}


def text_of_prompt(record: Mapping[str, Any]) -> str:
    """Return what was asked: the last turn's text or the prompt's; empty where it is not recorded."""
    asked = prompt_of(record)
    messages = asked.get("messages")
    return str(messages[-1].content if messages else asked.get("prompt_text", ""))


def spoken(logprobs: object, text: object = None) -> Spoken | None:
    """Return the tokens in `logprobs`, a chat's or a completion's; None where there are none.

    Raises:
        ReadError: lists that do not fit each other.

    """
    if not isinstance(logprobs, Mapping):
        return None
    if isinstance(logprobs.get("content"), list):
        return of_chat(logprobs["content"], text)
    if isinstance(logprobs.get("tokens"), list) and isinstance(logprobs.get("token_logprobs"), list):
        return _of_completion(logprobs, text)
    return None


def of_chat(content: list[Any], text: object) -> Spoken:
    """Return the tokens of a chat's list, one entry a token.

    Raises:
        ReadError: an entry without its string.

    """
    for number, entry in enumerate(content):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("token"), str):
            msg = f"found {entry!r:.60} as token {number}, expected 'token' and 'logprob'"
            raise ReadError(msg)
    tokens = [entry["token"] for entry in content]
    known = any(entry.get("bytes") is not None for entry in content)
    data: Sequence[bytes] | None = token_bytes(tokens, text)
    if known:
        data = [given_bytes(entry["token"], entry.get("bytes")) for entry in content]
    top = [_likeliest(entry.get("top_logprobs")) for entry in content]
    return Spoken(tokens, [entry.get("logprob") for entry in content], data, top)


def _likeliest(raw: Any) -> dict[str, Any]:
    """Return the likeliest tokens by their strings: as a chat lists them, or as a completion does."""
    if isinstance(raw, Mapping):
        return dict(raw)
    return {entry["token"]: entry.get("logprob") for entry in raw or [] if isinstance(entry, Mapping)}


def _of_completion(logprobs: Mapping[str, Any], text: object) -> Spoken:
    tokens = list(logprobs["tokens"])
    for name in ("token_logprobs", "top_logprobs", "text_offset"):
        values = logprobs.get(name)
        if values and len(values) != len(tokens):
            msg = f"found {len(tokens)} tokens and {len(values)} values in {name}; expected one a token"
            raise ReadError(msg)
    data: Sequence[bytes] | None = None
    if any(_BYTES.fullmatch(token) for token in tokens):
        data = [_completion_bytes(token) for token in tokens]
    elif isinstance(text, str):
        whole = not any(token == "" or PART in token for token in tokens)
        if whole and "".join(tokens) != text:
            tokens = _slices(tokens, logprobs.get("text_offset"), text)
        data = token_bytes(tokens, text)
    top = [_likeliest(entry) for entry in logprobs.get("top_logprobs") or []]
    return Spoken(tokens, logprobs["token_logprobs"], data, top)


def _completion_bytes(token: str) -> bytes:
    if _BYTES.fullmatch(token):
        return bytes.fromhex(token.removeprefix("bytes:").replace("\\x", ""))
    return token.encode("utf-8", "surrogatepass")


def _slices(tokens: list[str], offsets: Any, text: str) -> list[str]:
    """Return the tokens as slices of the text, where offsets say which and the strings are spelled otherwise."""
    if not offsets:
        return tokens
    starts = [offset - offsets[0] for offset in offsets]
    if starts != sorted(starts) or starts[-1] > len(text):
        return tokens
    return [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]


def _mask(body: Mapping[str, Any], said: Spoken) -> Any:
    """Leave out an echoed prompt, where some tokens were generated after it."""
    usage = body.get("usage")
    asked = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    if not said.logprobs or said.logprobs[0] is not None or not isinstance(asked, int):
        return None
    return np.arange(len(said.tokens)) >= asked if 0 < asked < len(said.tokens) else None


def _metadata(body: Mapping[str, Any], choice: Mapping[str, Any], said: Spoken | None) -> dict[str, Any]:
    found = {name: body[name] for name in ("model", "created", "system_fingerprint") if body.get(name) is not None}
    message = choice.get("message")
    if isinstance(message, Mapping) and message.get("reasoning_content"):
        found["reasoning_content"] = message["reasoning_content"]
    if said is not None and any(said.top):
        found["top_logprobs"] = said.top
    return found
