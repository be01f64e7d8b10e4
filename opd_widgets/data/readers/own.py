"""The project's own format: one JSON object a line, everything a rollout holds.

A real dump has been tried: the format is written and read here. Values that JSON cannot hold are written as null
(missing) and "-inf".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from opd_widgets.data.message import parse_messages
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.topk import TopK
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import ReadError

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

    """
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    with beside.open("w", encoding="utf-8") as file:
        for rollout in rollouts:
            file.write(json.dumps(to_record(rollout), ensure_ascii=False, allow_nan=False) + "\n")
    beside.replace(path)
    return path


def to_record(rollout: Rollout) -> dict[str, Any]:
    """Return a rollout as plain JSON values."""
    record: dict[str, Any] = {"format": MARK, "version": VERSION}
    record |= {name: getattr(rollout, name) for name in _PLAIN if getattr(rollout, name) not in (None, "")}
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
    if rollout.response_mask is not None and not rollout.response_mask.all():
        record["response_mask"] = rollout.response_mask.tolist()
    if rollout.tracks:
        record["tracks"] = {name: _track_record(track) for name, track in rollout.tracks.items()}
    if rollout.metadata:
        record["metadata"] = dict(rollout.metadata)
    return record


def from_record(record: Mapping[str, Any]) -> Rollout:
    """Return the rollout a record holds.

    Raises:
        ReadError: a version this package does not know.

    """
    if record.get("version") != VERSION:
        msg = (
            f"found version {record.get('version')!r} of the opd_widgets format, expected {VERSION}; update the package"
        )
        raise ReadError(msg)
    fields: dict[str, Any] = {name: record[name] for name in _PLAIN if name in record}
    for name in ("prompt_ids", "response_ids", "response_mask"):
        if record.get(name) is not None:
            fields[name] = np.asarray(record[name], dtype=bool if name == "response_mask" else None)
    for name in ("messages", "turns"):
        if record.get(name) is not None:
            fields[name] = parse_messages(record[name])
    if record.get("tokens") is not None:
        fields["tokens"] = tuple(record["tokens"])
    fields["tracks"] = {name: _track(value) for name, value in record.get("tracks", {}).items()}
    fields["metadata"] = record.get("metadata", {})
    return Rollout(**fields)


def _track_record(track: LogprobTrack) -> dict[str, Any]:
    record: dict[str, Any] = {
        "logprobs": [_json(v) for v in track.logprobs.tolist()],
        "provenance": asdict(track.provenance),
    }
    if track.censored is not None and track.censored.any():
        record["censored"] = track.censored.tolist()
    if track.rank is not None:
        record["rank"] = track.rank.tolist()
    if track.entropy is not None:
        record["entropy"] = [_json(v) for v in track.entropy.tolist()]
    if track.topk is not None:
        record["topk"] = {
            "ids": track.topk.ids.tolist(),
            "logprobs": [[_json(v) for v in row] for row in track.topk.logprobs.tolist()],
        }
    if track.context_hash:
        record["context_hash"] = track.context_hash
    return record


def _track(record: Mapping[str, Any]) -> LogprobTrack:
    topk = record.get("topk")
    return LogprobTrack(
        _floats(record["logprobs"]),
        rank=None if record.get("rank") is None else np.asarray(record["rank"], np.int32),
        entropy=None if record.get("entropy") is None else _floats(record["entropy"]),
        topk=None
        if topk is None
        else TopK(np.asarray(topk["ids"], np.int32), np.stack([_floats(r) for r in topk["logprobs"]])),
        censored=None if record.get("censored") is None else np.asarray(record["censored"], bool),
        provenance=Provenance(**record.get("provenance", {})),
        context_hash=record.get("context_hash", ""),
    )


def _json(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _floats(values: Iterable[float | str | None]) -> np.ndarray:
    return np.asarray([np.nan if value is None else float(value) for value in values], dtype=np.float32)
