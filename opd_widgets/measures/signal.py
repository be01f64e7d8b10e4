"""What a per-token signal is: a formula with its needs, unit and scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.divergence import check_beta

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.measured import Measured

Tier = Literal["L1", "L1+C", "L2", "L3", "L4"]
Scale = Literal["diverging", "sequential", "log"]
Aggregate = Literal["sum", "max", "mean"]
Compute = Callable[["Measured", "SignalSettings"], "NDArray[np.floating]"]


# what a setting may be, in words and as a test; NaN passes none
_RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "beta": ("a number", lambda _: True),  # `check_beta` says more
    "overlap_k": ("a whole number of at least 1", lambda value: value >= 1 and value.is_integer()),
    "position_gain": ("a finite number of at least 0", lambda value: 0 <= value < math.inf),
    "gamma": ("0 <= gamma <= 1", lambda value: 0 <= value <= 1),
    "skew": ("0 < skew < 1; at 0 it is reverse_kl, at 1 it is 0", lambda value: 0 < value < 1),
    "clip": ("a number above 0", lambda value: value > 0),
    "power": ("a finite number above 0", lambda value: 0 < value < math.inf),
}


@dataclass(frozen=True)
class SignalSettings:
    """Parameters of the signals that have one.

    Args:
        beta: of the generalised JSD, 0 < beta < 1.
        overlap_k: how many of the likeliest tokens count for `topk_overlap`, at least 1.
        position_gain: g of the position-weighted advantage, at least 0.
        gamma: discount of `discounted_advantage`, 0 to 1.
        skew: share of the student in the mixture of `skew_reverse_kl`, 0 < skew < 1.
        clip: largest contribution of one vocabulary entry to `clipped_kl`, nats, above 0.
        power: exponent a of `power_advantage`, above 0.

    Raises:
        InvalidInputError: a value outside its range.

    """

    beta: float = 0.5
    overlap_k: int = 16
    position_gain: float = 0.5
    gamma: float = 0.95
    skew: float = 0.1
    clip: float = 0.05
    power: float = 0.5

    def __post_init__(self) -> None:
        """Refuse values at which a signal is undefined or 0 by definition; make numbers Python's own."""
        for name in (field.name for field in fields(self)):
            value: Any = getattr(self, name)
            expected, fits = _RANGES[name]
            if not isinstance(value, Real) or not fits(float(value)):
                msg = f"found {name}={value!r}, expected {expected}"
                raise InvalidInputError(msg)
            object.__setattr__(self, name, int(float(value)) if name == "overlap_k" else float(value))
        check_beta(self.beta)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Signal:
    """One per-token signal.

    Args:
        name: registry name, also the column name in data frames.
        label: short name for people.
        formula: plain text; s and t are student's and teacher's log-probability of the sampled token.
        unit: "nats", "nats²", "rank", "share", "cosine" or "".
        tier: what it needs; see the module `signals`.
        scale: which colour scale it takes.
        low, high: what the scale's two ends mean.
        needs: fields of `Measured`.
        compute: the formula; None for a signal that scoring alone cannot give.
        per_teacher: False for the student's own.
        aggregate: how tokens that share one display cell combine; log-probabilities and, by the chain rule,
            divergences along the path add.
        whole: whether a token's value depends on later ones, so that it cannot be had of a response scored in part.
        reason: why there is no `compute`.
        source: where the formula comes from.

    """

    name: str
    label: str
    formula: str
    unit: str
    tier: Tier
    scale: Scale
    low: str
    high: str
    needs: tuple[str, ...] = ()
    compute: Compute | None = None
    per_teacher: bool = True
    aggregate: Aggregate = "sum"
    whole: bool = False
    reason: str = ""
    source: str = ""

    def unmet(self, measured: Measured) -> str | None:
        """Return why the signal cannot be had from these measurements; None if it can."""
        if self.compute is None:
            return self.reason
        lacking = measured.lacking(self.needs)
        return f"needs {', '.join(name.replace('_', ' ') for name in lacking)}, not measured here" if lacking else None


def field_of(name: str) -> Compute:
    """Return a formula that is one of the measurements itself."""
    return lambda measured, _: np.asarray(getattr(measured, name))
