"""What a diagnosis will cost, from a short probe."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opd_widgets.diagnosis.drawn import Drawn


@dataclass(frozen=True)
class Cost:
    """An estimate, and what it comes from.

    Args:
        questions: how many.
        initial: rollouts of each question from the prompt on.
        targeted: rollouts behind candidates that the rest of the budget buys, about.
        tokens: generated tokens, the budget.
        read: response tokens to be read by the student and every teacher, at most, to compare them at the nodes.
        seconds: of generating and verifying, about, at the probe's speed: the batches after it are larger and mostly
            quicker. Reading at the nodes and deciding between rounds are not counted; with models as small as the
            lab's, deciding takes as long again.
        probe_rollouts: rollouts of the probe. They are part of the diagnosis.
        probe_tokens: tokens they have.
        probe_seconds: time they took.

    """

    questions: int
    initial: int
    targeted: int
    tokens: int
    read: int
    seconds: float
    probe_rollouts: int
    probe_tokens: int
    probe_seconds: float

    @classmethod
    def of(cls, probe: Sequence[Drawn], seconds: float, *, questions: int, initial: int, budget: int) -> Cost:
        """Estimate from some initial rollouts and the time in seconds that they took."""
        tokens = sum(drawn.generated for drawn in probe)
        mean = max(tokens / max(1, len(probe)), 1e-9)
        first = min(float(budget), mean * initial * questions)
        return cls(
            questions=questions,
            initial=initial,
            targeted=round(2 * max(0.0, budget - first) / mean),  # from the middle of a response on, about
            tokens=budget,
            read=round(first),
            seconds=seconds * budget / max(1, tokens),
            probe_rollouts=len(probe),
            probe_tokens=tokens,
            probe_seconds=seconds,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    def to_text(self, teachers: int) -> str:
        """Return it in words."""
        return (
            f"{counted(self.questions, 'question')}, {counted(self.initial, 'initial rollout')} each, then "
            f"{self.targeted:,} targeted ones or more: {self.tokens:,} generated tokens, about "
            f"{duration(self.seconds)} of generating, and up to {self.read:,} tokens read by the student and "
            f"{counted(teachers, 'teacher')} (from a probe of {counted(self.probe_rollouts, 'rollout')}, "
            f"{self.probe_tokens:,} tokens in {self.probe_seconds:.2g} s)"
        )


def counted(number: int, what: str) -> str:
    """Return a number of things: `1 teacher`, `2 teachers`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time for people: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
