"""The project's own format: one JSON object a line, everything a rollout holds.

A real dump has been tried: the format is written and read here. Values that JSON cannot hold are written as null
(missing) and "-inf".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.message import parse_messages
from opd_widgets.data.plain import floats_of, json_float, json_text, json_value
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.topk import TopK
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.data.whole_file import whole_file
from opd_widgets.errors import ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "opd_widgets"
MARK = "opd_widgets.rollout"
VERSION = 1
_PLAIN = ("id", "prompt_text", "response_text", "question", "outcome", "reward", "status", "step", "text_source")


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    return record.get("format") == MARK


def write_rollouts(rollouts: Iterable[Rollout], path: str | Path) -> Path:
    """Write rollouts, one a line; an existing file is replaced only when all lines are written.

    Returns:
        The path written.

    Raises:
        InvalidInputError: no file can be written there, or metadata that JSON has no form for.

    """
    with whole_file(path) as file:
        for rollout in rollouts:
            file.write(json_text(to_record(rollout)) + "\n")
    return Path(path).expanduser()


def to_record(rollout: Rollout) -> dict[str, Any]:
    """Return a rollout as plain JSON values."""
    record: dict[str, Any] = {"format": MARK, "version": VERSION}
    plain = {name: getattr(rollout, name) for name in _PLAIN}
    record |= {name: json_value(name, value) for name, value in plain.items() if value is not None}
    for name in ("prompt_ids", "response_ids"):
        value = getattr(rollout, name)
        if value is not None:
            record[name] = value.tolist()
    for name in ("messages", "turns"):
        value = getattr(rollout, name)
        if value is not None:
            record[name] = [message.to_dict() for message in value]
    if rollout.tokens is not None:
        record["tokens"] = list(rollout.tokens)
    if rollout.token_bytes is not None:
        record["token_bytes"] = [data.hex() for data in rollout.token_bytes]
    if rollout.response_mask is not None and not rollout.response_mask.all():
        record["response_mask"] = rollout.response_mask.tolist()
    if rollout.tracks:
        record["tracks"] = {name: _track_record(track) for name, track in rollout.tracks.items()}
    if rollout.metadata:
        record["metadata"] = json_value(f"rollout {rollout.id!r}: metadata", rollout.metadata)
    return record


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the one rollout a record holds.

    Raises:
        ReadError: a version this package does not know.

    """
    if record.get("version") != VERSION:
        msg = (
            f"found version {record.get('version')!r} of the opd_widgets format, expected {VERSION}; update the package"
        )
        raise ReadError(msg)
    fields: dict[str, Any] = {name: record[name] for name in _PLAIN if name in record}
    fields["reward"] = _reward(record.get("reward"))
    for name in ("prompt_ids", "response_ids", "response_mask", "tokens"):
        if record.get(name) is not None:
            fields[name] = record[name]
    if record.get("token_bytes") is not None:
        fields["token_bytes"] = [bytes.fromhex(text) for text in record["token_bytes"]]
    for name in ("messages", "turns"):
        if record.get(name) is not None:
            fields[name] = parse_messages(record[name])
    fields["tracks"] = {name: _track(value) for name, value in _mapping(record, "tracks").items()}
    fields["metadata"] = _mapping(record, "metadata")
    return [Rollout(**fields)]


def _track_record(track: LogprobTrack) -> dict[str, Any]:
    record: dict[str, Any] = {
        "logprobs": [json_float(v) for v in track.logprobs.tolist()],
        "provenance": asdict(track.provenance),
    }
    if track.censored is not None and track.censored.any():
        record["censored"] = track.censored.tolist()
    if track.rank is not None:
        record["rank"] = track.rank.tolist()
    if track.entropy is not None:
        record["entropy"] = [json_float(v) for v in track.entropy.tolist()]
    if track.topk is not None:
        record["topk"] = {
            "k": track.topk.k,  # the two lists do not say it where the response is empty
            "ids": track.topk.ids.tolist(),
            "logprobs": [[json_float(v) for v in row] for row in track.topk.logprobs.tolist()],
        }
    if track.context_hash:
        record["context_hash"] = track.context_hash
    return record


def _mapping(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        msg = f"{name} is of type {type(value).__name__}, expected a JSON object"
        raise ReadError(msg)
    return value


def _reward(value: Any) -> Any:
    """Return a reward with its infinities, which JSON holds as text."""
    if isinstance(value, Mapping):
        return {name: _reward(entry) for name, entry in value.items()}
    return float(value) if value in {"inf", "-inf"} else value


def _topk(record: Mapping[str, Any]) -> TopK:
    rows = [_floats(row) for row in record["logprobs"]]
    empty = (0, int(record.get("k", 0)))
    return TopK(
        np.asarray(record["ids"], np.int32) if rows else np.zeros(empty, np.int32),
        np.stack(rows) if rows else np.zeros(empty, np.float32),
    )


def _track(record: Mapping[str, Any]) -> LogprobTrack:
    if not isinstance(record, Mapping):
        msg = f"found a track of type {type(record).__name__}, expected a JSON object with 'logprobs'"
        raise ReadError(msg)
    topk = record.get("topk")
    return LogprobTrack(
        _floats(record["logprobs"]),
        rank=None if record.get("rank") is None else np.asarray(record["rank"], np.int32),
        entropy=None if record.get("entropy") is None else _floats(record["entropy"]),
        topk=None if topk is None else _topk(topk),
        censored=None if record.get("censored") is None else np.asarray(record["censored"], bool),
        provenance=Provenance(**_mapping(record, "provenance")),
        context_hash=record.get("context_hash", ""),
    )


def _floats(values: Iterable[float | str | None]) -> NDArray[np.float32]:
    return floats_of("values", values)
