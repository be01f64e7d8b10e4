"""Scores: rollouts with what the student and every teacher say about each of their tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.piece import Piece
from opd_widgets.data.scored import RolloutScores, TeacherInfo, TeacherScores, Values
from opd_widgets.errors import InvalidInputError, MissingSignalError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.data.mismatch import StudentMismatch
    from opd_widgets.data.rollout import Rollout

__all__ = ["RolloutScores", "Scores", "TeacherInfo", "TeacherScores", "Values"]


@dataclass(frozen=True, eq=False)
class Scores:
    """Rollouts scored under several teachers.

    Args:
        rollouts: what was scored, in the order given.
        student: the student's name.
        teachers: by name, in the order given.
        items: one a rollout.
        pieces: what every token id that occurs stands for.
        questions: a question's text by its id.
        noise: noise band of a signal, in its unit: the 99th percentile of its absolute change when the same rollouts
            are scored at another batch size and padding.
        settings: parameters of the signals (beta, top_k, ...).
        notes: what a reader must be told (two engines were compared, say).

    Raises:
        InvalidInputError: not one item a rollout.

    """

    rollouts: tuple[Rollout, ...]
    student: str
    teachers: Mapping[str, TeacherInfo]
    items: tuple[RolloutScores, ...]
    pieces: Mapping[int, Piece]
    questions: Mapping[str, str] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a rollout without scores, and scores without a rollout."""
        if len(self.rollouts) != len(self.items):
            msg = f"found {len(self.rollouts)} rollouts and {len(self.items)} items, expected one item a rollout"
            raise InvalidInputError(msg)

    def __len__(self) -> int:
        """Return the number of rollouts."""
        return len(self.rollouts)

    def __repr__(self) -> str:
        """Say what is inside, in one line."""
        tokens = sum(len(rollout) for rollout in self.rollouts)
        return (
            f"Scores({len(self)} rollouts, {tokens} tokens, student {self.student!r}, "
            f"teachers {', '.join(map(repr, self.teachers)) or 'none'})"
        )

    def signal(self, name: str, rollout: int, teacher: str | None = None) -> NDArray[np.float32]:
        """Return one signal along one rollout, float32 [R].

        Args:
            name: the signal's registry name ("advantage", "reverse_kl", "student_entropy", ...).
            rollout: index of the rollout.
            teacher: whose; not needed for the student's own signals.

        Raises:
            MissingSignalError: no such signal here.
            InvalidInputError: no such teacher or rollout.

        """
        item = self.item(rollout)
        if name in item.signals:
            return item.signals[name]
        if teacher is None:
            if len(self.teachers) != 1:
                msg = f"signal {name!r} belongs to a teacher; name one of {list(self.teachers)}"
                raise InvalidInputError(msg)
            teacher = next(iter(self.teachers))
        values = item.teachers[self.check_teacher(teacher)].signals
        if name not in values:
            msg = f"no signal {name!r} in these scores; there are {sorted({*values, *item.signals})}"
            raise MissingSignalError(msg)
        return values[name]

    def item(self, rollout: int) -> RolloutScores:
        """Return one rollout's scores.

        Raises:
            InvalidInputError: no rollout of that index.

        """
        if not -len(self) <= rollout < len(self):
            msg = f"found rollout index {rollout}, expected 0 to {len(self) - 1}"
            raise InvalidInputError(msg)
        return self.items[rollout]

    def student_mismatch(self, track: str = "student") -> StudentMismatch:
        """Return how far the student's log-probabilities that came with the rollouts are from those scored here.

        Args:
            track: the name of the rollouts' track to compare with.

        Raises:
            MissingSignalError: no rollout has a track of that name.

        """
        from opd_widgets.data.mismatch import StudentMismatch

        return StudentMismatch.of(self.rollouts, self.items, track)

    def check_teacher(self, name: str) -> str:
        """Return `name` if there is such a teacher.

        Raises:
            InvalidInputError: there is none; the message lists those there are.

        """
        if name not in self.teachers:
            msg = f"no teacher {name!r}; there are {list(self.teachers)}"
            raise InvalidInputError(msg)
        return name

    def with_rollout(self, index: int, teacher: str, scored: TeacherScores) -> Scores:
        """Return the scores with one teacher's view of one rollout replaced."""
        item = self.item(index)
        teachers = {**item.teachers, teacher: scored}
        items = list(self.items)
        items[index] = replace(item, teachers=teachers)
        return replace(self, items=tuple(items))

    def save(self, path: str | Path, *, step: int | None = None) -> Path:
        """Write a run that `opd.load` opens without any model, value for value; pandas and DuckDB read its tables.

        A finished run of that name is replaced, once the new one is whole. See `opd_widgets.data.store` for the files.

        Args:
            path: the folder to write.
            step: the student's training step, for `opd.load_steps`; by default its rollouts' own, where they have one.

        Returns:
            The folder written.

        Raises:
            InvalidInputError: something else lies there, an unfinished run among it, or metadata that JSON has no form
                for.
            MissingDependencyError: pyarrow is not installed.

        """
        # only who saves needs the readers and writers
        from opd_widgets.data.store_manifest import Manifest, check_step, plan_in_order
        from opd_widgets.data.store_write import save_run

        manifest = Manifest(
            student=self.student,
            teachers=self.teachers,
            rollouts=tuple(rollout.id for rollout in self.rollouts),
            plan=plan_in_order([len(item.student) for item in self.items]),
            questions=self.questions,
            noise=self.noise,
            settings=self.settings,
            notes=self.notes,
            provenance=self._provenance(),
            step=check_step(step),
        )
        return save_run(path, manifest, self.rollouts, self.items, self.pieces)

    def _provenance(self) -> dict[str, dict[str, Any]]:
        """Return where the numbers come from, by teacher and the student's under "", as the first rollout has it."""
        if not self.items:
            return {}
        item = self.items[0]
        tracks = {"": item.student, **{name: scored.track for name, scored in item.teachers.items()}}
        return {name: asdict(track.provenance) for name, track in tracks.items()}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a token and teacher; without teachers one a token, with None there and the student's signals.

        Columns: rollout, position, token_id, token, teacher, then one a signal under its registry name.
        `position` counts response tokens from 0; `rollout` is the index into `rollouts`. With a teacher of another
        tokenizer there is a column `group` beside `teacher`: in which group of equal text its rows are compared, -1 not
        comparable, and none in the rows of other teachers; see `TeacherScores.groups`.
        """
        import pandas as pd  # half a second that a widget alone need not pay

        teachers: list[str | None] = [*self.teachers] or [None]
        frames = [pd.DataFrame(self._columns(index, teacher)) for index in range(len(self)) for teacher in teachers]
        if not frames:
            return pd.DataFrame(columns=["rollout", "position", "token_id", "token", "teacher"])
        return pd.concat(frames, ignore_index=True)

    def _columns(self, index: int, teacher: str | None) -> dict[str, Any]:
        rollout, item = self.rollouts[index], self.items[index]
        length = len(rollout)
        ids = rollout.response_ids if rollout.response_ids is not None else np.full(length, -1)
        return {
            "rollout": np.full(length, index),
            "position": np.arange(length),
            "token_id": ids,
            "token": list(rollout.tokens or [token_text(self.pieces.get(int(token))) for token in ids]),
            "teacher": np.full(length, teacher, object),
            **self._group_column(item, teacher, length),
            **item.signals,
            **({} if teacher is None else item.teachers[teacher].signals),
        }

    def _group_column(self, item: RolloutScores, teacher: str | None, length: int) -> dict[str, Any]:
        if teacher is None or all(scored.groups is None for scored in item.teachers.values()):
            return {}
        groups = item.teachers[teacher].groups
        import pandas as pd

        return {"group": pd.array([None] * length if groups is None else groups, dtype="Int32")}


def token_text(piece: Piece | None) -> str:
    """Return a token's text; bytes that are no text become U+FFFD."""
    return "" if piece is None else piece.data.decode("utf-8", "replace")


def response_pieces(rollout: Rollout, pieces: Mapping[int, Piece]) -> Sequence[Piece]:
    """Return what each response token of a rollout stands for.

    An id is looked up in `pieces`; where it is not there, or there are no ids, the rollout's own token strings say it.
    """
    own = _own_pieces(rollout)
    if rollout.response_ids is None:
        return own or []
    unknown = own or [Piece(b"\xff")] * len(rollout.response_ids)
    return [pieces.get(int(token), other) for token, other in zip(rollout.response_ids, unknown, strict=True)]


def _own_pieces(rollout: Rollout) -> list[Piece] | None:
    """Return the rollout's own token strings as pieces: as bytes where the source gave them."""
    if rollout.token_bytes is not None:
        return [Piece(data) for data in rollout.token_bytes]
    return None if rollout.tokens is None else [Piece.from_text(token) for token in rollout.tokens]
