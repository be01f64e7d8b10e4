"""ms-swift: `completions.jsonl`, as columns (one line a log call, many rollouts) or as rows (one line a rollout).

Which of the two is told from the values. Text only, decoded from rendered prompts. Columns of numbers are rewards, but
for those known to be something else. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.readers.foreign import are_turns, conversation, is_number, one_a_token, step_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "ms_swift"
_STEPS = ("step", "gen_step")
_NO_REWARD = frozenset({
    "step", "gen_step", "prompt", "completion", "advantages", "advantage", "entropy", "num_turns", "finish_reason",
    "is_truncated",
})  # fmt: skip


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    if not {"prompt", "completion"} <= record.keys():
        return False
    if _columnar(record):
        return any(isinstance(record.get(name), list) for name in _STEPS)
    return "gen_step" in record


def _columnar(record: Mapping[str, Any]) -> bool:
    prompts = record["prompt"]
    return isinstance(prompts, list) and not are_turns(prompts)


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollouts a line holds.

    Raises:
        ReadError: columns of different lengths, a field that is not there or no text.

    """
    if not _columnar(record):
        return [_row(record)]
    count = len(record["prompt"])
    columns = {name: one_a_token(name, values, count, "prompts") for name, values in _columns(record).items()}
    single = {name: value for name, value in record.items() if name not in columns}
    rewards = {name for name, values in columns.items() if _is_reward(name, values)}
    rows = [{name: values[row] for name, values in columns.items()} for row in range(count)]
    return [_row({**single, **row}, rewards) for row in rows]


def _columns(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values for name, values in record.items() if isinstance(values, list)}


def _is_reward(name: str, values: list[Any]) -> bool:
    """Return whether a column holds a reward: numbers, some perhaps missing."""
    known = [value for value in values if value is not None]
    return name not in _NO_REWARD and bool(known) and all(map(is_number, known))


def _row(row: Mapping[str, Any], rewards: set[str] | None = None) -> Rollout:
    for name in ("prompt", "completion"):
        if not isinstance(row.get(name), str) and not are_turns(row.get(name)):
            msg = f"found a {name} of type {type(row.get(name)).__name__}, expected a text"
            raise ReadError(msg)
    if rewards is None:
        rewards = {name for name, value in row.items() if _is_reward(name, [value])}
    named = {name: row[name] for name in row if name in rewards}
    used = {*rewards, *_STEPS, "prompt", "completion"}
    return Rollout(
        id="",
        reward=named["reward"] if list(named) == ["reward"] else named or None,
        status="truncated" if row.get("is_truncated") else "unknown",
        step=step_of(next((row[name] for name in _STEPS if row.get(name) is not None), None)),
        metadata={name: value for name, value in row.items() if name not in used},
        **conversation(row["prompt"], row["completion"]),
    )
