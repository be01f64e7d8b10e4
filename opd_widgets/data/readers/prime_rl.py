"""prime-rl: `token_exports/step_S/rank_R.jsonl` and `rollouts/step_N/.../traces.jsonl`.

A token export has ids and log-probabilities, no text, no teacher, and nothing that says which rollouts answer the same
question. null is missing. What stands at tokens that were not sampled is a placeholder, and so is the first token's
log(1/V). A step is complete once its folder holds the file STABLE: look for it before reading. A trace file has one
episode a line, whose traces are read as those of `verifiers`. A real dump has been tried: no, written from the
published shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from opd_widgets.data.readers import verifiers
from opd_widgets.data.readers.foreign import one_a_token, only_where, step_of
from opd_widgets.data.readers.values import mask_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import ReadError

NAME = "prime_rl"
_VERSION = 1
_LOGPROBS = {
    "inference_logprobs": Provenance(engine="vllm"),
    "trainer_logprobs": Provenance(engine="prime_rl trainer", logprob_mode="processed"),  # divided by temperature
}
_PER_TOKEN = ("advantages", "entropy", "mismatch_kl", "ref_kl_weights")
_NAMES = (
    "env_name", "rank", "run_id", "export_step", "micro_step", "micro_sequence_idx", "export_sequence_idx",
)  # fmt: skip


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    export = {"schema_version", "token_ids", "loss_mask"} <= record.keys() and bool(_LOGPROBS.keys() & record.keys())
    return export or (isinstance(record.get("traces"), list) and bool({"env", "task", "group"} & record.keys()))


def parts(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield an episode once for each of its traces, so that a broken one costs that one."""
    traces = record.get("traces")
    yield from [{**record, "traces": [trace]} for trace in traces] if traces else [record]


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollout of an export, or all rollouts of an episode.

    Raises:
        ReadError: an unknown version, lists that do not fit each other, a trace that cannot be read.

    """
    return _episode(record) if "traces" in record else [_export(record)]


def _export(record: Mapping[str, Any]) -> Rollout:
    if record["schema_version"] != _VERSION:
        msg = f"found schema_version {record['schema_version']!r} of prime-rl's token export, expected {_VERSION}"
        raise ReadError(msg)
    ids = _ids(record)
    mask = one_a_token("loss_mask values", record["loss_mask"], len(ids), "token_ids")
    mask = mask_of("loss_mask", mask)
    start = mask.index(True) if True in mask else len(ids)
    scored = [sampled and position > 0 for position, sampled in enumerate(mask)]
    found = {}
    for name in _LOGPROBS:
        if record.get(name) is not None:
            values = only_where(scored, one_a_token(name, record[name], len(ids), "token_ids"))[start:]
            if any(value is not None for value in values):
                found[name] = values
    # What the engine sampled with is the student's; the trainer's own pass is kept beside it.
    tracks = {}
    if found:
        student = next(iter(found))
        tracks["student"] = LogprobTrack.from_optional(found.pop(student), _LOGPROBS[student])
    metadata: dict[str, Any] = {name: record[name] for name in _NAMES if record.get(name) is not None}
    for name in _PER_TOKEN:
        if record.get(name) is not None:
            values = one_a_token(name, record[name], len(ids), "token_ids")[start:]
            metadata |= {name: values} if any(value is not None for value in values) else {}
    return Rollout(
        id="",
        prompt_ids=ids[:start],
        response_ids=ids[start:],
        response_mask=mask[start:],  # type: ignore[arg-type]  # the record makes it one
        step=step_of(record.get("step")),
        tracks=tracks,
        metadata={**metadata, **found},
    )


def _ids(record: Mapping[str, Any]) -> Any:
    ids = record["token_ids"]
    if not isinstance(ids, list):
        msg = f"found token_ids of type {type(ids).__name__}, expected a list"
        raise ReadError(msg)
    return ids


def _episode(record: Mapping[str, Any]) -> list[Rollout]:
    rollouts: list[Rollout] = []
    for trace in record["traces"]:
        if not isinstance(trace, Mapping) or not verifiers.matches(trace):
            keys = list(trace)[:6] if isinstance(trace, Mapping) else type(trace).__name__
            msg = f"found a trace with {keys}, expected one of verifiers, with 'nodes'"
            raise ReadError(msg)
        rollouts += verifiers.from_record(trace)
    if not rollouts:
        msg = "found an episode without traces, expected at least one"
        raise ReadError(msg)
    about = {name: record[name] for name in ("env", "task", "group", "run") if record.get(name) is not None}
    group = record.get("group")
    question = str(group["id"]) if isinstance(group, Mapping) and group.get("id") is not None else ""
    return [
        replace(rollout, question=question or rollout.question, metadata={**about, **rollout.metadata})
        for rollout in rollouts
    ]
