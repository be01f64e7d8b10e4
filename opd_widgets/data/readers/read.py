"""Read rollouts: sniff each file's format, take its records one by one, report what could not be read."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from opd_widgets.data.readers.entries import Entry, entries
from opd_widgets.data.readers.frames import is_table, records_of
from opd_widgets.data.readers.near import near_miss
from opd_widgets.data.readers.outcome import judged
from opd_widgets.data.readers.registry import FORMATS, Reader, sniff
from opd_widgets.data.readers.sources import Places, Source, sources
from opd_widgets.data.readers.unique import Part, names_of, unique
from opd_widgets.data.readers.values import REWARD_IS_NAN
from opd_widgets.data.retokenise import TextTokenizer, text_tokenizer, tokenised
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError, MissingDependencyError, OpdError, ReadError

_SHOWN = 3  # unreadable lines named in a warning or an error
_TABLE = "table"


@dataclass
class _Faults:
    """What could not be read: how often, and the first few by name."""

    count: int = 0
    shown: list[str] = field(default_factory=list)

    def add(self, place: str, what: str) -> None:
        self.count += 1
        if len(self.shown) < _SHOWN:
            self.shown.append(f"{place}: {what}")

    def take(self, other: _Faults, *, whole: bool) -> None:
        """Add another's: all of them, or only the first for a whole file that holds nothing to read."""
        self.count += 1 if whole else other.count
        self.shown = [*self.shown, *(other.shown[:1] if whole else other.shown)][:_SHOWN]

    def __str__(self) -> str:
        more = f" and {self.count - _SHOWN} more" if self.count > _SHOWN else ""
        return "; ".join(self.shown) + more


@dataclass(frozen=True)
class _Options:
    reader: Reader | None
    tokenizer: TextTokenizer | None
    trust_pickle: bool


def read_rollouts(  # `format` is the word users of pandas know
    path: Places | Any,
    *,
    format: str | None = None,  # noqa: A002
    outcome: str | Literal[True] | None = None,
    tokenizer: Any = None,
    trust_pickle: bool = False,
) -> list[Rollout]:
    """Read rollouts from files of any known format.

    The format is told from the records, for each file. JSON Lines, JSON, either of them under gzip or zstd, Parquet,
    and torch files or pickles that are trusted. A line that cannot be read costs that line: it is named, with its file,
    in one warning, and the rest is read. Every rollout has an id of its own: one that stands in several files gets its
    file's name before it ("step_1/rollouts:7"), one that is repeated within a file a number after it ("7#2"), and a
    warning says so. A rollout without an id is named after its file and line.

    Args:
        path: a file, a folder, a glob, or a list of these; or a pandas frame or `datasets` data set.
        format: force one, by its name ("trl", "verl", "slime", "vllm", ...); an unknown name is answered with all.
        outcome: the reward that decides whether a rollout is correct: from 0.5 up, or where it is True. A name in the
            record ("accuracy"; of lm-evaluation-harness a filter, a metric, or "metric,filter"); True for a record's
            only reward. Without it outcomes stay as the source says, mostly "unknown".
        tokenizer: makes ids of rollouts that are text only, which are then marked "retokenised"; a model, its
            tokenizer, or any object with `encode` and `decode`. Where the ids do not give the text back, the rollout's
            metadata says at which place first, under `retokenising_differs`.
        trust_pickle: read `.pt` and pickle files, which can be made to run code. Only plain values, arrays and tensors
            are made from them; anything else is refused.

    Raises:
        ReadError: no such file, no known format, a pickle that is not trusted, or nothing could be read.
        InvalidInputError: an unknown `format`, or an `outcome` that no record has.
        MissingDependencyError: Parquet or zstd without the extra "parquet".

    """
    if format is not None and format not in FORMATS:
        msg = f"found format={format!r}, expected one of {list(FORMATS)}"
        raise InvalidInputError(msg)
    options = _Options(
        None if format is None else FORMATS[format],
        None if tokenizer is None else text_tokenizer(tokenizer),
        trust_pickle,
    )
    faults = _Faults()
    if is_table(path):
        rows = (Entry(number, f"row {number}", row) for number, row in enumerate(records_of(path), 1))
        parts = [Part(_TABLE, _from_entries(rows, _TABLE, options, faults, ""))]
        names = ["the table"]
    else:
        files = sources(path)
        alone = len(files) == 1
        called = zip(files, names_of(files), strict=True)
        parts = [Part(name, _from_file(file, name, options, faults, alone=alone)) for file, name in called]
        names = [file.label for file in files]
    rollouts, renamed = unique(parts)
    _report(names, rollouts, faults, renamed)
    return judged(rollouts, outcome)


def _from_file(source: Source, name: str, options: _Options, faults: _Faults, *, alone: bool) -> list[Rollout]:
    """Return a file's rollouts; one that was only found by searching and holds none is one fault, however long."""
    own = faults if alone or not source.found else _Faults()
    rollouts: list[Rollout] = []
    try:
        read: Iterator[Entry] = entries(source.path, trust_pickle=options.trust_pickle)
        first = next(read, None)
        if first is None and not alone:
            own.add(source.label, "it is empty")
        if first is not None:
            prefix = "" if alone else f"{source.label} "
            rollouts = _from_entries(itertools.chain([first], read), name, options, own, prefix)
    except MissingDependencyError:
        raise
    except OpdError as error:
        if alone:
            raise
        own.add(source.label, str(error))
    if own is not faults and own.count:
        faults.take(own, whole=not rollouts)
    return rollouts


def _from_entries(read: Iterable[Entry], stem: str, options: _Options, faults: _Faults, prefix: str) -> list[Rollout]:
    """Return the rollouts of one file; the format of the last record is tried first for the next."""
    rollouts: list[Rollout] = []
    reader = options.reader
    used: dict[str, Reader] = {}
    for entry in read:
        where, place = f"{prefix}{entry.place}", f"{stem}:{entry.number}"
        if entry.fault:
            faults.add(where, entry.fault)
            continue
        try:
            record = _record(entry.value)
            if options.reader is None and (reader is None or not reader.matches(record)):
                reader = _sniffed(record)
            made = _made(record, reader or _sniffed(record), faults, where, place)
            made = list(_named(made, place))
            if options.tokenizer is not None:
                made = [_with_ids(rollout, options.tokenizer) for rollout in made]
        except OpdError as error:
            faults.add(where, _said(error, place))
            continue
        except Exception as error:  # noqa: BLE001 - whatever a malformed record breaks, it costs that line and is named
            faults.add(where, _misshapen(reader, error))
            continue
        if reader is not None:
            used[reader.NAME] = reader
        rollouts += made
    for reader in used.values():
        merge = getattr(reader, "merge", None)
        rollouts = rollouts if merge is None else list(merge(rollouts))
    return rollouts


def _made(record: Mapping[str, Any], reader: Reader, faults: _Faults, where: str, place: str) -> list[Rollout]:
    """Return a record's rollouts; of a record with parts those parts that can be read.

    Args:
        record: what the file holds there.
        reader: its format.
        faults: takes what cannot be read.
        where: where the record stands, for people.
        place: what a rollout of it without an id is called.

    """
    split = getattr(reader, "parts", None)
    if split is None:
        return reader.from_record(record)
    made: list[Rollout] = []
    for number, part in enumerate(split(record), 1):
        try:
            made += reader.from_record(part)
        except OpdError as error:
            faults.add(f"{where} sample {number}", _said(error, f"{place}.{number}"))
        except Exception as error:  # noqa: BLE001 - as for a whole record
            faults.add(f"{where} sample {number}", _misshapen(reader, error))
    return made


def _said(error: OpdError, place: str) -> str:
    """Return an error's text; a rollout that had no id yet is called as it would have been, by file and line."""
    return str(error).replace("rollout ''", f"rollout {place!r}")


def _misshapen(reader: Reader | None, error: Exception) -> str:
    """Say which format a record was taken for, whose fields are of other kinds than that format's."""
    what = "a known format" if reader is None else f"the format {reader.NAME!r}"
    return f"found a record with the keys of {what} and values of another kind: {type(error).__name__}: {error}"


def _record(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        msg = f"found a {type(value).__name__}, expected a JSON object"
        raise ReadError(msg)
    return value


def _sniffed(record: Mapping[str, Any]) -> Reader:
    found = sniff(record)
    if found is None:
        near = near_miss(record)
        if near:
            raise ReadError(near)
        keys = ", ".join(map(repr, list(record)[:6]))
        msg = f"no known format has the keys {keys}; expected one of {', '.join(FORMATS)}. Force one with format="
        raise ReadError(msg)
    return found


def _with_ids(rollout: Rollout, tokenizer: TextTokenizer) -> Rollout:
    """Return text with ids; what came with ids or token strings of its own is left as it is."""
    return tokenised(rollout, tokenizer) if rollout.text_source == "text" else rollout


def _named(made: Sequence[Rollout], place: str) -> Iterator[Rollout]:
    """Name rollouts that have no id after their place; several of one record by number."""
    for number, rollout in enumerate(made, 1):
        name = place if len(made) == 1 else f"{place}.{number}"
        yield rollout if rollout.id else replace(rollout, id=name)


def _report(names: Sequence[str], rollouts: Sequence[Rollout], faults: _Faults, renamed: str) -> None:
    """Say what could not be read, what was read under another id, and which rewards are missing.

    Raises:
        ReadError: nothing could.

    """
    what = names[0] if len(names) == 1 else f"{len(names)} files"
    if not rollouts:
        if not faults.count:
            msg = f"no rollouts in {'the file ' if len(names) == 1 else ''}{what!r}: it is empty"
            raise ReadError(msg)
        msg = f"no line could be read in {what!r}: {faults}"
        raise ReadError(msg)
    if faults.count:
        warnings.warn(f"{what}: {len(rollouts)} rollouts read, {faults.count} lines not: {faults}", stacklevel=3)
    if renamed:
        warnings.warn(f"{what}: {renamed}", stacklevel=3)
    nan = [rollout.id for rollout in rollouts if rollout.metadata.get(REWARD_IS_NAN)]
    if nan:
        count = f"{len(nan)} of {len(rollouts)} rewards are NaN and taken as missing"
        warnings.warn(f"{what}: {count}; first that of rollout {nan[0]!r}", stacklevel=3)
