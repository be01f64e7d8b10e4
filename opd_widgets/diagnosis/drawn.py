"""One rollout of the student as a diagnosis draws it: forced along a prefix, then on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids

CORRECT, INCORRECT, UNVERIFIED = 1, 0, -1


@dataclass(frozen=True, eq=False)
class Drawn:
    """One rollout: a targeted one where ids were forced, an on-policy one where none were.

    Args:
        ids: int32 [R], the whole response: what was forced, then what was sampled.
        start: how many ids were forced. From there on the rollout is the student's own: it is on-policy for nodes of
            this depth and deeper, and for none before.
        logprobs: float32 [R], the student's log-probability of each token, nats; NaN where unknown.
        outcome: 1 correct, 0 incorrect, -1 unverified.
        truncated: whether the length limit cut it; then the verifier is not asked and the outcome is 0.
        round: the round in which it was drawn; 0 is that of the initial rollouts.

    Raises:
        InvalidInputError: lengths differ, or an outcome of another kind.

    """

    ids: Ids
    start: int
    logprobs: NDArray[np.float32]
    outcome: int
    truncated: bool = False
    round: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be a rollout."""
        if len(self.logprobs) != len(self.ids) or not 0 <= self.start <= len(self.ids):
            msg = (
                f"found {len(self.ids)} ids, {len(self.logprobs)} log-probabilities and {self.start} forced ids, "
                "expected a log-probability for each id and no more forced than there are"
            )
            raise InvalidInputError(msg)
        if self.outcome not in {CORRECT, INCORRECT, UNVERIFIED}:
            msg = f"found outcome {self.outcome!r}, expected 1 (correct), 0 (incorrect) or -1 (unverified)"
            raise InvalidInputError(msg)

    @property
    def generated(self) -> int:
        """How many tokens were sampled: what it cost."""
        return len(self.ids) - self.start
