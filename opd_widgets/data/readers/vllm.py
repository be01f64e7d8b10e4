"""vLLM: `RequestOutput` as JSON, and server responses with ids (`return_token_ids`) or `prompt_logprobs`.

The entry of a position is looked up by the token's own id: it may stand anywhere, and beyond the top k. Where
`prompt_logprobs` were asked for, the prompt's tokens are shown with the response's: the first has no value, and where
tokens were generated after them they are no part of any aggregate; `prompt_tokens` in the metadata says how many there
are. The track is named "student": whoever answered. Its mode is not recorded: raw unless the server was told
otherwise. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opd_widgets.data.readers.openai import prompt_of, spoken, student_track, text_of_choice, text_of_prompt
from opd_widgets.data.readers.ranked import Ranked, topk_of
from opd_widgets.data.readers.spelled import token_bytes
from opd_widgets.data.readers.values import per_token, status_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "vllm"
_UNKNOWN = "token_id:{}"  # vLLM's own way to write a token whose text is not given (`return_tokens_as_token_ids`)
_NUMBERED = re.compile(r"token_id:(\d+)")


@dataclass(frozen=True)
class _Scored:
    """Ids with what is said about each: an entry by id, or just its value."""

    ids: list[int]
    entries: list[dict[int, Any]]
    values: list[Any]


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    outputs = _outputs(record)
    if not all(isinstance(output, Mapping) for output in outputs):
        return False
    if any(isinstance(part.get("prompt_logprobs"), list) for part in (record, *outputs)):
        return True
    return bool(outputs) and all(_ids(output) is not None for output in outputs)


def _outputs(record: Mapping[str, Any]) -> list[Any]:
    found = record.get("outputs") or record.get("choices") or []
    return found if isinstance(found, list) else []


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return a rollout for each output.

    Raises:
        ReadError: prompt_logprobs without the prompt's ids, or lists that do not fit each other.
        RolloutError: a log-probability above 0.

    """
    outputs = _outputs(record) or [{}]
    name = record.get("request_id") or record.get("id")
    made = []
    for number, output in enumerate(outputs):
        own = f"{name}/{output.get('index', number)}" if len(outputs) > 1 else f"{name}"
        made.append(_rollout("" if name is None else own, record, output))
    return made


def _rollout(name: str, record: Mapping[str, Any], output: Mapping[str, Any]) -> Rollout:
    asked = [part for part in (output, record) if part.get("prompt_logprobs") is not None]
    given = [part["prompt_token_ids"] for part in (output, record) if part.get("prompt_token_ids") is not None]
    prompt: Any = list(given[0]) if given else None
    said = _response(output)
    text = text_of_choice(output) or ""
    mask = None
    metadata: dict[str, Any] = {"model": record["model"]} if record.get("model") else {}
    if asked:
        scored = _prompt(prompt, asked[0]["prompt_logprobs"])
        metadata["prompt_tokens"] = len(scored.ids)
        mask = np.arange(len(scored.ids) + len(said.ids)) >= len(scored.ids) if said.ids else None
        said = _Scored(scored.ids + said.ids, scored.entries + said.entries, scored.values + said.values)
        prompt, text = [], f"{record['prompt']}{text}" if isinstance(record.get("prompt"), str) else ""
    ranked = [_entry(entry) for entry in said.entries]
    ranks = [entry.get(token, {}).get("rank") or 0 for token, entry in zip(said.ids, said.entries, strict=True)]
    known = any(value is not None for value in said.values)
    tokens = _strings(said)
    track = student_track(
        said.values, record, "vllm", rank=np.asarray(ranks, np.int32) if any(ranks) else None, topk=topk_of(ranked)
    )
    return Rollout(
        id=name,
        prompt_ids=prompt,
        response_ids=np.asarray(said.ids),
        response_text=text or None,
        tokens=tokens,
        token_bytes=token_bytes(tokens or (), text),
        response_mask=mask,
        question=text_of_prompt(record),
        status=status_of(output.get("finish_reason")),
        tracks={"student": track} if known else {},
        metadata=metadata,
        **({} if asked else prompt_of(record)),
    )


def _prompt(ids: list[int] | None, raw: Any) -> _Scored:
    if ids is None:
        msg = "found prompt_logprobs without prompt_token_ids: which token each scores is not known. Ask with "
        raise ReadError(msg + "return_token_ids")
    rows = list(raw)
    if len(rows) == len(ids) - 1 and rows[:1] != [None]:
        rows = [None, *rows]  # nothing stands before the first token, and some leave its place out
    return _looked_up("prompt_logprobs", ids, rows)


def _ids(output: Mapping[str, Any]) -> list[int] | None:
    """Return the ids generated: given, or written in place of the token strings; None where they are not known."""
    if output.get("token_ids") is not None:
        return list(output["token_ids"])
    said = spoken(output.get("logprobs"), output.get("text"))
    found = [_NUMBERED.fullmatch(token) for token in said.tokens] if said is not None else []
    return [int(match[1]) for match in found if match] if found and all(found) else None


def _response(output: Mapping[str, Any]) -> _Scored:
    ids = _ids(output) or []
    raw = output.get("logprobs")
    if isinstance(raw, list):
        return _looked_up("logprobs", ids, raw)
    said = spoken(raw, output.get("text"))
    if said is None:
        return _Scored(ids, [{}] * len(ids), [None] * len(ids))
    if len(said.tokens) != len(ids):
        msg = f"found {len(ids)} token_ids and {len(said.tokens)} log-probabilities; expected one a token"
        raise ReadError(msg)
    texts: list[dict[int, Any]] = [
        {token: {"decoded_token": text}} for token, text in zip(ids, said.tokens, strict=True)
    ]
    return _Scored(ids, texts, list(said.logprobs))


def _looked_up(name: str, ids: list[int], rows: list[Any]) -> _Scored:
    """Return each token's value by its id; missing where its entry does not hold it.

    Raises:
        ReadError: lengths that differ, or entries that all miss their token: they belong to other positions.

    """
    if len(rows) != len(ids):
        msg = f"found {len(ids)} token ids and {len(rows)} entries in {name}; expected one a token"
        raise ReadError(msg)
    entries = [{int(token): entry for token, entry in (row or {}).items()} for row in rows]
    filled = [number for number, entry in enumerate(entries) if entry]
    missed = [number for number in filled if ids[number] not in entries[number]]
    if missed and (len(missed) == len(filled) or _shifted(ids, entries, filled)):
        number = missed[0]
        found = f"{len(missed)} of {len(filled)} entries in {name} without their own token"
        msg = f"found {found}: at {number}, id {ids[number]} is not among {list(entries[number])}. Expected entry i to "
        raise ReadError(msg + "score token i; they may be shifted")
    values = [entry.get(token, {}).get("logprob") for token, entry in zip(ids, entries, strict=True)]
    return _Scored(ids, entries, values)


def _shifted(ids: list[int], entries: list[dict[int, Any]], filled: list[int]) -> bool:
    """Return whether every entry holds the token before its own, or the one after: by chance some hold theirs too."""
    return any(
        len(there) > 1 and all(ids[number + by] in entries[number] for number in there)
        for by in (-1, 1)
        if (there := [number for number in filled if 0 <= number + by < len(ids)])
    )


def _entry(entry: Mapping[int, Mapping[str, Any]]) -> list[Ranked]:
    """Return the likeliest of an entry; the scored token is among them only where its rank is.

    An entry holds the k likeliest and the scored token: k, or one more.
    """
    ranked = [(token, found["logprob"], found.get("rank")) for token, found in entry.items() if "logprob" in found]
    values = per_token("logprobs", [value for _, value, _ in ranked]).tolist()
    return [
        Ranked(token, value)
        for (token, _, rank), value in zip(ranked, values, strict=True)
        if rank is None or rank <= len(ranked)
    ]


def _strings(said: _Scored) -> tuple[str, ...] | None:
    texts = [entry.get(token, {}).get("decoded_token") for token, entry in zip(said.ids, said.entries, strict=True)]
    if not any(isinstance(text, str) for text in texts):
        return None
    return tuple(
        text if isinstance(text, str) else _UNKNOWN.format(token) for token, text in zip(said.ids, texts, strict=True)
    )
