"""What a diagnosis's numbers depend on, beside its rollouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opd_widgets.diagnosis.estimate.fit import DRAWS, ESTIMATORS, Estimator
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.divergence import check_beta
from opd_widgets.measures.node_gradient import LOSSES, Loss

N_SIG = 20  # the paper's, on BoolQ and MMLU


@dataclass(frozen=True)
class DiagnosisSettings:
    """How P_succ is estimated and what the ideal gradient is held against.

    Args:
        estimator: "backup", "on_policy" or "pooled".
        loss: "reverse_kl", "forward_kl" or "jsd".
        beta: of the JSD.
        min_visits: N_sig, the visits that a candidate of the support needs; by default 1 for `backup`, whose intervals
            say how little one visit is, and 20 for the others, as in the paper.
        draws: posterior draws behind each interval.
        level: probability that an interval is to hold.
        seed: of the draws and of every bootstrap.

    Raises:
        InvalidInputError: an unknown name, or a number out of its range.

    """

    estimator: Estimator = "backup"
    loss: Loss = "reverse_kl"
    beta: float = 0.5
    min_visits: int | None = None
    draws: int = DRAWS
    level: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no diagnosis can be made with."""
        for name, known in (("estimator", ESTIMATORS), ("loss", LOSSES)):
            if getattr(self, name) not in known:
                msg = f"found {name} {getattr(self, name)!r}, expected one of {', '.join(known)}"
                raise InvalidInputError(msg)
        if self.loss == "jsd":
            check_beta(self.beta)
        for name in ("draws", "min_visits"):
            value: Any = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                msg = f"found {name}={value!r}, expected a whole number of at least 1"
                raise InvalidInputError(msg)
        seed: Any = self.seed
        if not isinstance(seed, int) or seed < 0:
            msg = f"found seed={seed!r}, expected a whole number of at least 0"
            raise InvalidInputError(msg)
        level: Any = self.level
        if not isinstance(level, float | int) or not 0 < level < 1:
            msg = f"found level={self.level!r}, expected a probability between 0 and 1, such as 0.9"
            raise InvalidInputError(msg)

    @property
    def n_sig(self) -> int:
        """Visits that a candidate of the support needs."""
        if self.min_visits is not None:
            return self.min_visits
        return 1 if self.estimator == "backup" else N_SIG

    @property
    def tails(self) -> tuple[float, float]:
        """The quantiles at which an interval ends."""
        return (1 - self.level) / 2, (1 + self.level) / 2
