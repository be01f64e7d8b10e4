"""Answers of servers, kept while the work that asked for them goes on: when it fails or is stopped, none is lost."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Kept, TokenScorer

FOLDER = "answers"  # in a run's folder
MOST_BYTES = 512 * 2**20  # kept in memory for one server; the oldest go first
Arrays = Mapping[str, NDArray[Any]]


class InMemory(MutableMapping[str, Arrays]):
    """Answers by request, up to a number of bytes.

    Args:
        most: bytes; what is over it is forgotten, oldest first.

    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._found: OrderedDict[str, Arrays] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, key: str) -> Arrays:
        return self._found[key]

    def __setitem__(self, key: str, value: Arrays) -> None:
        with self._lock:
            self._drop(key)
            self._found[key] = value
            self._size += _bytes(value)
            while self._size > self._most:
                self._drop(next(iter(self._found)))

    def __delitem__(self, key: str) -> None:
        with self._lock:
            self._drop(key)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._found))

    def __len__(self) -> int:
        return len(self._found)

    def _drop(self, key: str) -> None:
        self._size -= _bytes(self._found.pop(key, {}))


class InFolder(MutableMapping[str, Arrays]):
    """Answers by request, one file each: a process that is killed leaves them to the next.

    Args:
        folder: made with the first answer.
        who: whose answers; others' in the folder are not seen.

    """

    def __init__(self, folder: Path, who: str) -> None:
        self._folder = folder
        self._prefix = hashlib.blake2b(who.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()

    def __getitem__(self, key: str) -> Arrays:
        try:
            with self._path(key).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:  # none, or half of one: ask again
            raise KeyError(key) from error

    def __setitem__(self, key: str, value: Arrays) -> None:
        self._folder.mkdir(exist_ok=True)
        path = self._path(key)
        beside = path.with_suffix(".part")
        with beside.open("wb") as file:
            np.savez(file, **value)  # type: ignore[arg-type]  # its stub takes the arrays for a flag
        beside.replace(path)

    def __delitem__(self, key: str) -> None:
        self._path(key).unlink()

    def __iter__(self) -> Iterator[str]:
        return (path.stem.partition("-")[2] for path in self._folder.glob(f"{self._prefix}-*.npz"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _path(self, key: str) -> Path:
        return self._folder / f"{self._prefix}-{key}.npz"


_in_memory: WeakKeyDictionary[TokenScorer, InMemory] = WeakKeyDictionary()


@dataclass(frozen=True)
class Answers:
    """Where the servers' answers of some work are kept.

    Args:
        run: the folder of a run; None keeps them in memory, as long as the server's model is there.

    """

    run: Path | None = None

    def of(self, name: str, scorer: TokenScorer) -> Kept:
        """Return those of one teacher, by request."""
        if self.run is not None:
            return InFolder(self.run / FOLDER, name)
        return _in_memory.setdefault(scorer, InMemory())

    def forget(self, scorers: Iterable[TokenScorer]) -> None:
        """Drop them: what they were asked for is done."""
        for scorer in scorers:
            _in_memory.pop(scorer, None)
        if self.run is not None:
            for path in [file for end in ("npz", "part") for file in (self.run / FOLDER).glob(f"*.{end}")]:
                path.unlink(missing_ok=True)
            with suppress(OSError):  # there is none, or a user put something into it
                (self.run / FOLDER).rmdir()


def _bytes(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())
