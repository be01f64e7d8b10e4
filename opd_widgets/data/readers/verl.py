"""verl: `{step}.jsonl` of `rollout_data_dir` and `validation_data_dir`.

Text only, decoded without special tokens: role names stand glued into `input`, so turns and template cannot be told
from it, and a tool's output stands in `output` without a mask. The last line of a file still being written may be cut
off. A score of NaN, which verl writes as the text "NaN", is a missing reward. A real dump has been tried: no, written
from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.readers.values import REWARD_IS_NAN, is_nan, rest_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "verl"
_KNOWN = ("input", "output", "score", "step")


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    return isinstance(record.get("input"), str) and isinstance(record.get("output"), str) and "score" in record


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the one rollout a record holds.

    Raises:
        ReadError: a score that is no number.

    """
    score = _number(record["score"])
    return [
        Rollout(
            id="",
            prompt_text=record["input"],
            response_text=record["output"],
            question=record["input"],
            reward=score,
            step=record.get("step"),
            text_source="text",
            metadata=rest_of(record, _KNOWN) | ({REWARD_IS_NAN: True} if is_nan(score) else {}),
        )
    ]


def _number(raw: object) -> Any:
    """Return the score; verl writes what JSON has no form for, such as numpy's numbers, as text."""
    if not isinstance(raw, str):
        return raw
    try:
        return float(raw)
    except ValueError as error:
        msg = f"found score {raw!r}, expected a number"
        raise ReadError(msg) from error
