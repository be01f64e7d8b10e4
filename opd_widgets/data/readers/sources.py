"""Which files to read: a file, a folder, a glob, or a list of these."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opd_widgets.errors import InvalidInputError, ReadError

Places = str | Path | Iterable[str | Path]
_PACKED = {".gz", ".zst"}
_READ = {".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".pt", ".pth", ".pkl", ".pickle", ".eval"}
_MAGIC = "*?["


@dataclass(frozen=True)
class Source:
    """One file to read.

    Args:
        path: where it lies.
        label: what to call it: its name, or its path below the folder that all files share.
        found: whether it was found in a folder or by a glob, and may hold something else than rollouts.

    """

    path: Path
    label: str
    found: bool = False

    @property
    def stem(self) -> str:
        """The label without the endings that name a format: what a rollout without an id is named after."""
        stem = Path(self.label)
        while stem.suffix.lower() in _PACKED | _READ:
            stem = stem.with_suffix("")
        return stem.as_posix()


def sources(places: Places) -> list[Source]:
    """Return the files to read, in order; a folder's and a glob's sorted by name, each file once.

    In a folder only files whose name ends as dumps' names do are taken, in its subfolders too; hidden ones are not.

    Raises:
        ReadError: nothing there.
        InvalidInputError: something that is no path.

    """
    found: dict[Path, bool] = {}
    for place in _listed(places):
        for path, by_search in _files(place):
            found.setdefault(path, by_search)
    if not found:
        msg = "found an empty list of files, expected at least one path"
        raise ReadError(msg)
    if len(found) == 1:
        return [Source(path, path.name, by_search) for path, by_search in found.items()]
    shared = os.path.commonpath([path.absolute().parent for path in found])
    return [Source(path, _below(path, shared), by_search) for path, by_search in found.items()]


def _listed(places: Places) -> list[str | Path]:
    if isinstance(places, str | Path):
        return [places]
    given: object = places
    listed: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    for place in listed:
        if not isinstance(place, str | Path):
            msg = f"found a path of type {type(place).__name__}, expected a file, a folder, a glob, or a list of these"
            raise InvalidInputError(msg)
    return listed


def _files(place: str | Path) -> list[tuple[Path, bool]]:
    path = Path(place).expanduser()
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _is_dump(file.relative_to(path)) and file.is_file())
        if not files:
            msg = f"found no dump in the folder {str(path)!r}; expected files that end in {', '.join(sorted(_READ))}"
            raise ReadError(msg)
        return [(file, True) for file in files]
    if path.exists():
        return [(path, False)]
    if any(sign in str(path) for sign in _MAGIC):
        files = sorted(file for name in glob.glob(str(path), recursive=True) if (file := Path(name)).is_file())  # noqa: PTH207 - Path.glob takes no absolute pattern
        if files:
            return [(file, True) for file in files]
    msg = f"found no file at {str(path)!r}; expected a dump of rollouts, a folder or a glob of them"
    raise ReadError(msg)


def _is_dump(path: Path) -> bool:
    """Return whether a name below a folder looks like a dump's."""
    if any(part.startswith(".") for part in path.parts):
        return False
    inner = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return inner.suffix.lower() in _READ


def _below(path: Path, folder: str) -> str:
    return path.absolute().relative_to(folder).as_posix()
