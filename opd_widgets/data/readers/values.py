"""What readers of several formats share: statuses, rewards, per-token values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.plain import floats_of
from opd_widgets.data.rollout import Status
from opd_widgets.errors import ReadError, RolloutError

if TYPE_CHECKING:
    from numpy.typing import NDArray

REWARD_IS_NAN = "reward_is_nan"  # the metadata's entry of a rollout whose reward is missing because it was NaN
_STATUS: dict[str, Status] = {
    **dict.fromkeys(
        ("stop", "completed", "complete", "done", "eos", "end_turn", "stop_sequence", "tool_calls"), "stop"
    ),
    **dict.fromkeys(("length", "truncated", "max_tokens", "max_length"), "truncated"),
    **dict.fromkeys(("abort", "aborted", "failed", "error", "cancelled", "content_filter"), "aborted"),
}


def status_of(reason: object) -> Status:
    """Return how a rollout ended, by the word an engine has for it; SGLang's `{"type": "stop"}` too."""
    if isinstance(reason, Mapping):
        reason = reason.get("type")
    return _STATUS.get(reason.lower(), "unknown") if isinstance(reason, str) else "unknown"


def per_token(name: str, raw: object) -> NDArray[np.float32]:
    """Return a list of values, one a token, as float32: None is missing, and "-inf" is what JSON has no word for.

    Raises:
        ReadError: not a list of numbers.

    """
    if isinstance(raw, str | Mapping) or not isinstance(raw, Iterable):
        msg = f"{name} is of type {type(raw).__name__}, expected a list of numbers, one a token"
        raise ReadError(msg)
    try:
        return floats_of(name, raw)
    except RolloutError as error:
        raise ReadError(str(error)) from error


def mask_of(name: str, raw: object) -> list[bool]:
    """Return a mask's values; a mask says 0 or 1, and anything between or beside them is no answer.

    Raises:
        ReadError: not a list of 0 and 1, or of False and True.

    """
    listed = list(raw) if isinstance(raw, Iterable) and not isinstance(raw, str | Mapping) else [raw]
    for number, value in enumerate(listed):
        if not isinstance(value, Real | np.bool_) or value not in {0, 1}:
            msg = (
                f"found {value!r:.40} as value {number} of {name}, expected 0 or 1: whether the student wrote the token"
            )
            raise ReadError(msg)
    return [bool(value) for value in listed]


def without_placeholders(values: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the values with NaN where a 0.0 stands for a token that the student did not write.

    Arrays of two lengths are returned as they are: `Rollout` names both.
    """
    if len(values) != len(mask):
        return values
    return np.where(~mask & (values == 0), np.float32(np.nan), values)


def numeric(value: object) -> bool:
    """Return whether a value is a number or stands for a missing one; True and False are none here."""
    if isinstance(value, np.generic):
        value = value.item()
    return value is None or (isinstance(value, Real) and not isinstance(value, bool))


def is_nan(value: object) -> bool:
    """Return whether a value is the number that is none."""
    return isinstance(value, float) and math.isnan(value)


def named_rewards(raw: object) -> tuple[Any, dict[str, Any]]:
    """Split a reward into what `Rollout.reward` holds and the rest, which goes to the metadata."""
    if not isinstance(raw, Mapping):
        return raw, {}
    numbers = {str(name): value for name, value in raw.items() if numeric(value)}
    rest = {str(name): value for name, value in raw.items() if not numeric(value)}
    return numbers or None, ({"reward": rest} if rest else {})


def text_of(value: object) -> str:
    """Return a name or number as text; nothing as the empty text."""
    return "" if value is None else str(value)


def rest_of(record: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return what a reader has no place for: it becomes metadata."""
    return {str(key): value for key, value in record.items() if key not in known and value is not None}
