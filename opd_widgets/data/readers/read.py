"""Read rollouts from a file: sniff the format, read line by line, report what could not be read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from opd_widgets.data.readers import messages, own
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError, OpdError, ReadError

FORMATS: dict[str, ModuleType] = {own.NAME: own, messages.NAME: messages}
_SHOWN = 3  # unreadable lines named in a warning or an error


def read_rollouts(  # `format` is the word users of pandas know
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
) -> list[Rollout]:
    """Read rollouts from a JSON Lines file.

    The format is told from the records: the project's own (see `write_rollouts`), or chat `messages`. A line that
    cannot be read costs that line: it is named in a warning and the rest is read.

    Args:
        path: a file.
        format: force one of "opd_widgets", "messages".

    Raises:
        ReadError: no such file, no known format, or nothing in it could be read.
        InvalidInputError: an unknown `format`.

    """
    path = Path(path).expanduser()
    if format is not None and format not in FORMATS:
        msg = f"found format={format!r}, expected one of {list(FORMATS)}"
        raise InvalidInputError(msg)
    if not path.is_file():
        msg = f"found no file at {str(path)!r}; expected a JSON Lines file of rollouts"
        raise ReadError(msg)
    rollouts: list[Rollout] = []
    faults: list[str] = []
    for number, line in _lines(path):
        try:
            rollout = _read(json.loads(line), format)
        except OpdError as error:
            faults.append(f"line {number}: {error}")
            continue
        except Exception as error:  # noqa: BLE001 - whatever a malformed record breaks, it costs that line and is named
            faults.append(f"line {number}: {type(error).__name__}: {error}")
            continue
        rollouts.append(rollout if rollout.id else replace(rollout, id=f"{path.stem}:{number}"))
    _report(path, rollouts, faults)
    return rollouts


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line


def _read(record: object, forced: str | None) -> Rollout:
    if not isinstance(record, Mapping):
        msg = f"found a {type(record).__name__}, expected a JSON object"
        raise ReadError(msg)
    if forced is not None:
        reader: Callable[[Mapping[str, Any]], Rollout] = FORMATS[forced].from_record
        return reader(record)
    for module in FORMATS.values():
        if module.matches(record):
            found: Rollout = module.from_record(record)
            return found
    keys = ", ".join(map(repr, list(record)[:6]))
    msg = f"no known format has the keys {keys}; expected one of {', '.join(FORMATS)}. Force one with format="
    raise ReadError(msg)


def _report(path: Path, rollouts: list[Rollout], faults: list[str]) -> None:
    if not rollouts:
        if not faults:
            msg = f"no rollouts in the file {path.name!r}: it is empty"
            raise ReadError(msg)
        msg = f"no line of {path.name!r} could be read: {'; '.join(faults[:_SHOWN])}"
        raise ReadError(msg)
    if faults:
        more = f" and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        warnings.warn(
            f"{path.name}: {len(rollouts)} rollouts read, {len(faults)} lines not: {'; '.join(faults[:_SHOWN])}{more}",
            stacklevel=3,
        )
