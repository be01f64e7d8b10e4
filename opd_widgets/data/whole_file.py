"""A file is written whole or not at all: beside its place first, then into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from opd_widgets.errors import InvalidInputError


def check_target(path: str | Path) -> Path:
    """Return a path that a file can be written to; missing folders on the way are made.

    Raises:
        InvalidInputError: it is a folder, or no file can be made there.

    """
    path = Path(path).expanduser()
    if path.is_dir() or not path.name:
        msg = f"found a folder at {str(path)!r}, expected the name of a file; write into it as {str(path / 'NAME')!r}"
        raise InvalidInputError(msg)
    beside = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.touch()
        beside.unlink()
    except OSError as error:
        msg = f"no file can be written at {str(path)!r}: {error.strerror or error}. Choose another place"
        raise InvalidInputError(msg) from error
    return path


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[str]]:
    """Open a text file that takes its place only when all is written; a failure leaves nothing behind.

    Raises:
        InvalidInputError: no file can be written there.

    """
    path = check_target(path)
    beside = _beside(path)
    try:
        with beside.open("w", encoding="utf-8") as file:
            yield file
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".part")
