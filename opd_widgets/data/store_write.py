"""A run being written: rollouts and manifest first, then batch after batch, then the manifest says it is finished."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opd_widgets.data.piece import Piece
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scored import RolloutScores
from opd_widgets.data.store_files import LOCK, PART, flush_folder, need_pyarrow, read_table, write_table
from opd_widgets.data.store_manifest import NAME, Manifest
from opd_widgets.data.store_rollouts import pieces_from, pieces_table, rollouts_table
from opd_widgets.data.store_shard import blocks_of, prompts_table, shard_table
from opd_widgets.errors import InvalidInputError

ROLLOUTS = "rollouts.parquet"
PIECES = "pieces.parquet"


def shard_path(folder: Path, batch: int) -> Path:
    """Return where a batch's values are: one row a token and teacher. Once it is there, the batch is."""
    return folder / f"shard-{batch:05}.parquet"


def prompts_path(folder: Path, batch: int) -> Path:
    """Return where a batch's prompts are: one row a rollout and teacher."""
    return folder / f"prompts-{batch:05}.parquet"


def is_done(folder: Path, batch: int) -> bool:
    """Return whether a batch has been written, whole."""
    return shard_path(folder, batch).is_file() and prompts_path(folder, batch).is_file()


class RunWriter:
    """Writes one run, batch by batch.

    Whatever moment the process dies at, the folder holds whole batches and the manifest of what is missing: a batch's
    pieces and prompts are in place before its shard is.

    Args:
        folder: where the run is; made by `begin`, or there from an earlier process.
        manifest: what it says of itself.

    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        for left in folder.glob(f"*{PART}"):  # of a process that was killed
            left.unlink()
        pieces = folder / PIECES
        self._pieces = pieces_from(read_table(pieces)) if pieces.exists() else {}

    @classmethod
    def begin(cls, folder: Path, manifest: Manifest, rollouts: Sequence[Rollout]) -> RunWriter:
        """Make a run without batches; the manifest comes last.

        Raises:
            InvalidInputError: the folder holds something else, or metadata that JSON has no form for.
            MissingDependencyError: pyarrow is not installed.

        """
        need_pyarrow()
        check_free(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (PIECES, ROLLOUTS):
            (folder / name).unlink(missing_ok=True)  # of a process that was killed before its manifest
        write_table(rollouts_table(rollouts), folder / ROLLOUTS)
        manifest.write(folder)
        return cls(folder, manifest)

    @property
    def missing(self) -> list[int]:
        """Batches not yet written, in order."""
        return [batch for batch in range(len(self.manifest.plan)) if not is_done(self.folder, batch)]

    def add(
        self,
        batch: int,
        rollouts: Mapping[int, Rollout],
        items: Mapping[int, RolloutScores],
        pieces: Mapping[int, Piece],
    ) -> None:
        """Write a batch.

        Args:
            batch: its place in the plan.
            rollouts: by index, those of the batch.
            items: by index, their scores.
            pieces: what every token id in them stands for.

        """
        blocks = [
            block for index in self.manifest.plan[batch] for block in blocks_of(index, rollouts[index], items[index])
        ]
        if not pieces.keys() <= self._pieces.keys() or not (self.folder / PIECES).exists():
            self._pieces = {**self._pieces, **pieces}
            write_table(pieces_table(dict(sorted(self._pieces.items()))), self.folder / PIECES)
        write_table(prompts_table(blocks), prompts_path(self.folder, batch))
        write_table(shard_table(blocks), shard_path(self.folder, batch))

    def update(self, **changes: Any) -> None:
        """Write the manifest with some of its fields changed."""
        self.manifest = replace(self.manifest, **changes)
        self.manifest.write(self.folder)


def check_free(folder: Path, *, but: Sequence[str] = ()) -> None:
    """Refuse a place that holds what is no part of a run, or a run of its own.

    Args:
        folder: the place.
        but: names that may be there.

    Raises:
        InvalidInputError: it is taken; the message names by what.

    """
    if not folder.exists():
        return
    if not folder.is_dir():
        msg = f"found a file at {str(folder)!r}, expected a folder for the run, or nothing; choose another place"
        raise InvalidInputError(msg)
    begun = (folder / LOCK).exists()  # by a process that was killed before its manifest; else those files are a user's
    allowed = {LOCK, *but, *([ROLLOUTS, PIECES] if begun else [])}
    for path in sorted(folder.iterdir()):
        if path.name not in allowed and not path.name.endswith(PART):
            msg = f"{str(folder)!r} holds {path.name!r}, expected an empty folder for the run; choose another place"
            raise InvalidInputError(msg)


def save_run(
    path: str | Path,
    manifest: Manifest,
    rollouts: Sequence[Rollout],
    items: Sequence[RolloutScores],
    pieces: Mapping[int, Piece],
) -> Path:
    """Write a whole run beside its place, then into it; a finished run that lies there is replaced.

    Returns:
        The folder written.

    Raises:
        InvalidInputError: something else lies there, an unfinished run among it.
        MissingDependencyError: pyarrow is not installed.

    """
    folder = Path(path).expanduser()
    _check_replaceable(folder)
    beside = folder.with_name(folder.name + PART)
    shutil.rmtree(beside, ignore_errors=True)
    try:
        writer = RunWriter.begin(beside, manifest, rollouts)
        for batch, indices in enumerate(manifest.plan):
            writer.add(batch, {i: rollouts[i] for i in indices}, {i: items[i] for i in indices}, pieces)
        if not manifest.plan:
            write_table(pieces_table(pieces), beside / PIECES)
        writer.update(finished=True)
        _exchange(beside, folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return folder


def _check_replaceable(folder: Path) -> None:
    if not (folder / NAME).is_file():
        check_free(folder)
        return
    found = Manifest.read(folder)
    if not found.finished:
        msg = (
            f"an unfinished run lies at {str(folder)!r}, expected a free place or a finished run: saving over it "
            "would lose what it has scored. Finish it, or choose another place"
        )
        raise InvalidInputError(msg)
    batches = range(len(found.plan))
    own = [make(folder, batch).name for batch in batches for make in (shard_path, prompts_path)]
    check_free(folder, but=[NAME, ROLLOUTS, PIECES, *own])


def _exchange(beside: Path, folder: Path) -> None:
    """Put a folder into its place; what lies there goes away only then."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    old = folder.with_name(folder.name + ".old" + PART)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    beside.rename(folder)
    flush_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
