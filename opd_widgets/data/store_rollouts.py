"""Rollouts and pieces of a run as tables: columns for people, and one of JSON that loses nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.piece import Piece
from opd_widgets.data.plain import json_text
from opd_widgets.data.readers.own import from_record, to_record
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.store_files import need_pyarrow
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_IDS = ("prompt_ids", "response_ids")  # columns of their own, not in the JSON as well


def rollouts_table(rollouts: Sequence[Rollout]) -> Any:
    """Return one row a rollout.

    Columns: `rollout` (its index, as in the shards), `id`, `question`, `outcome`, `status`, `step`, `text_source`,
    `reward` (null where there is none or several), `prompt_text`, `response_text`, `prompt_ids`, `response_ids`,
    `response_mask`, and `record`: JSON that holds all but the ids, exactly. Text that is no Unicode has U+FFFD in the
    columns and is whole in `record`.

    Raises:
        InvalidInputError: metadata that JSON has no form for.

    """
    pa = need_pyarrow()
    text, ids = pa.string(), pa.list_(pa.int32())
    columns: dict[str, Any] = {"rollout": pa.array(range(len(rollouts)), pa.int32())}
    for name in ("id", "question", "outcome", "status", "text_source", "prompt_text", "response_text"):
        columns[name] = pa.array([readable(getattr(rollout, name)) for rollout in rollouts], text)
    columns["step"] = pa.array([rollout.step for rollout in rollouts], pa.int64())
    rewards = [rollout.reward for rollout in rollouts]
    columns["reward"] = pa.array([None if isinstance(r, Mapping) else r for r in rewards], pa.float64())
    for name in _IDS:
        columns[name] = pa.array([getattr(rollout, name) for rollout in rollouts], ids)
    columns["response_mask"] = pa.array([rollout.response_mask for rollout in rollouts], pa.list_(pa.bool_()))
    columns["record"] = pa.array([_record(rollout) for rollout in rollouts], pa.large_string())
    return pa.table(columns)


def rollouts_of(table: Any) -> tuple[Rollout, ...]:
    """Return the rollouts of a table, in its order."""
    made: list[Rollout] = []
    ids = {name: table.column(name) for name in _IDS}
    for index, text in enumerate(table.column("record").to_pylist()):
        record = json.loads(text)
        for name, column in ids.items():
            if column[index].is_valid:
                record[name] = np.asarray(column[index].values, np.int32)
        exact = record.pop("exact_metadata", {})
        made += from_record({**record, "metadata": exact})
    return tuple(made)


def hash_of(rollouts: Sequence[Rollout]) -> str:
    """Return a short name for all that rollouts hold: equal rollouts in equal order, equal names."""
    found = hashlib.blake2b(digest_size=16)
    for rollout in rollouts:
        found.update(_record(rollout).encode("utf-8"))
        for name in _IDS:
            value = getattr(rollout, name)
            found.update(b"none" if value is None else len(value).to_bytes(8, "little") + value.tobytes())
    return found.hexdigest()


def _record(rollout: Rollout) -> str:
    record = {name: value for name, value in to_record(rollout).items() if name not in {*_IDS, "metadata"}}
    text = json_text(record)
    if not rollout.metadata:
        return text
    # The format's own JSON writes NaN as null; here it stays NaN, as Python's JSON spells it.
    exact = json.dumps(_plain(f"rollout {rollout.id!r}: metadata", rollout.metadata))
    return f'{text[:-1]}, "exact_metadata": {exact}}}'


def _plain(where: str, value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{where}[{key!r}]", entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(f"{where}[{index}]", entry) for index, entry in enumerate(value)]
    msg = f"{where} is of type {type(value).__name__}, which JSON cannot hold; expected text, numbers, lists, mappings"
    raise InvalidInputError(msg)


def readable(text: str | None) -> str | None:
    """Return a text that a string column takes: half a surrogate pair becomes U+FFFD."""
    return None if text is None else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def pieces_table(pieces: Mapping[int, Piece]) -> Any:
    """Return one row a token id: `token_id`, `data` (bytes), `special`, and `text` with U+FFFD for what is none."""
    pa = need_pyarrow()
    return pa.table(
        {
            "token_id": pa.array(list(pieces), pa.int32()),
            "data": pa.array([piece.data for piece in pieces.values()], pa.binary()),
            "special": pa.array([piece.special for piece in pieces.values()], pa.bool_()),
            "text": pa.array([piece.data.decode("utf-8", "replace") for piece in pieces.values()], pa.string()),
        }
    )


def pieces_from(table: Any) -> dict[int, Piece]:
    """Return the pieces of a table."""
    columns = (table.column(name).to_pylist() for name in ("token_id", "data", "special"))
    return {token: Piece(data, special) for token, data, special in zip(*columns, strict=True)}


def prompt_hash(prompts: Sequence[NDArray[np.int32]]) -> str:
    """Return a short name for a list of prompts."""
    found = hashlib.blake2b(digest_size=16)
    for ids in prompts:
        found.update(len(ids).to_bytes(8, "little") + np.ascontiguousarray(ids, np.int32).tobytes())
    return found.hexdigest()
