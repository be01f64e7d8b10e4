"""Files of a run: each written beside its place, flushed to the disk, then renamed into it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from opd_widgets.data.plain import json_text
from opd_widgets.errors import InvalidInputError, MissingDependencyError, ReadError

try:
    import fcntl
except ImportError:  # Windows: two writers at once are not noticed there
    fcntl = None  # type: ignore[assignment]

PART = ".opd-part"  # unlike any name of a user: what is left of one is deleted
LOCK = ".opd-lock"
DIAGNOSIS = "diagnosis.json"  # in the folder of a diagnosis, where a run of scores has a manifest.json


def need_pyarrow() -> Any:
    """Return the module pyarrow, with `pyarrow.parquet` loaded.

    Raises:
        MissingDependencyError: it is not installed.

    """
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        msg = 'runs on disk need pyarrow, which is not installed; run `pip install "opd-widgets[parquet]"`'
        raise MissingDependencyError(msg) from error
    return pa


@contextmanager
def in_place(path: Path) -> Iterator[Path]:
    """Yield a path beside `path`; what was written there takes its place once it is on the disk, or is taken away."""
    beside = path.with_name(path.name + PART)
    try:
        yield beside
        _flush(beside)
        beside.replace(path)
        flush_folder(path.parent)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Make a rename outlive a power cut, where the system lets a folder be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_table(table: Any, path: Path) -> None:
    """Write a Parquet file whole or not at all."""
    pa = need_pyarrow()
    with in_place(path) as beside:
        pa.parquet.write_table(table, beside, compression="zstd")


def read_table(path: Path, columns: Callable[[list[str]], list[str]] | None = None) -> Any:
    """Return a Parquet file's table, or those of its columns that `columns` picks.

    Raises:
        ReadError: no such file, or none that Parquet readers understand.

    """
    pa = need_pyarrow()
    if not path.is_file():
        msg = f"the run at {str(path.parent)!r} lacks {path.name}; expected every file its manifest speaks of"
        raise ReadError(msg)
    try:
        with pa.parquet.ParquetFile(path) as file:
            return file.read(None if columns is None else columns(file.schema_arrow.names))
    except (pa.ArrowException, OSError) as error:
        raise broken(path, error) from error


def broken(path: Path, why: object) -> ReadError:
    """Return the error for a file of a run that does not hold what it should."""
    found = str(why).rstrip(". ")
    return ReadError(
        f"{path.name} of the run at {str(path.parent)!r} is damaged or half-written: {found}. Expected it as it "
        "was written: take a sound copy; or, if it is a shard or its prompts, delete it and score into the folder again"
    )


def write_json(value: Mapping[str, Any], path: Path) -> None:
    """Write a JSON file whole or not at all."""
    with in_place(path) as beside:
        beside.write_text(json_text(value) + "\n", "utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON file's object.

    Raises:
        ReadError: it holds no JSON object.

    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise broken(path, error) from error
    if not isinstance(value, dict):
        raise broken(path, f"found a {type(value).__name__}, expected a JSON object")
    return value


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep every other process from writing into a folder; the system lets go of it when this process ends, however.

    Raises:
        InvalidInputError: another process writes there, or no folder can be made there.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("w")
    except OSError as error:
        msg = f"no run can be written at {str(folder)!r}: {error.strerror or error}. Choose another place"
        raise InvalidInputError(msg) from error
    with file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                msg = f"another process is writing the run at {str(folder)!r}; wait for its end, or take another place"
                raise InvalidInputError(msg) from error
            except OSError:
                pass  # a file system without locks: as on Windows
        yield
