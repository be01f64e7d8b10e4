"""A run on disk: scores that open without any model, value for value.

A run is a folder:

- `manifest.json`: format version, student, teachers, questions, noise bands, settings, notes, package versions, the
  training step where it is known, ids of the rollouts, the batches they are scored in, whether it is finished, and what
  a continuation must have in common.
- `rollouts.parquet`: one row a rollout; see `store_rollouts.rollouts_table`.
- `pieces.parquet`: one row a token id, with the bytes it stands for.
- `shard-00000.parquet`, ...: one row a token and teacher, a file a batch; see `store_shard.shard_table`.
- `prompts-00000.parquet`, ...: one row a rollout and teacher, with the prompt and context it was given and where its
  numbers come from; see `store_shard.prompts_table`.

pandas reads the values with `pd.concat(map(pd.read_parquet, sorted(Path(run).glob("shard-*.parquet"))))`, DuckDB with
`select * from 'RUN/shard-*.parquet'`. Every file is written beside its place, flushed and renamed; nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial as bound
from pathlib import Path

import numpy as np

from opd_widgets.data.piece import Piece
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scored import RolloutScores
from opd_widgets.data.scores import Scores
from opd_widgets.data.store_files import broken, need_pyarrow, read_table
from opd_widgets.data.store_manifest import Manifest
from opd_widgets.data.store_rollouts import pieces_from, rollouts_of
from opd_widgets.data.store_shard import columns_of, items_of
from opd_widgets.data.store_write import PIECES, ROLLOUTS, is_done, prompts_path, shard_path
from opd_widgets.errors import OpdError, ReadError


def load(path: str | Path, *, partial: bool = False, signals: Collection[str] | None = None) -> Scores:
    """Open a run; no model is needed.

    Args:
        path: a folder made by `scores.save(path)` or `opd-widgets score ... --out RUN`.
        partial: open a run that is not finished, too, with the rollouts scored so far and a note that says so.
        signals: only these, and no top-k: a large run in little memory. All of it by default.

    Returns:
        Scores equal, value for value, to those saved.

    Raises:
        ReadError: no run there, one that is not finished, of a version this package does not know, or with a file that
            is missing or damaged.
        MissingDependencyError: pyarrow is not installed.

    Example:
        >>> scores = opd.load("run")  # doctest: +SKIP

    """
    folder = Path(path).expanduser()
    manifest = Manifest.read(folder)
    need_pyarrow()
    batches: list[int] = list(range(len(manifest.plan)))
    if not manifest.finished:
        if not partial:
            raise ReadError(_unfinished(folder, manifest))
        batches = [batch for batch in batches if is_done(folder, batch)]
    rollouts = _rollouts(folder, manifest)
    items: dict[int, RolloutScores] = {}
    for batch in batches:
        items.update(read_batch(folder, manifest, batch, signals))
    scored = sorted(items)
    note = f"not finished: {len(scored)} of {len(rollouts)} rollouts are scored. Score into the folder for the rest"
    return Scores(
        rollouts=tuple(rollouts[index] for index in scored),
        student=manifest.student,
        teachers=manifest.teachers,
        items=tuple(items[index] for index in scored),
        pieces=_pieces(folder, needed=bool(scored) or manifest.finished),
        questions=manifest.questions,
        noise=manifest.noise,
        settings=manifest.settings,
        notes=manifest.notes if manifest.finished else (*manifest.notes, note),
    )


def _unfinished(folder: Path, manifest: Manifest) -> str:
    done = sum(is_done(folder, batch) for batch in range(len(manifest.plan)))
    return (
        f"the run at {str(folder)!r} is not finished: {done} of {len(manifest.plan)} batches are there. Finish it by "
        "the same `opd-widgets score ... --out` again, or open what is there with opd.load(path, partial=True)"
    )


def _rollouts(folder: Path, manifest: Manifest) -> tuple[Rollout, ...]:
    path = folder / ROLLOUTS
    table = read_table(path)
    try:
        rollouts = rollouts_of(table)
    except (OpdError, LookupError, TypeError, ValueError) as error:
        raise broken(path, error) from error
    if tuple(rollout.id for rollout in rollouts) != manifest.rollouts:
        raise broken(path, "its rollouts are not those of the manifest")
    return rollouts


def read_batch(
    folder: Path, manifest: Manifest, batch: int, signals: Collection[str] | None = None
) -> dict[int, RolloutScores]:
    """Return the scores of one batch by the rollouts' indices; with `signals`, those alone and no top-k.

    Raises:
        ReadError: a file is missing or damaged.

    """
    path = shard_path(folder, batch)
    prompts = read_table(prompts_path(folder, batch))
    shard = read_table(path, None if signals is None else bound(columns_of, signals))
    try:
        items = dict(items_of(shard, prompts))
    except (OpdError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise broken(path, error) from error
    if not np.array_equal(sorted(items), sorted(manifest.plan[batch])):
        raise broken(path, f"it holds rollouts {sorted(items)}, and batch {batch} has {sorted(manifest.plan[batch])}")
    return items


def _pieces(folder: Path, *, needed: bool) -> dict[int, Piece]:
    path = folder / PIECES
    if not needed and not path.exists():
        return {}
    table = read_table(path)
    try:
        return pieces_from(table)
    except (LookupError, TypeError, ValueError) as error:
        raise broken(path, error) from error
