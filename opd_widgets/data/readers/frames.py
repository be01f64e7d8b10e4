"""Tables in memory: pandas frames and `datasets` data sets, row by row as records for the other readers.

Neither package is imported: what a table can do tells what it is. Missing values come out as None, numpy's as Python's
own. Real tables have been tried: pandas 3 and `datasets` 5.2, in memory and streamed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opd_widgets.errors import InvalidInputError

_CHUNK = 1024  # rows of a frame turned into records at a time
_MISSING = frozenset({"NAType", "NaTType"})


def is_table(value: object) -> bool:
    """Return whether a value is a table whose rows can be read."""
    return _is_frame(value) or _is_dataset(value)


def records_of(table: Any) -> Iterator[dict[str, Any]]:
    """Yield a table's rows.

    Raises:
        InvalidInputError: no table, several tables under one name, or two columns of one name.

    """
    if _is_frame(table):
        yield from _of_frame(table)
    elif _is_dataset(table):
        if isinstance(table.column_names, Mapping) or isinstance(table, Mapping):
            msg = f"found a data set with the splits {list(table)}, expected one of them: give dataset['train']"
            raise InvalidInputError(msg)
        for row in _unformatted(table):
            yield _record(row.items())
    else:
        msg = f"found a {type(table).__name__}, expected a pandas DataFrame or a datasets.Dataset"
        raise InvalidInputError(msg)


def _is_frame(value: object) -> bool:
    return all(hasattr(value, name) for name in ("iloc", "columns", "to_dict"))


def _is_dataset(value: object) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "__iter__")


def _unformatted(table: Any) -> Any:
    """Return a data set whose rows are mappings: set to pandas or Arrow it yields tables of one row."""
    form = getattr(table, "format", None)
    formatted = isinstance(form, Mapping) and form.get("type") not in {None, "custom"}
    return table.with_format(None) if formatted else table


def _of_frame(frame: Any) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in frame.columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        msg = f"found several columns of one name: {twice}; expected each name once"
        raise InvalidInputError(msg)
    for start in range(0, len(frame), _CHUNK):
        for row in frame.iloc[start : start + _CHUNK].itertuples(index=False, name=None):
            yield _record(zip(names, row, strict=True))


def _record(row: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {str(name): _missing_as_none(_plain(value)) for name, value in row}


def _missing_as_none(value: Any) -> Any:
    """Return None for NaN: in a table it is how an empty field looks. Lists keep theirs."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN alone differs from itself


def _plain(value: Any) -> Any:
    """Return arrays and scalars of numpy, torch and pandas as Python's own."""
    if type(value).__name__ in _MISSING:
        return None
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
