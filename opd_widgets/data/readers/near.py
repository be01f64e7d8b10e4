"""Which one value keeps a record from being in a known format: a null, or a value of another kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.data.readers.registry import sniff

_TURNS = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
_KINDS: tuple[tuple[str, Any], ...] = (
    ("a text", "a"),
    ("a number", 0.0),
    ("an object", {}),
    ("a list", []),
    ("a list of numbers", [1]),
    ("a list of turns", _TURNS),
)
_TRIED = 64  # keys of a record looked at: more than any known format has


def near_miss(record: Mapping[str, Any]) -> str:
    """Return which value of another kind would put a record into a format; nothing where none does.

    A single value is tried first, nulls before others; then all nulls together.
    """
    nulls = [key for key, value in record.items() if value is None]
    others = [key for key in list(record)[:_TRIED] if key not in nulls]
    tried = [*([key] for key in nulls[:_TRIED]), *([nulls] if len(nulls) > 1 else []), *([key] for key in others)]
    for keys in tried:
        for kind, sample in _KINDS:
            found = _kind(record[keys[0]])
            reader = None if found == kind else sniff({**record, **dict.fromkeys(keys, sample)})
            if reader is not None:
                names = ", ".join(map(repr, keys))
                return f"found {found} under {names}, where the format {reader.NAME!r} has {kind}"
    return ""


def _kind(value: object) -> str:
    """Return what JSON calls a value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return "a text" if isinstance(value, str) else "a number"
