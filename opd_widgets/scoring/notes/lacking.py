"""Signals that a teacher cannot have: for its sums over groups, a server's answers, a vocabulary of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.crosstok import NO_GROUP
from opd_widgets.measures.signals import REGISTRY
from opd_widgets.models.tokenizer import first_unlike

if TYPE_CHECKING:
    from opd_widgets.data.scored import RolloutScores
    from opd_widgets.measures.signal import Signal
    from opd_widgets.models.protocol import TokenScorer
    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.prepare import Task

# what there is to compute with; see `opd_widgets.measures.measured.Measured`
_SUMS = {"student_logprob", "teacher_logprob"}
_SERVED = {
    *_SUMS, "student_entropy", "student_rank", "teacher_rank", "student_top_ids", "teacher_top_ids",
    "teacher_at_student_top",
}  # fmt: skip
OUTSIDE = ("student_outside", "teacher_outside")
MASS = 0.05  # of probability outside the shared vocabulary, from which it is noted


def needs_distribution(signal: Signal) -> bool:
    """Return whether a signal needs more than a server says without `full_vocabulary`."""
    return _needs_more(signal, _SERVED)


def _needs_more(signal: Signal, given: Collection[str]) -> bool:
    return signal.per_teacher and signal.compute is not None and not set(given).issuperset(signal.needs)


def _lacking(given: Collection[str]) -> list[str]:
    return [signal.name for signal in REGISTRY.values() if _needs_more(signal, given)]


def what_servers_lack(scorers: Mapping[str, TokenScorer], k: int) -> tuple[str, ...]:
    """Return a note a teacher on the signals it has not, and on the one that is but a bound.

    Args:
        scorers: teachers behind servers, by name; those that give whole distributions lack nothing.
        k: how many of the likeliest tokens each gives.

    """
    lacking = _lacking(_SERVED)
    notes = []
    for name, scorer in scorers.items():
        if scorer.full_vocabulary:
            continue
        note = f"{name}: its server gives no full distribution, so there is no {', '.join(lacking)}"
        if not scorer.scores_any_id:
            note += (
                "; nor does it score ids of one's choice, so teacher_mass counts only those of the student's likeliest "
                f"tokens that are among its own {k}, a lower bound"
            )
        notes.append(note)
    return tuple(notes)


def what_groups_lack(tasks: Sequence[Task], panel: Panel) -> tuple[str, ...]:
    """Return a note a teacher of another tokenizer: how it is compared, what is absent, how much is not comparable."""
    lacking = _lacking(_SUMS)
    notes = []
    for name, teacher in panel.foreign.items():
        unlike = first_unlike(panel.student.tokenizer, teacher.model.tokenizer)
        size = teacher.model.tokenizer.size
        why = f" (it has the ids 0 to {size - 1}, and the rollouts hold others)"
        if unlike is not None:
            why = f" (id {unlike[0]} is {unlike[2]!r} to it and {unlike[1]!r} to the student)"
        total, left = _counts(tasks, name)
        notes.append(
            f"{name} has another tokenizer than the student{why}: tokens are compared in groups of equal text, a "
            f"group's value is the sum over its tokens, and there is no {', '.join(lacking)}. {left} of {total} "
            "counted tokens are not comparable"
        )
    return tuple(notes)


def _counts(tasks: Sequence[Task], name: str) -> tuple[int, int]:
    """Return how many tokens count, and how many of them are in no group."""
    total = left = 0
    for task in tasks:
        if name in task.respelled:
            counted = task.rollout.counted
            total += int(counted.sum())
            left += int((counted & (task.respelled[name].alignment.student == NO_GROUP)).sum())
    return total, left


def what_lies_outside(items: Sequence[RolloutScores], names: Sequence[str]) -> tuple[str, ...]:
    """Return a note a teacher where much probability lies on ids that one of the two tokenizers does not have.

    Args:
        items: what was scored.
        names: of the teachers.

    """
    notes = []
    for name in names:
        most = 0.0
        for item in items:
            signals = item.teachers[name].signals
            for signal in OUTSIDE:
                if signal in signals and np.isfinite(signals[signal]).any():
                    most = max(most, float(np.nanmax(signals[signal])))
        if most > MASS:
            notes.append(
                f"at some token {most:.0%} of a probability lies on ids that the student and {name} do not both have: "
                "divergences are taken without them, log-probabilities, entropies and ranks with them"
            )
    return tuple(notes)
