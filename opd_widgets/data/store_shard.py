"""A batch of scored rollouts as two tables: one row a token and teacher, and one row a rollout and teacher.

The student's own columns stand in rows whose teacher is null. Rows come in blocks: a rollout's student, then each of
its teachers, `length` rows a block, in the order of the second table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scored import RolloutScores, TeacherScores, Values
from opd_widgets.data.store_files import need_pyarrow
from opd_widgets.data.store_own import OWN, own_columns, own_tokens_of
from opd_widgets.data.store_rollouts import readable
from opd_widgets.data.topk import TopK
from opd_widgets.data.track import LogprobTrack, Provenance

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PROVENANCE = {"engine": "string", "model": "string", "dtype": "string", "temperature": "float64",
               "logprob_mode": "string"}  # fmt: skip
# list column -> the column of its width in the second table: an empty list does not say it
_LISTS = {
    "top_ids": "top_k",
    "top_logprobs": "top_k",
    "at_student_top": "at_student_top_k",
    "student_at_top": "student_at_top_k",
}
OWN_COLUMNS = ("rollout", "position", "token_id", "teacher", "logprob", "rank", "entropy", "censored", "group", *_LISTS)


@dataclass(frozen=True, eq=False)
class Block:
    """One rollout's rows of the student (`teacher` is None) or of a teacher."""

    rollout: int
    teacher: str | None
    ids: NDArray[np.int32] | None
    track: LogprobTrack
    signals: Values
    scored: TeacherScores | None = None

    def __len__(self) -> int:
        """Return the number of response tokens."""
        return len(self.track)

    def matrix(self, name: str) -> NDArray[Any] | None:
        """Return a list column's values [R, K]; None where there are none."""
        if name in {"at_student_top", "student_at_top"}:
            return None if self.scored is None else np.asarray(getattr(self.scored, name))
        topk = self.track.topk
        return None if topk is None else (topk.ids if name == "top_ids" else topk.logprobs)


def blocks_of(index: int, rollout: Rollout, item: RolloutScores) -> Iterator[Block]:
    """Yield a rollout's blocks: the student's, then each teacher's."""
    ids = rollout.response_ids
    yield Block(index, None, ids, item.student, item.signals)
    for name, scored in item.teachers.items():
        yield Block(index, name, ids, scored.track, scored.signals, scored)


def shard_table(blocks: Sequence[Block]) -> Any:
    """Return one row a token and teacher.

    Columns: `rollout` (index), `position` (response tokens from 0), `token_id`, `teacher` (null: the student's own
    row), `logprob` (nats), `rank` (1 = likeliest, 0 = not known), `entropy` (nats), `censored`, `top_ids` and
    `top_logprobs` (lists, likeliest first, of whoever the row is about), `at_student_top` (this teacher's
    log-probability of the student's `top_ids`), `student_at_top` (the student's of this teacher's), `group` (of a
    teacher of another tokenizer: the group of equal text the token is compared in, -1 not comparable), then one float32
    a signal under its registry name. NaN is a missing value of a signal that is there; null a column that has no
    meaning in that row.
    """
    pa = need_pyarrow()
    lengths = [len(block) for block in blocks]
    columns: dict[str, Any] = {
        "rollout": pa.array(np.repeat(np.asarray([b.rollout for b in blocks], np.int32), lengths)),
        "position": pa.array(np.concatenate([np.zeros(0, np.int32), *(np.arange(n, dtype=np.int32) for n in lengths)])),
        "token_id": _numbers(blocks, lambda block: block.ids, np.int32),
        "teacher": pa.array([block.teacher for block in blocks], pa.string()).take(
            pa.array(np.repeat(np.arange(len(blocks)), lengths), pa.int64())
        ),
        "logprob": _numbers(blocks, lambda block: block.track.logprobs, np.float32),
        "rank": _numbers(blocks, lambda block: block.track.rank, np.int32),
        "entropy": _numbers(blocks, lambda block: block.track.entropy, np.float32),
        "censored": _numbers(blocks, lambda block: block.track.censored, np.bool_),
    }
    for name in _LISTS:
        columns[name] = _lists(blocks, name, np.int32 if name == "top_ids" else np.float32)
    columns["group"] = _numbers(blocks, lambda block: None if block.scored is None else block.scored.groups, np.int32)
    for name in dict.fromkeys(name for block in blocks for name in block.signals):
        columns[name] = _numbers(blocks, partial(_signal, name), np.float32)
    return pa.table(columns)


def _signal(name: str, block: Block) -> NDArray[np.float32] | None:
    return block.signals.get(name)


def prompts_table(blocks: Sequence[Block]) -> Any:
    """Return one row a rollout and teacher: what was asked, and what its rows of the shard are.

    Columns: `rollout`, `teacher` (null: the student), `length` (its rows), `signals` (their names), `prompt_ids`,
    `context`, `context_tokens`, `leaks_answer`, `context_hash`, `engine`, `model`, `dtype`, `temperature`,
    `logprob_mode`, and of which width the lists are (`top_k`, `at_student_top_k`, `student_at_top_k`; null where there
    is none). Of a teacher of another tokenizer also its own tokens: `own_ids` (the response), `own_groups` (the group
    each of them is compared in) and `own_pieces` (what they and `prompt_ids` stand for). The student's prompt stands in
    the rollouts' own table.
    """
    pa = need_pyarrow()
    scored = [block.scored for block in blocks]
    columns: dict[str, Any] = {
        "rollout": pa.array([block.rollout for block in blocks], pa.int32()),
        "teacher": pa.array([block.teacher for block in blocks], pa.string()),
        "length": pa.array([len(block) for block in blocks], pa.int32()),
        "signals": pa.array([list(block.signals) for block in blocks], pa.list_(pa.string())),
        "prompt_ids": pa.array([None if s is None else s.prompt_ids for s in scored], pa.list_(pa.int32())),
        "context": pa.array([None if s is None else readable(s.context) for s in scored], pa.large_string()),
        "context_tokens": pa.array([None if s is None else s.context_tokens for s in scored], pa.int32()),
        "leaks_answer": pa.array([None if s is None else s.leaks_answer for s in scored], pa.bool_()),
        "context_hash": pa.array([block.track.context_hash for block in blocks], pa.string()),
        "has_rank": pa.array([block.track.rank is not None for block in blocks], pa.bool_()),
        "has_entropy": pa.array([block.track.entropy is not None for block in blocks], pa.bool_()),
    }
    columns |= own_columns([None if s is None else s.own for s in scored])
    for name, kind in _PROVENANCE.items():
        values = [getattr(block.track.provenance, name) for block in blocks]
        columns[name] = pa.array(values, pa.type_for_alias(kind))
    for name, width in _LISTS.items():
        shapes = [block.matrix(name) for block in blocks]
        columns[width] = pa.array([None if shape is None else shape.shape[1] for shape in shapes], pa.int32())
    return pa.table(columns)


def _numbers(blocks: Sequence[Block], pick: Callable[[Block], NDArray[Any] | None], dtype: type[np.generic]) -> Any:
    picked = [(pick(block), len(block)) for block in blocks]
    values = [np.zeros(n, dtype) if found is None else np.asarray(found, dtype) for found, n in picked]
    absent = [np.full(n, found is None) for found, n in picked]
    pa = need_pyarrow()
    joined = np.concatenate([np.zeros(0, dtype), *values])
    return pa.array(joined, mask=np.concatenate([np.zeros(0, bool), *absent]), from_pandas=False)


def _lists(blocks: Sequence[Block], name: str, dtype: type[np.generic]) -> Any:
    pa = need_pyarrow()
    matrices = [block.matrix(name) for block in blocks]
    widths = [0 if found is None else found.shape[1] for found in matrices]
    lengths = [len(block) for block in blocks]
    absent = np.repeat(np.asarray([found is None for found in matrices], bool), lengths)
    offsets = np.concatenate([[0], np.cumsum(np.repeat(np.asarray(widths, np.int64), lengths))])
    flat = np.concatenate([np.zeros(0, dtype), *(np.asarray(m, dtype).ravel() for m in matrices if m is not None)])
    made = pa.LargeListArray.from_arrays(
        pa.array(offsets, pa.int64()), pa.array(flat, from_pandas=False), mask=pa.array(absent)
    )
    return made.cast(pa.list_(made.type.value_type))


def columns_of(signals: Collection[str], there: Collection[str]) -> list[str]:
    """Return the columns to read for some signals and no top-k."""
    return [name for name in there if name in signals or (name in OWN_COLUMNS and name not in _LISTS)]


def items_of(shard: Any, prompts: Any) -> Iterator[tuple[int, RolloutScores]]:
    """Yield (rollout, scores) from a batch's two tables; columns that were not read are left out.

    Raises:
        ValueError: the tables do not fit each other.

    """
    asked = prompts.drop_columns(["prompt_ids", *(name for name in OWN if name in prompts.column_names)]).to_pylist()
    expected = sum(row["length"] for row in asked)
    if shard.num_rows != expected:
        msg = f"found {shard.num_rows} rows, expected {expected}"
        raise ValueError(msg)
    reader = _Reader(shard)
    student: tuple[int, LogprobTrack, Values] | None = None
    teachers: dict[str, TeacherScores] = {}
    for number, row in enumerate(asked):
        track, signals, lists = reader.take(row)
        if row["teacher"] is None:
            if student is not None:
                yield student[0], RolloutScores(student[1], student[2], teachers)
            student, teachers = (row["rollout"], track, signals), {}
            continue
        prompt, own = np.asarray(prompts.column("prompt_ids")[number].values, np.int32), own_tokens_of(prompts, number)
        teachers[row["teacher"]] = TeacherScores(
            track=track,
            at_student_top=lists.get("at_student_top", np.zeros((len(track), 0), np.float32)),
            student_at_top=lists.get("student_at_top", np.zeros((len(track), 0), np.float32)),
            signals=signals,
            prompt_ids=prompt,
            context=row["context"],
            context_tokens=row["context_tokens"],
            leaks_answer=row.get("leaks_answer"),  # runs of before have no such column
            groups=None if own is None else reader.groups(),
            own=own,
        )
    if student is not None:
        yield student[0], RolloutScores(student[1], student[2], teachers)


class _Reader:
    """Takes block after block from a shard's columns."""

    def __init__(self, shard: Any) -> None:
        lists = [name for name in _LISTS if name in shard.column_names]
        self._columns = {
            name: shard.column(name).to_numpy()
            for name in shard.column_names
            if name not in {*lists, "rollout", "position", "token_id", "teacher"}
        }
        # a null list has no values, so the values of the others follow each other
        self._flat = {name: _one(shard.column(name)).flatten().to_numpy(zero_copy_only=False) for name in lists}
        self._at = dict.fromkeys(lists, 0)
        self._row = 0
        self._here = slice(0, 0)

    def take(self, asked: Mapping[str, Any]) -> tuple[LogprobTrack, Values, dict[str, NDArray[Any]]]:
        here = slice(self._row, self._row + asked["length"])
        self._row, self._here = here.stop, here
        lists = {name: self._list(name, asked) for name in self._flat if asked[_LISTS[name]] is not None}
        track = LogprobTrack(
            self._columns["logprob"][here],
            rank=self._columns["rank"][here].astype(np.int32) if asked["has_rank"] else None,
            entropy=self._columns["entropy"][here] if asked["has_entropy"] else None,
            topk=TopK(lists["top_ids"], lists["top_logprobs"]) if "top_ids" in lists else None,
            censored=self._columns["censored"][here].astype(bool),
            provenance=Provenance(**{name: asked[name] for name in _PROVENANCE}),
            context_hash=asked["context_hash"],
        )
        named = [name for name in asked["signals"] if name in self._columns]
        signals = {name: self._columns[name][here].astype(np.float32) for name in named}
        return track, signals, lists

    def groups(self) -> NDArray[np.int32]:
        """Return the groups of the block last taken."""
        found: NDArray[np.int32] = self._columns["group"][self._here].astype(np.int32)
        return found

    def _list(self, name: str, asked: Mapping[str, Any]) -> NDArray[Any]:
        length, width = asked["length"], asked[_LISTS[name]]
        start = self._at[name]
        self._at[name] = start + length * width
        dtype = np.int32 if name == "top_ids" else np.float32
        values: NDArray[Any] = self._flat[name][start : self._at[name]]
        return values.reshape(length, width).astype(dtype)


def _one(column: Any) -> Any:
    """Return a column's chunks as one array; none at all as an empty one."""
    pa = need_pyarrow()
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
