"""A diagnosis on disk, so that a process that dies loses only the batch in flight.

A folder holds:

- `diagnosis.json`: what the rollouts belong to (student, prompts, verifier, limit, seed), the questions, what the
  result tells of itself, and whether the run came to its end.
- `round-0003.npz`: what a round is to draw, written before it draws.
- `rollouts-0003-0001.npz`: a batch of it, with the requests that it answers. What lies in the folder counts as drawn.
- `nodes-00000.npz`: the nodes of a question.

Every file is written beside its place, flushed and renamed; nothing is pickled.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zipfile import BadZipFile

import numpy as np

from opd_widgets.data.store_files import DIAGNOSIS, LOCK, PART, in_place, only_writer, read_json, write_json
from opd_widgets.diagnosis.run.ledger_records import Batch, Decision, NodesRead
from opd_widgets.errors import InvalidInputError, ReadError

if TYPE_CHECKING:
    from opd_widgets.diagnosis.run.ledger_records import Arrays
    from opd_widgets.diagnosis.run.requests import Request

FORMAT = "opd_widgets.diagnosis"
VERSION = 1
Kept = TypeVar("Kept", Batch, Decision, NodesRead)
_FILE = re.compile(r"(round|rollouts|nodes)-(\d+)(?:-(\d+))?\.npz")
_DAMAGE = (OSError, ValueError, LookupError, EOFError, TypeError, AttributeError, BadZipFile, zlib.error, RuntimeError)
_REMEDY = {
    "round": "Delete it and run the same diagnosis again: what was drawn of that round stays, the rest is not drawn",
    "rollouts": "Delete it and run the same diagnosis again: it is drawn anew, from the same random numbers",
    "nodes": "Delete it and run the same diagnosis again: student and teachers are asked anew",
}


class Ledger:
    """The folder of a diagnosis; without one, everything stays in memory.

    Args:
        folder: made where it is missing; None for none.

    Raises:
        InvalidInputError: a file is there, or a folder that holds something else.

    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.decisions: dict[int, Decision] = {}
        self.nodes: dict[int, NodesRead] = {}
        self._batches: dict[tuple[int, int], Batch] = {}
        if folder is None:
            return
        if folder.exists() and not folder.is_dir():
            msg = f"found a file at {str(folder)!r}, expected a folder for the diagnosis, or nothing"
            raise InvalidInputError(msg)
        if folder.exists() and not (folder / DIAGNOSIS).is_file():
            others = [path.name for path in sorted(folder.iterdir()) if path.name != LOCK and PART not in path.name]
            if others:
                msg = (
                    f"{str(folder)!r} holds {others[0]!r} and no {DIAGNOSIS}, expected an empty folder or a diagnosis; "
                    "choose another place"
                )
                raise InvalidInputError(msg)

    def only_writer(self) -> AbstractContextManager[None]:
        """Keep every other process from writing into the folder."""
        if self.folder is None:
            return nullcontext()
        return only_writer(self.folder)

    @property
    def manifest(self) -> dict[str, Any] | None:
        """What was written of the run, None where it is new.

        Raises:
            ReadError: it is damaged, or of a later version.

        """
        if self.folder is None or not (self.folder / DIAGNOSIS).is_file():
            return None
        try:
            found = read_json(self.folder / DIAGNOSIS)
        except ReadError as error:
            msg = (
                f"{DIAGNOSIS} of the diagnosis at {str(self.folder)!r} is damaged or half-written, expected it as it "
                "was written: take a sound copy, or begin anew in another folder"
            )
            raise ReadError(msg) from error
        if found.get("format") != FORMAT or found.get("version") != VERSION:
            msg = (
                f"{DIAGNOSIS} in {str(self.folder)!r} says {found.get('format')!r} version {found.get('version')!r}, "
                f"expected {FORMAT!r} version {VERSION}"
            )
            raise ReadError(msg)
        return found

    def write_manifest(self, values: Mapping[str, Any]) -> None:
        """Write what is to be known of the run."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json({"format": FORMAT, "version": VERSION, **values}, self.folder / DIAGNOSIS)

    def read(self) -> None:
        """Take in everything that the folder holds.

        Raises:
            ReadError: a file is damaged; the message names it.

        """
        for kind, number, batch, path in _files(self.folder):
            if kind == "round":
                self.decisions[number] = _read(path, Decision.of_arrays)
            elif kind == "nodes":
                self.nodes[number] = _read(path, NodesRead.of_arrays)
            else:
                self._batches[number, batch] = _read(path, Batch.of_arrays)
        for (number, batch), found in self._batches.items():
            decided = self.decisions.get(number)
            if decided is not None and not found.answers(decided.batch(batch)):
                name = _batch_name(number, batch)
                raise _damaged(Path(self.folder or "") / name, "it answers other requests than its round's")

    def clean(self) -> None:
        """Delete what was left half-written; only where no other process writes."""
        for path in [] if self.folder is None else self.folder.glob(f"*{PART}"):
            path.unlink(missing_ok=True)

    def forget_decisions(self) -> None:
        """Delete what was decided and never drawn: it was asked of other questions, or of another student."""
        for path in [] if self.folder is None else self.folder.glob("round-*.npz"):
            path.unlink(missing_ok=True)
        self.decisions.clear()

    @property
    def empty(self) -> bool:
        """Whether nothing was drawn."""
        return not self._batches

    @property
    def batches(self) -> list[Batch]:
        """Everything drawn, in order."""
        return [self._batches[key] for key in sorted(self._batches)]

    def of_round(self, number: int) -> list[Batch]:
        """Return what was drawn in a round, in order."""
        return [self._batches[key] for key in sorted(self._batches) if key[0] == number]

    @property
    def reasons(self) -> Counter[str]:
        """How often the verifier gave which reason for no verdict."""
        found: Counter[str] = Counter()
        for batch in self.batches:
            found.update(batch.reasons)
        return found

    def decide(self, requests: Sequence[Request], rows: int, said: Mapping[str, Any]) -> int:
        """Keep what a new round is to draw, and return the round's number: one more than any before."""
        number = max([-1, *self.decisions, *(round_ for round_, _ in self._batches)]) + 1
        decision = Decision(tuple(requests), rows, dict(said))
        self._write(f"round-{number:04}.npz", decision.to_arrays())
        self.decisions[number] = decision
        return number

    def outstanding(self) -> Iterator[tuple[int, int, tuple[Request, ...]]]:
        """Yield round, batch and requests of what was decided and is not drawn, in order."""
        for number, decision in sorted(self.decisions.items()):
            for batch in range(decision.batches):
                if (number, batch) not in self._batches:
                    yield number, batch, decision.batch(batch)

    def add(self, number: int, batch: int, drawn: Batch) -> None:
        """Keep a batch: on the disk, whole, before this returns."""
        self._write(_batch_name(number, batch), drawn.to_arrays())
        self._batches[number, batch] = drawn

    def add_nodes(self, index: int, read: NodesRead) -> None:
        """Keep the nodes of a question."""
        self._write(f"nodes-{index:05}.npz", read.to_arrays())
        self.nodes[index] = read

    def _write(self, name: str, arrays: Arrays) -> None:
        if self.folder is not None:
            with in_place(self.folder / name) as beside, beside.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes the arrays for a flag


def _batch_name(number: int, batch: int) -> str:
    return f"rollouts-{number:04}-{batch:04}.npz"


def _files(folder: Path | None) -> Iterator[tuple[str, int, int, Path]]:
    """Yield kind, numbers and path of each file of a diagnosis."""
    for path in [] if folder is None else sorted(folder.iterdir()):
        found = _FILE.fullmatch(path.name)
        if found:
            yield found[1], int(found[2]), int(found[3] or 0), path


def _read(path: Path, of_arrays: Callable[[Arrays], Kept]) -> Kept:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            return of_arrays({key: found[key] for key in found.files})
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, why: object) -> ReadError:
    kind = path.name.partition("-")[0]
    return ReadError(f"{path.name} of the diagnosis at {str(path.parent)!r} is damaged: {why}. {_REMEDY[kind]}")
