"""Counts of rollouts and of correct ones at each place of a generation tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Visits:
    """How many rollouts pass each of N places, and how many of them end correct; float64 [N] each.

    Args:
        own: rollouts that are on-policy at the place: sampled there and not forced further on.
        own_correct: those that end correct.
        begun: of `own`, those whose forced part ends there; on-policy here, but not for the places before.
        begun_correct: those that end correct.
        all: every rollout that passes, forced or not.
        all_correct: those that end correct.

    """

    own: NDArray[np.float64]
    own_correct: NDArray[np.float64]
    begun: NDArray[np.float64]
    begun_correct: NDArray[np.float64]
    all: NDArray[np.float64]
    all_correct: NDArray[np.float64]

    @classmethod
    def of(cls, evidence: Evidence, weight: NDArray[np.float64]) -> Visits:
        """Count rollouts by weight, [R]."""
        tree, correct = evidence.tree, weight * (evidence.outcome == CORRECT)
        size = len(tree)
        return cls(
            own=tree.count(weight, on_policy=True),
            own_correct=tree.count(correct, on_policy=True),
            begun=np.bincount(tree.begin, weight, size).astype(np.float64),
            begun_correct=np.bincount(tree.begin, correct, size).astype(np.float64),
            all=tree.count(weight, on_policy=False),
            all_correct=tree.count(correct, on_policy=False),
        )

    @property
    def chosen(self) -> NDArray[np.float64]:
        """Of `own`, those that came there by the student's own choice at the place before."""
        return self.own - self.begun

    @property
    def chosen_correct(self) -> NDArray[np.float64]:
        """Those of them that end correct."""
        return self.own_correct - self.begun_correct
