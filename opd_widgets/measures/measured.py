"""What scoring measures along one response before any signal is derived from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements along one response of R tokens; None where there was no model to make them.

    Args:
        counted: bool [R], False for tokens the student did not write.
        student_logprob, teacher_logprob: float [R], of the sampled token, nats.
        student_entropy, teacher_entropy: float [R], nats.
        student_rank, teacher_rank: float [R], of the sampled token, 1 = likeliest.
        reverse_kl, forward_kl, jsd, skew_reverse_kl, clipped_kl: float [R], nats, over the shared real vocabulary.
        student_outside, teacher_outside: float [R], probability outside that vocabulary.
        student_top_ids, teacher_top_ids: int [R, K], likeliest first, -1 unused.
        teacher_at_student_top: float [R, K], the teacher's log-probability of `student_top_ids`.

    """

    counted: NDArray[np.bool_]
    student_logprob: NDArray[np.floating] | None = None
    teacher_logprob: NDArray[np.floating] | None = None
    student_entropy: NDArray[np.floating] | None = None
    teacher_entropy: NDArray[np.floating] | None = None
    student_rank: NDArray[np.floating] | None = None
    teacher_rank: NDArray[np.floating] | None = None
    reverse_kl: NDArray[np.floating] | None = None
    forward_kl: NDArray[np.floating] | None = None
    jsd: NDArray[np.floating] | None = None
    skew_reverse_kl: NDArray[np.floating] | None = None
    clipped_kl: NDArray[np.floating] | None = None
    student_outside: NDArray[np.floating] | None = None
    teacher_outside: NDArray[np.floating] | None = None
    student_top_ids: NDArray[np.integer] | None = None
    teacher_top_ids: NDArray[np.integer] | None = None
    teacher_at_student_top: NDArray[np.floating] | None = None

    def lacking(self, names: tuple[str, ...]) -> list[str]:
        """Return those of `names` that were not measured."""
        return [name for name in names if getattr(self, name) is None]
