"""Foreign values made plain: numbers to Python's own, lists to arrays, anything to JSON that a file can hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.errors import InvalidInputError, RolloutError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def array_of(name: str, raw: object, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return a list of numbers as an array of its own.

    Raises:
        RolloutError: ragged, or not numbers of that kind.

    """
    try:
        return np.array(raw, dtype=dtype)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        wanted = "numbers" if dtype is None else f"{np.dtype(dtype).name} values"
        msg = f"{name} cannot be read: {error}; expected a list of {wanted}, one a token"
        raise RolloutError(msg) from error


def number_of(name: str, raw: object) -> float | None:
    """Return a number as Python's float; None and NaN are both "missing".

    Raises:
        RolloutError: not a number.

    """
    value = _item(raw)
    if value is None:
        return None
    if not isinstance(value, Real):
        msg = f"{name} is {raw!r}, expected a number or None"
        raise RolloutError(msg)
    try:
        number = float(value)
    except OverflowError as error:
        msg = f"{name} is too large for a float"
        raise RolloutError(msg) from error
    return None if math.isnan(number) else number


def floats_of(name: str, values: Iterable[Any]) -> NDArray[np.float32]:
    """Return values, one a token, as float32 [R]: None is missing, text such as "-inf" is what JSON has no word for.

    Raises:
        RolloutError: one that is no number; a truth value is none.

    """
    found = []
    for place, value in enumerate(values):
        plain = _item(value)
        try:
            found.append(math.nan if plain is None else _float(plain))
        except (TypeError, ValueError, OverflowError) as error:
            msg = f"found {plain!r:.40} in {name} at token {place}, expected a number, or None where there is none"
            raise RolloutError(msg) from error
    return np.asarray(found, np.float32)


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError  # a mask in the place of numbers: False would pass for a certain token
    return float(value)


def _item(value: Any) -> Any:
    """Return the one value of a scalar of numpy or torch."""
    one = isinstance(value, np.generic) or getattr(value, "shape", None) == ()
    return value.item() if one and hasattr(value, "item") else value


def json_text(value: object) -> str:
    """Return JSON that any UTF-8 file can hold: half a surrogate pair stays escaped, everything else is readable."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_value(where: str, value: Any) -> Any:
    """Return a value of JSON's kinds: NaN as null, infinities as "inf" and "-inf", arrays as lists.

    Raises:
        InvalidInputError: something JSON has no form for.

    """
    value = _item(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return json_float(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(f"{where}[{key!r}]", entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(f"{where}[{index}]", entry) for index, entry in enumerate(value)]
    if isinstance(value, np.ndarray):
        return json_value(where, value.tolist())
    msg = f"{where} is of type {type(value).__name__}, which JSON cannot hold; expected text, numbers, lists, mappings"
    raise InvalidInputError(msg)


def json_float(value: float) -> float | str | None:
    """Return a float as JSON holds it: null for NaN, "inf" and "-inf" for infinities."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
