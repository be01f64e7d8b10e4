"""verifiers: traces of version 1 (a tree of turns) and the older `results.jsonl`.

Each way from a root to a leaf is one rollout. A turn's log-probabilities are compact, one for each True of its mask,
and are put back where they belong; `reference_logprobs` become the track "teacher". Whoever wrote them may have put
0.0 for a value that was missing; that cannot be told here. A trace without token ids is read as text. A real dump has
been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opd_widgets.data.message import Message, parse_messages
from opd_widgets.data.readers.foreign import conversation, ended, one_a_token
from opd_widgets.data.readers.values import mask_of, rest_of
from opd_widgets.data.rollout import Rollout, Status
from opd_widgets.data.track import LogprobTrack
from opd_widgets.errors import InvalidInputError, ReadError

NAME = "verifiers"
_TRACKS = {"student": "logprobs", "teacher": "reference_logprobs"}
_RESULT = frozenset({
    "example_id", "prompt", "completion", "reward", "is_truncated", "is_completed", "stop_condition", "error",
})  # fmt: skip


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    nodes = record.get("nodes")
    if isinstance(nodes, list):
        return bool({"rewards", "stop_condition", "calls"} & record.keys()) or any(
            isinstance(node, Mapping) and "message" in node and "parent" in node for node in nodes[:1]
        )
    return {"example_id", "prompt", "completion", "reward"} <= record.keys()


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return a rollout for each branch of a trace, or the one of a result.

    Raises:
        ReadError: parents that make no tree, lists that do not fit each other, no turn of the model's.
        InvalidInputError: a text-only trace with turns that are no text.

    """
    return _from_trace(record) if isinstance(record.get("nodes"), list) else [_from_result(record)]


def _from_result(record: Mapping[str, Any]) -> Rollout:
    status = ended(record.get("stop_condition"))
    if status == "unknown" and (record.get("is_completed") or record.get("stop_condition")):
        status = "stop"
    return Rollout(
        id="",
        reward=record.get("reward"),
        status="truncated" if record.get("is_truncated") else "aborted" if record.get("error") else status,
        metadata={
            "example_id": record["example_id"],
            **rest_of(record, _RESULT),  # metrics among them, by name
            **{name: record[name] for name in ("stop_condition", "error") if record.get(name)},
        },
        **conversation(record["prompt"], record["completion"]),
    )


def _from_trace(record: Mapping[str, Any]) -> list[Rollout]:
    nodes = record["nodes"]
    branches = [branch for branch in _branches(nodes) if any(node.get("sampled") for _, node in branch)]
    if not branches:
        msg = f"found {len(nodes)} turns and none that the model wrote; expected at least one with sampled: true"
        raise ReadError(msg)
    name = record.get("id")
    shared = {"reward": _rewards(record), "metadata": _metadata(record)}
    rollouts = []
    for number, branch in enumerate(branches):
        own = {"id": "" if not name else f"{name}/{number}" if len(branches) > 1 else str(name)}
        own["status"] = _status(record, branch)
        path = [node for _, node in branch]
        made = _by_ids(path) if any(node.get("token_ids") for node in path) else _by_text(path)
        made["question"] = _task(record) or made.get("question") or _last_user(path)
        rollouts.append(Rollout(**{**shared, **made, **own}))
    return rollouts


def _branches(nodes: Sequence[Any]) -> Iterator[list[tuple[int, Mapping[str, Any]]]]:
    """Walk from every leaf to its root. A parent stands before its children, so there is no circle."""
    parents = set()
    for number, node in enumerate(nodes):
        parent = node.get("parent") if isinstance(node, Mapping) else "?"
        if parent is not None and not (isinstance(parent, int) and 0 <= parent < number):
            msg = f"found turn {number} with parent {parent!r}, expected null or the number of an earlier turn"
            raise ReadError(msg)
        if not isinstance(node.get("message"), Mapping):
            msg = f"found turn {number} with a message of type {type(node.get('message')).__name__}, expected a turn"
            raise ReadError(msg)
        parents.add(parent)
    for leaf in range(len(nodes)):
        if leaf in parents:
            continue
        path: list[tuple[int, Mapping[str, Any]]] = []
        at: int | None = leaf
        while at is not None:
            path.append((at, nodes[at]))
            at = nodes[at].get("parent")
        yield path[::-1]


def _by_ids(path: list[Mapping[str, Any]]) -> dict[str, Any]:
    ids: list[int] = []
    mask: list[bool] = []
    tracks: dict[str, list[float | None]] = {name: [] for name in _TRACKS}
    for node in path:
        new = node.get("token_ids") or []
        said = (node.get("message") or {}).get("content")
        if node.get("sampled") and not new and (said or node.get("token_ids") is None):
            msg = "found a turn the model wrote without token_ids beside turns that have them; expected ids for all"
            raise ReadError(msg)
        kept = node.get("mask")
        kept = [bool(node.get("sampled"))] * len(new) if kept is None else one_a_token("mask values", kept, len(new))
        ids += new
        mask += mask_of("mask", kept)
        for name, field in _TRACKS.items():
            tracks[name] += _scattered(field, node.get(field), kept)
    start = mask.index(True) if True in mask else len(ids)
    first = next(i for i, node in enumerate(path) if node.get("sampled"))
    known = {name: values[start:] for name, values in tracks.items()}
    only = path[-1] if path[-1].get("sampled") and first == len(path) - 1 else {}
    text = (only.get("message") or {}).get("content")
    return {
        "prompt_ids": ids[:start],
        "response_ids": ids[start:],
        "response_mask": mask[start:],
        "messages": _messages(path[:first]),
        "response_text": text if isinstance(text, str) else None,
        "tracks": {
            name: LogprobTrack.from_optional(values)
            for name, values in known.items()
            if any(value is not None for value in values)
        },
    }


def _scattered(field: str, compact: Any, mask: Sequence[object]) -> list[float | None]:
    """Put values with one for each True of the mask back at their tokens."""
    count = sum(map(bool, mask))
    values = iter(one_a_token(field, compact, count, "sampled tokens") if compact else [None] * count)
    return [next(values) if kept else None for kept in mask]


def _messages(path: list[Mapping[str, Any]]) -> tuple[Message, ...] | None:
    try:
        return parse_messages([node["message"] for node in path])
    except (InvalidInputError, KeyError):
        return None  # pictures or tool calls: the ids are exact all the same, only no context can be rendered anew


def _by_text(path: list[Mapping[str, Any]]) -> dict[str, Any]:
    first = next(i for i, node in enumerate(path) if node.get("sampled"))
    last = max(i for i, node in enumerate(path) if node.get("sampled"))
    turns = [node.get("message") for node in path]
    return conversation(turns[:first], turns[first : last + 1])


def _status(record: Mapping[str, Any], branch: list[tuple[int, Mapping[str, Any]]]) -> Status:
    condition = record.get("stop_condition")
    path = {number for number, _ in branch}
    calls = [call for call in record.get("calls") or [] if call.get("node") in path]
    reasons = [call.get("finish_reason") for call in calls] + [node.get("finish_reason") for _, node in branch]
    last = ended(next((reason for reason in reversed(reasons) if reason), None))
    whole = ended(condition)
    if "truncated" in (whole, last):
        return "truncated"
    if whole == "aborted" or (record.get("errors") and not record.get("ok")):
        return "aborted"
    return "stop" if condition else last


def _rewards(record: Mapping[str, Any]) -> dict[str, float | None] | None:
    """Return the scores by name, before their weights; None where scoring did not run."""
    rewards = record.get("rewards") or {}
    if not isinstance(rewards, Mapping):
        msg = f"found rewards {rewards!r:.60}, expected them by name"
        raise ReadError(msg)
    return {
        name: value.get("score") if isinstance(value, Mapping) else value for name, value in rewards.items()
    } or None


def _metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    weights = {
        name: value["weight"]
        for name, value in (record.get("rewards") or {}).items()
        if isinstance(value, Mapping) and "weight" in value
    }
    kept = {name: record[name] for name in ("task", "info", "stop_condition", "errors") if record.get(name)}
    return {**(record.get("metrics") or {}), **kept, **({"weights": weights} if weights else {})}


def _task(record: Mapping[str, Any]) -> str:
    task = record.get("task")
    if not isinstance(task, Mapping):
        return ""
    return str(next((task[name] for name in ("key", "hash") if task.get(name)), ""))


def _last_user(path: list[Mapping[str, Any]]) -> str:
    first = next(i for i, node in enumerate(path) if node.get("sampled"))
    said = [node.get("message") or {} for node in path[:first]]
    texts = [turn.get("content") for turn in said if turn.get("role") == "user"]
    return texts[-1] if texts and isinstance(texts[-1], str) else ""
