"""One finished run on disk, read piece by piece: its manifest at once, its scores batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scored import RolloutScores
from opd_widgets.data.store import load, read_batch
from opd_widgets.data.store_files import broken, need_pyarrow, read_table
from opd_widgets.data.store_manifest import Manifest
from opd_widgets.data.store_rollouts import pieces_from
from opd_widgets.data.store_write import PIECES, ROLLOUTS, is_done, prompts_path
from opd_widgets.errors import InvalidInputError, ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.piece import Piece
    from opd_widgets.data.scores import Scores

_COLUMNS = ("id", "step", "prompt_ids", "response_ids", "response_mask")


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A finished run of one training step.

    Args:
        folder: where it lies.
        manifest: what it says of itself.
        step: the student's training step.

    """

    folder: Path
    manifest: Manifest
    step: int

    @classmethod
    def open(cls, path: Path) -> StoredRun:
        """Return the run in a folder; its scores are not read yet.

        Raises:
            ReadError: no run there, one that is not finished, or a damaged file.
            InvalidInputError: neither the run nor its rollouts say of which step they are.
            MissingDependencyError: pyarrow is not installed.

        """
        need_pyarrow()
        manifest = Manifest.read(path)
        if not manifest.finished:
            done = sum(is_done(path, batch) for batch in range(len(manifest.plan)))
            msg = (
                f"the run at {str(path)!r} is not finished: {done} of {len(manifest.plan)} batches are there. Finish "
                "it by the same command again, or leave it out of the runs to compare"
            )
            raise ReadError(msg)
        step = manifest.step
        return cls(path, manifest, _step_of_rollouts(path) if step is None else int(step))

    def scores(self, signals: Collection[str] | None = None) -> Scores:
        """Return the whole run, read anew; with `signals`, those alone and no top-k."""
        return load(self.folder, signals=signals)

    def batches(self, signals: Collection[str] | None) -> Iterator[dict[int, RolloutScores]]:
        """Yield batch after batch, each by the rollouts' indices: one is in memory at a time."""
        for batch in range(len(self.manifest.plan)):
            yield read_batch(self.folder, self.manifest, batch, signals)

    def item(self, index: int, signals: Collection[str] | None) -> RolloutScores:
        """Return the scores of one rollout; only its batch is read."""
        batch = next(number for number, indices in enumerate(self.manifest.plan) if index in indices)
        return read_batch(self.folder, self.manifest, batch, signals)[index]

    def signals(self, teacher: str | None) -> list[str]:
        """Return the names of a teacher's signals, or of the student's own for None."""
        if not self.manifest.plan:
            return []
        path = prompts_path(self.folder, 0)
        rows = read_table(path, lambda names: [name for name in names if name in {"teacher", "signals"}]).to_pylist()
        return next((list(row["signals"]) for row in rows if row["teacher"] == teacher), [])

    @cached_property
    def index(self) -> dict[str, int]:
        """Which rollout has which id."""
        return {name: place for place, name in enumerate(self.manifest.rollouts)}

    @cached_property
    def _rollouts(self) -> Any:
        path = self.folder / ROLLOUTS
        return _checked(path, read_table(path, _some), len(self.manifest.rollouts))

    def ids(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """Return one rollout's prompt and response ids, int32 [P] and [R]; None where it has text alone."""
        columns = [self._rollouts.column(name)[index] for name in ("prompt_ids", "response_ids")]
        if not all(value.is_valid for value in columns):
            return None
        prompt, response = (np.asarray(value.values, np.int32) for value in columns)
        return prompt, response

    def counted(self, index: int, length: int) -> NDArray[np.bool_]:
        """Return which tokens of one rollout enter aggregates, bool [R]."""
        value = self._rollouts.column("response_mask")[index]
        return np.asarray(value.as_py(), bool) if value.is_valid else np.ones(length, bool)

    def pieces(self) -> dict[int, Piece]:
        """Return what the run's token ids stand for."""
        return pieces_from(read_table(self.folder / PIECES))


def _some(names: list[str]) -> list[str]:
    return [name for name in names if name in _COLUMNS]


def _only(column: str) -> Callable[[list[str]], list[str]]:
    return lambda names: [name for name in names if name == column]


def _checked(path: Path, table: Any, rows: int) -> Any:
    lacking = set(_COLUMNS) - set(table.column_names)
    if lacking or table.num_rows != rows:
        raise broken(path, f"it lacks columns {sorted(lacking)}" if lacking else "its rollouts are not the manifest's")
    return table


def _step_of_rollouts(folder: Path) -> int:
    column = read_table(folder / ROLLOUTS, _only("step")).column("step").to_pylist()
    steps = sorted({-1 if step is None else step for step in column})
    if len(steps) == 1 and steps[0] >= 0:
        return int(steps[0])
    known = [step for step in steps if step >= 0]
    if len(known) > 1:
        found = f"its rollouts are of steps {', '.join(map(str, known[:5]))}{', ...' if len(known) > 5 else ''}"
    else:
        found = f"some of its rollouts are of step {known[0]} and some name none" if known else "none of them names one"
    msg = (
        f"the run at {str(folder)!r} does not say which training step it is of, and {found}. Expected one step a run: "
        "give it with scores.save(path, step=N), opd.score_to(..., step=N) or `opd-widgets score ... --step N`"
    )
    raise InvalidInputError(msg)
