"""SGLang: responses of `/generate` with log-probabilities, as triples of log-probability, id and text.

Where the input's log-probabilities were asked for as well and cover the whole prompt (as many as `prompt_tokens` or
`input_ids`), its tokens are the prompt and their values stay in the metadata, under `prompt_logprobs`, one a token of
the prompt, the first mostly null. Where they begin later (`logprob_start_len`), where it is not known how long the
prompt was, and where nothing was generated, they are shown with the output's: those before them are the prompt, where
the record has them; where tokens were generated after them they are no part of any aggregate; `prompt_tokens` in the
metadata says how many there are. The output's log-probabilities follow the sampling temperature. The track is named
"student": whoever answered. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opd_widgets.data.readers.openai import prompt_of, student_track, text_of_prompt
from opd_widgets.data.readers.ranked import Ranked, topk_of
from opd_widgets.data.readers.spelled import token_bytes
from opd_widgets.data.readers.values import per_token, status_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "sglang"
_UNKNOWN = "token_id:{}"


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    return isinstance(record.get("meta_info"), Mapping)


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the one rollout a response holds.

    Raises:
        ReadError: neither tokens nor text, or something that is no triple.
        RolloutError: a log-probability above 0.

    """
    info = record["meta_info"]
    asked, said = (_triples(info, f"{part}_token_logprobs") for part in ("input", "output"))
    common: dict[str, Any] = {
        "id": str(info.get("id") or ""),
        "question": text_of_prompt(record),
        "status": status_of(info.get("finish_reason")),
    }
    if not asked and not said:
        return [_without(record, common)]
    _same_ids("output_ids", record.get("output_ids"), [token for _, token, _ in said])
    top = _rows(info.get("input_top_logprobs"), len(asked)) + _rows(info.get("output_top_logprobs"), len(said))
    if asked and not said:
        said = [(None, token, None) for token in record.get("output_ids") or []]
        top += [[] for _ in said]
    whole = _is_whole(record, info, asked)
    if said and whole:
        common |= {"prompt_ids": [token for _, token, _ in asked], **prompt_of(record)}
        common["metadata"] = {"prompt_logprobs": [value for value, *_ in asked]}
        top, asked = top[len(asked) :], []
    elif asked:
        common["prompt_ids"] = _before(record, info, len(asked))
        common["metadata"] = {"prompt_tokens": len(asked)}
    else:
        common |= {"prompt_ids": record.get("input_ids"), **prompt_of(record)}
    return [_rollout(record, common, asked, said, top)]


def _rollout(
    record: Mapping[str, Any],
    common: Mapping[str, Any],
    asked: list[tuple[Any, int, Any]],
    said: list[tuple[Any, int, Any]],
    top: list[list[Ranked]],
) -> Rollout:
    """Return the rollout whose tokens are those of the input that are shown, and the output's."""
    rows = asked + said
    ids = [token for _, token, _ in rows]
    ranks = [_rank(token, row) for token, row in zip(ids, top, strict=True)]
    values = [value for value, *_ in rows]
    rank = np.asarray(ranks) if any(ranks) else None
    track = student_track(values, record["meta_info"], "sglang", rank=rank, topk=topk_of(top))
    text, tokens = None if asked else record.get("text"), _strings(rows)
    return Rollout(
        response_ids=np.asarray(ids),
        response_text=text,
        tokens=tokens,
        token_bytes=token_bytes(tokens or (), text),
        response_mask=np.arange(len(rows)) >= len(asked) if asked and said else None,
        tracks={"student": track} if any(value is not None for value in values) else {},
        **common,
    )


def _is_whole(record: Mapping[str, Any], info: Mapping[str, Any], asked: list[tuple[Any, int, Any]]) -> bool:
    """Return whether the input's log-probabilities are of every token of the prompt.

    Raises:
        ReadError: they are of other tokens than the record's input.

    """
    whole = record.get("input_ids")
    if whole:
        _same_ids("input_ids", list(whole)[max(0, len(whole) - len(asked)) :], [token for _, token, _ in asked])
        return len(whole) == len(asked)
    return bool(asked) and info.get("prompt_tokens") == len(asked)


def _same_ids(name: str, given: Any, scored: list[int]) -> None:
    """Refuse log-probabilities of other tokens than those the record names beside them.

    Raises:
        ReadError: they differ; the first place is named.

    """
    if not given or not scored or list(given) == scored:
        return
    pairs = enumerate(zip(given, scored, strict=False))
    place = next((number for number, (one, two) in pairs if one != two), min(len(given), len(scored)))
    found = f"{len(given)} {name} and log-probabilities of {len(scored)} tokens that differ from number {place} on"
    msg = f"found {found}, expected the same ids in both; they may be shifted"
    raise ReadError(msg)


def _before(record: Mapping[str, Any], info: Mapping[str, Any], asked: int) -> list[int] | None:
    """Return the input's ids before its first scored one (`logprob_start_len`); None where they are not known."""
    whole = record.get("input_ids")
    if whole:
        return list(whole)[: len(whole) - asked]
    count = info.get("prompt_tokens")
    return None if isinstance(count, int) and count > asked else []


def _without(record: Mapping[str, Any], common: Mapping[str, Any]) -> Rollout:
    """Return a response that came without log-probabilities: its ids where they are given, or its text."""
    ids, text = record.get("output_ids"), record.get("text")
    if ids is None and not isinstance(text, str):
        msg = f"found a response with {list(record)} and neither token log-probabilities, output_ids nor text"
        raise ReadError(msg)
    return Rollout(
        prompt_ids=record.get("input_ids"),
        response_ids=ids,
        response_text=text,
        text_source="text" if ids is None else "exact_ids",
        **prompt_of(record),
        **common,
    )


def _strings(rows: list[tuple[Any, int, Any]]) -> tuple[str, ...] | None:
    """Return the tokens' texts, where the server was asked for them."""
    if not any(isinstance(text, str) for *_, text in rows):
        return None
    return tuple(text if isinstance(text, str) else _UNKNOWN.format(token) for _, token, text in rows)


def _triples(info: Mapping[str, Any], name: str) -> list[tuple[Any, int, Any]]:
    found = []
    for number, triple in enumerate(info.get(name) or []):
        if not isinstance(triple, list | tuple) or len(triple) not in {2, 3}:
            msg = f"found {triple!r:.60} as entry {number} of {name}, expected [log-probability, id, text]"
            raise ReadError(msg)
        found.append((triple[0], triple[1], triple[2] if len(triple) == 3 else None))
    return found


def _rows(raw: Any, count: int) -> list[list[Ranked]]:
    """Return the likeliest tokens of each position; none where they were not asked for."""
    rows = list(raw or [])
    if not rows:
        return [[] for _ in range(count)]
    if len(rows) != count:
        msg = f"found {count} tokens and {len(rows)} rows of top log-probabilities; expected one a token"
        raise ReadError(msg)
    return [[Ranked(entry[1], value) for entry, value in zip(row or [], _values(row), strict=True)] for row in rows]


def _values(row: Any) -> list[float]:
    found: list[float] = per_token("top log-probabilities", [entry[0] for entry in row or []]).tolist()
    return found


def _rank(token: int, row: list[Ranked]) -> int:
    """Return a token's rank, where it is among the likeliest; 0 where that is not known."""
    own = [entry.logprob for entry in row if entry.token == token]
    return 1 + sum(entry.logprob > own[0] for entry in row) if own else 0
