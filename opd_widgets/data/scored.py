"""What student and teachers say along one rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opd_widgets.data.piece import Piece
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
        chat_template_kwargs: what its chat template is given beside the turns, as plain values.

    """

    name: str
    model: str
    kind: str = "external"
    description: str = ""
    limit: int | None = None
    self_distillation: bool = False
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class OwnTokens:
    """What a teacher of another tokenizer read, in its own tokens.

    Args:
        ids: int32 [T], the response.
        groups: int32 [T], the group each of them is compared in; -1 not comparable.
        pieces: what the ids of its prompt and of the response stand for.

    """

    ids: NDArray[np.int32]
    groups: NDArray[np.int32]
    pieces: Mapping[int, Piece]

    def by_group(self) -> list[list[Piece]]:
        """Return the teacher's tokens of each group, in order."""
        found: list[list[Piece]] = [[] for _ in range(int(self.groups.max(initial=-1)) + 1)]
        for token, group in zip(self.ids.tolist(), self.groups.tolist(), strict=True):
            if group >= 0:
                found[group].append(self.pieces[token])
        return found


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
        leaks_answer: whether it holds the question's answer; None where there is no context, or no answer is known.
        groups: int32 [R], for a teacher of another tokenizer: the group of equal text that each token is compared in,
            -1 not comparable. A group's value, the sum over its tokens on each side, stands at its last token and is
            NaN at the others, so that sums and means count it once. None where the teacher has the student's tokens.
        own: that teacher's tokens, its prompt's among them: `prompt_ids` are of its vocabulary, and not the student's.

    """

    track: LogprobTrack
    at_student_top: NDArray[np.float32]
    student_at_top: NDArray[np.float32]
    signals: Values
    prompt_ids: NDArray[np.int32]
    context: str | None = None
    context_tokens: int = 0
    leaks_answer: bool | None = None
    groups: NDArray[np.int32] | None = None
    own: OwnTokens | None = None


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
