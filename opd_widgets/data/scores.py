"""Scores: rollouts with what the student and every teacher say about each of their tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.piece import Piece
from opd_widgets.errors import InvalidInputError, MissingSignalError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.track import LogprobTrack

Values = Mapping[str, "NDArray[np.float32]"]


@dataclass(frozen=True)
class TeacherInfo:
    """Who a teacher is: what a reader must know to tell two teachers apart.

    Args:
        name: the name it was scored under.
        model: its model's name.
        kind: "external", or the kind of its context ("one_correct", "free_text", ...).
        description: one line saying what it sees.
        limit: longest prompt and response together, in tokens; None where unknown.
        self_distillation: whether it is the student's own weights.

    """

    name: str
    model: str
    kind: str = "external"
    description: str = ""
    limit: int | None = None
    self_distillation: bool = False


@dataclass(frozen=True, eq=False)
class TeacherScores:
    """What one teacher says along one rollout.

    Args:
        track: the teacher's log-probability of each sampled token, with rank, entropy and top-k.
        at_student_top: float32 [R, K], the teacher's log-probability of the student's likeliest tokens.
        student_at_top: float32 [R, K], the student's log-probability of the teacher's likeliest tokens.
        signals: float32 [R] by signal name.
        prompt_ids: int32 [P], the prompt the teacher saw.
        context: the privileged part of that prompt as text; None where there is none.
        context_tokens: its length in tokens.

    """

    track: LogprobTrack
    at_student_top: NDArray[np.float32]
    student_at_top: NDArray[np.float32]
    signals: Values
    prompt_ids: NDArray[np.int32]
    context: str | None = None
    context_tokens: int = 0


@dataclass(frozen=True, eq=False)
class RolloutScores:
    """One rollout, scored.

    Args:
        student: the student's track along the response.
        signals: float32 [R], the signals that need no teacher, by name.
        teachers: by teacher name.

    """

    student: LogprobTrack
    signals: Values
    teachers: Mapping[str, TeacherScores]


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

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a token and teacher; without teachers one a token, with None there and the student's signals.

        Columns: rollout, position, token_id, token, teacher, then one a signal under its registry name.
        `position` counts response tokens from 0; `rollout` is the index into `rollouts`.
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
            **item.signals,
            **({} if teacher is None else item.teachers[teacher].signals),
        }


def token_text(piece: Piece | None) -> str:
    """Return a token's text; bytes that are no text become U+FFFD."""
    return "" if piece is None else piece.data.decode("utf-8", "replace")


def response_pieces(rollout: Rollout, pieces: Mapping[int, Piece]) -> Sequence[Piece]:
    """Return what each response token of a rollout stands for."""
    if rollout.response_ids is None:
        return [Piece.from_text(token) for token in rollout.tokens or ()]
    unknown = Piece(b"\xff")
    return [pieces.get(int(token), unknown) for token in rollout.response_ids]
