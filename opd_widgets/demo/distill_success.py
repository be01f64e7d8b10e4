"""How often a student answers right on questions that no training saw, and by how much that rose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from opd_widgets.data.question import Question
from opd_widgets.demo import arithmetic
from opd_widgets.demo.lab import MAX_NEW_TOKENS, verify
from opd_widgets.scoring.sample import sample_rollouts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Generator

QUESTIONS: Final = 2500  # the standard error of a success of one half is then one point
QUESTION_SEED: Final = 7000
SAMPLE_SEED: Final = 7001
Z95: Final = 1.959964


@dataclass(frozen=True, eq=False)
class Success:
    """One answer to each of a list of questions.

    Args:
        right: bool [N], question by question.

    """

    right: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """Right answers, 0 to 1."""
        return float(self.right.mean())

    @property
    def standard_error(self) -> float:
        """Of the share, from drawing both questions and answers: sqrt(p (1 - p) / N)."""
        return math.sqrt(self.share * (1 - self.share) / len(self.right))

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the share: Wilson's, for a binomial count."""
        n, p = len(self.right), self.share
        middle = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 / (1 + Z95**2 / n) * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n**2))
        return middle - half, middle + half

    def gain_over(self, before: Success) -> tuple[float, float]:
        """Return by how much the share rose, and that gain's standard error, paired by question.

        The error is that of answering these questions and drawing them; what another seed of the training would change
        is not in it.
        """
        change = self.right.astype(float) - before.right
        return float(change.mean()), float(change.std(ddof=1) / math.sqrt(len(change)))


def evaluation_questions(n: int = QUESTIONS, without: Collection[str] = ()) -> list[Question]:
    """Return n held-out questions, none of them with an id in `without`: those a student was distilled on."""
    drawn = arithmetic.problems(n + len(without), "held_out", QUESTION_SEED)
    kept = [problem for problem in drawn if problem.expression not in set(without)]
    return [Question(p.expression, p.question, answer=p.answer) for p in kept[:n]]  # type: ignore[arg-type]  # one user turn


def success(model: Generator, questions: Sequence[Question], seed: int = SAMPLE_SEED) -> Success:
    """Return whether one rollout of each question is right, drawn at temperature 1 from exactly p_S."""
    drawn = sample_rollouts(questions, model, n=1, max_new_tokens=MAX_NEW_TOKENS, seed=seed, verifier=verify)
    return Success(np.array([rollout.outcome == "correct" for rollout in drawn]))
