"""What a file holds, record by record, each with its place; the kind of file is told from its first bytes.

JSON Lines and Parquet are streamed: one line, or a few rows, are in memory at a time. A JSON document that spans
lines and a pickle are read whole.
"""

from __future__ import annotations

import gzip
import importlib
import io
import itertools
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from opd_widgets.data.readers.unpickle import load_pickle, load_torch_zip
from opd_widgets.errors import MissingDependencyError, OpdError, ReadError

if TYPE_CHECKING:
    from types import ModuleType

_GZIP, _ZSTD, _PARQUET, _ZIP, _PICKLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04", b"\x80"
_HEAD = 4
_ESCAPED = re.compile("[\udc80-\udcff]")  # how Python keeps a byte that is not UTF-8
_BUFFER = 2**18  # bytes of a Parquet column read at a time
_ROWS = 64  # rows of a Parquet file decoded at a time: a row may hold a rollout of 32k tokens


@dataclass(frozen=True)
class Entry:
    """One record of a file, or why there is none.

    Args:
        number: counts lines, rows or items from 1.
        place: where it stands, for people: "line 3".
        value: the record.
        fault: what is wrong with it; empty where nothing is.

    """

    number: int
    place: str
    value: object = None
    fault: str = ""


def entries(path: Path, *, trust_pickle: bool = False) -> Iterator[Entry]:
    """Yield what a file holds. A file that breaks off ends in an entry with a fault.

    Raises:
        ReadError: a pickle that is not trusted, or a kind of file that is not read.
        MissingDependencyError: zstd or Parquet without the package that reads it.

    """
    number = 0
    try:
        with ExitStack() as stack:
            for entry in _opened(path, stack, trust_pickle=trust_pickle):
                number = entry.number
                yield entry
    except OpdError:
        raise
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        yield Entry(number + 1, f"after entry {number}", fault=f"the file cannot be read on: {_said(error)}")


def _opened(path: Path, stack: ExitStack, *, trust_pickle: bool) -> Iterator[Entry]:
    file = stack.enter_context(path.open("rb"))
    head = file.peek(_HEAD)[:_HEAD]
    if head == _PARQUET:
        return _rows(path)
    if head.startswith(_GZIP):
        file = stack.enter_context(io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=file))))
    elif head == _ZSTD:
        file = stack.enter_context(io.BufferedReader(_zstd(file)))
    head = file.peek(_HEAD)[:_HEAD]
    if head == _ZIP:
        whole = stack.enter_context(zipfile.ZipFile(file if file.seekable() else io.BytesIO(file.read())))
        return _members(path, whole, trust_pickle=trust_pickle)
    if head.startswith(_PICKLE):
        _check_trust(path, trust=trust_pickle)
        return _document(load_pickle(file))
    return _json(stack.enter_context(io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape")))


def _zstd(file: IO[bytes]) -> io.RawIOBase:
    try:
        import zstandard
    except ImportError as error:
        raise _missing("zstd", "zstandard") from error
    return cast("io.RawIOBase", zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))


def _parquet() -> ModuleType:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise _missing("Parquet", "pyarrow") from error


def _missing(kind: str, package: str) -> MissingDependencyError:
    msg = f"found a {kind} file, and reading it needs {package}; install it with: pip install 'opd-widgets[parquet]'"
    return MissingDependencyError(msg)


def _rows(path: Path) -> Iterator[Entry]:
    parquet = _parquet()
    try:
        # by itself it would read whole row groups ahead, which in most dumps is the whole file
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
            read = file.iter_batches(batch_size=_ROWS, use_threads=False)
            batches: Iterable[list[object]] = (batch.to_pylist() for batch in read)
            for number, row in enumerate(itertools.chain.from_iterable(batches), 1):
                yield Entry(number, f"row {number}", row)
    except ValueError as error:  # what pyarrow raises where the file is damaged
        msg = f"{path.name!r} is no whole Parquet file: {_said(error)}"
        raise ReadError(msg) from error


def _members(path: Path, whole: zipfile.ZipFile, *, trust_pickle: bool) -> Iterator[Entry]:
    """Yield what a zip holds: torch's own kind of file, or a log with one JSON file a sample."""
    names = whole.namelist()
    if any(name.endswith("data.pkl") for name in names):
        _check_trust(path, trust=trust_pickle)
        yield from _document(load_torch_zip(whole))
        return
    samples = [name for name in names if name.endswith(".json") and "samples/" in name]
    if not samples:
        msg = f"{path.name!r} is a zip with neither a torch payload nor samples/*.json; expected a dump of rollouts"
        raise ReadError(msg)
    for number, name in enumerate(samples, 1):
        try:
            yield Entry(number, name, json.loads(whole.read(name)))
        except (ValueError, RuntimeError) as error:  # the second: packed in a way that zipfile does not know
            yield Entry(number, name, fault=_said(error))


def _check_trust(path: Path, *, trust: bool) -> None:
    if not trust:
        msg = (
            f"{path.name!r} is a pickle, which can be made to run code when it is opened. If you trust where it comes "
            "from, pass trust_pickle=True (to the command --trust-pickle): it is then read by an unpickler that makes "
            "only plain values and tensors"
        )
        raise ReadError(msg)


def _json(file: Iterable[str]) -> Iterator[Entry]:
    """Yield the lines of JSON Lines, or the records of a JSON document that spans lines.

    It is a document where the first line is no JSON by itself and the whole is. The whole is read for that only where
    the first line ends as an open document's does, or the second is no record either.
    """
    lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
    start = list(itertools.islice(lines, 2))
    if start and _parsed(start[0][1]) is None and _may_span(start):
        start.extend(lines)
        whole = _parsed("".join(line for _, line in start))
        if whole is not None:
            yield from _document(whole[0])
            return
    for number, line in itertools.chain(start, lines):
        if _ESCAPED.search(line):
            yield Entry(number, f"line {number}", fault="its bytes are not UTF-8, which JSON is written in")
        else:
            yield from _line(number, line)


def _parsed(text: str) -> tuple[object] | None:
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _may_span(start: list[tuple[int, str]]) -> bool:
    if len(start) < 2:
        return False
    second = _parsed(start[1][1])
    return start[0][1].rstrip().endswith(("[", "{", ",", ":")) or second is None or not isinstance(second[0], dict)


def _line(number: int, line: str) -> Iterator[Entry]:
    place = f"line {number}"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        yield Entry(number, place, fault=_said(error))
        return
    if isinstance(value, list) and value:
        yield from (Entry(item.number, f"{place} {item.place}", item.value) for item in _document(value))
    else:
        yield Entry(number, place, value)


def _document(value: object) -> Iterator[Entry]:
    if not isinstance(value, list | tuple):
        yield Entry(1, "the document", value)
        return
    for number, item in enumerate(value, 1):
        yield Entry(number, f"item {number}", item)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
