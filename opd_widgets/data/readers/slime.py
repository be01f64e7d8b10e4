"""slime and miles: debug rollout data (`rollout_data/{id}.pt`, or the same as JSON) and miles' dashboard columns.

`tokens` is prompt and response; every other list has `response_length` values. A tool's tokens have loss mask 0 and
0.0 for a log-probability that nobody computed. slime's `train_data/{id}.pt`, columns of samples, is read too; miles'
shards of a rank are not: their tokens lie in zig-zag order and have to be joined first. `opd_reverse_kl` is the
negative of this package's advantage; it stays in the metadata. A real dump has been tried: no, written from the
published shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.message import parse_messages
from opd_widgets.data.readers.values import (
    mask_of,
    named_rewards,
    per_token,
    rest_of,
    status_of,
    text_of,
    without_placeholders,
)
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "slime"
# The sampler's own values are the student's; the trainer's stand in where they were not kept.
_TRACKS = {
    "rollout_log_probs": ("student", "sglang"),
    "log_probs": ("student", "unknown"),
    "teacher_log_probs": ("teacher", "unknown"),
    "ref_log_probs": ("reference", "unknown"),
}
_COLUMNS = {"response_lengths": "response_length", "loss_masks": "loss_mask", "total_lengths": "total_length"}
_KNOWN = frozenset({
    "tokens", "response", "response_length", "total_length", "prompt", "reward", "raw_reward", "loss_mask", "status",
    "group_index", "rollout_id", "metadata", *_TRACKS,
})  # fmt: skip


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    if isinstance(record.get("samples"), list):
        samples = record["samples"]
        return "rollout_id" in record or any(isinstance(sample, Mapping) and _is_sample(sample) for sample in samples)
    return _is_sample(record) or _is_columns(record)


def _is_sample(record: Mapping[str, Any]) -> bool:
    return {"tokens", "response_length"} <= record.keys()


def _is_columns(record: Mapping[str, Any]) -> bool:
    return {"tokens", "response_lengths"} <= record.keys()


def parts(record: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the samples of a dump as records of their own, so that a broken one costs that one."""
    if _is_columns(record):
        columns = {_COLUMNS.get(name, name): values for name, values in record.items()}
        count = len(record["tokens"])
        for row in range(count):
            yield {name: values[row] for name, values in columns.items() if _is_column(values, count)}
    elif "samples" in record:
        for sample in record["samples"]:
            yield {"rollout_id": record.get("rollout_id"), **sample} if isinstance(sample, Mapping) else sample
    else:
        yield record


def _is_column(values: object, count: int) -> bool:
    return isinstance(values, list | tuple | np.ndarray) and len(values) == count


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollouts a dump or a sample holds.

    Raises:
        ReadError: tokens or a length that are not there, values that are no numbers.
        RolloutError: lengths that do not fit each other.

    """
    return [_sample(part) for part in parts(record)]


def _sample(sample: Any) -> Rollout:
    if not isinstance(sample, Mapping) or not _is_sample(sample):
        keys = list(sample)[:6] if isinstance(sample, Mapping) else type(sample).__name__
        msg = f"found a sample with {keys}, expected one with 'tokens' and 'response_length'"
        raise ReadError(msg)
    tokens, length = np.asarray(sample["tokens"]), sample["response_length"]
    if not isinstance(length, int | np.integer) or not 0 <= length <= len(tokens):
        msg = f"found response_length {length!r} and {len(tokens)} tokens; expected a length within them"
        raise ReadError(msg)
    start = len(tokens) - int(length)  # and not tokens[-length:], which is everything where the length is 0
    mask = _mask(sample.get("loss_mask"), int(length))
    reward, rest = named_rewards(sample["reward"] if sample.get("reward") is not None else sample.get("raw_reward"))
    about = sample.get("metadata")
    text = sample.get("response")
    return Rollout(
        id="",
        prompt_ids=tokens[:start],
        response_ids=tokens[start:],
        response_text=text if isinstance(text, str) else None,
        response_mask=mask,
        question=text_of(sample.get("group_index")),
        reward=reward,
        status=status_of(sample.get("status")),
        step=sample.get("rollout_id"),
        tracks=_tracks(sample, mask),
        metadata={**rest_of(sample, _KNOWN), **(about if isinstance(about, Mapping) else {}), **rest},
        **_prompt(sample.get("prompt")),
    )


def _mask(raw: Any, length: int) -> NDArray[np.bool_]:
    return np.ones(length, bool) if raw is None else np.asarray(mask_of("loss_mask", raw), bool)


def _tracks(sample: Mapping[str, Any], mask: NDArray[np.bool_]) -> dict[str, LogprobTrack]:
    tracks: dict[str, LogprobTrack] = {}
    for field, (name, engine) in _TRACKS.items():
        if sample.get(field) is None or name in tracks:
            continue
        values = per_token(field, sample[field])
        if not len(mask) and len(values) == len(sample["tokens"]):
            values = values[:0]  # what `x[-0:]` left of an empty response in earlier versions
        tracks[name] = LogprobTrack(without_placeholders(values, mask), provenance=Provenance(engine))
    return tracks


def _prompt(prompt: Any) -> dict[str, Any]:
    if isinstance(prompt, str):
        return {"prompt_text": prompt}
    return {} if prompt is None else {"messages": parse_messages(prompt)}
