"""What student and teachers say along one rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
