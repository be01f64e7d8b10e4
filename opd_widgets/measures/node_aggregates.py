"""Means of alignment over nodes, split by outcome.

A prefix lies on correct and incorrect rollouts alike, so each (node, outcome) pair counts by the on-policy rollouts of
that outcome through the node; forced ones are left out. The rollouts that make these weights may not be those that
estimate the success probabilities. Source: arXiv 2605.10889.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.support import float_vector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class NodeAggregate:
    """Means over the nodes of one outcome, each weighted by its rollouts; None where nothing is there to average.

    Args:
        n_nodes: nodes with a defined alignment that are counted.
        n_undefined: nodes inside the support whose alignment is undefined: in `mean_teacher_advantage` alone.
        n_outside: nodes that point outside the support: in no mean.
        weight: rollouts behind the counted nodes, one for each node that a rollout passes.
        mean_cosine: mean alignment.
        share_positive: share above 0.
        weighted_cosine: mean alignment, weighted by the success range as well.
        mean_teacher_advantage: over the nodes inside the support.

    """

    n_nodes: int
    n_undefined: int
    n_outside: int
    weight: float
    mean_cosine: float | None
    share_positive: float | None
    weighted_cosine: float | None
    mean_teacher_advantage: float | None


def aggregate_nodes(
    alignment: ArrayLike,
    success_range: ArrayLike,
    teacher_advantage: ArrayLike,
    rollouts: Mapping[str, ArrayLike],
    points_outside: ArrayLike | None = None,
) -> dict[str, NodeAggregate]:
    """Return the means over M nodes for each outcome.

    Args:
        alignment: [M], NaN where undefined.
        success_range: [M].
        teacher_advantage: [M].
        rollouts: by outcome, such as "correct" and "incorrect": [M], on-policy rollouts of it through each node. A
            node with none is not of that outcome.
        points_outside: booleans [M], nodes with a mass below 0.9 on their support; None for none.

    Raises:
        InvalidInputError: lengths differ, a number of rollouts is negative or missing, or a range or a teacher
            advantage that would be averaged is.

    """
    cosine = float_vector(alignment, "alignment")
    n = len(cosine)
    spread = _of_length(success_range, "success_range", n)
    gain = _of_length(teacher_advantage, "teacher_advantage", n)
    outside = np.zeros(n, np.bool_) if points_outside is None else np.asarray(points_outside)
    if outside.shape != (n,) or outside.dtype != np.bool_:
        msg = f"found points_outside of shape {outside.shape} and type {outside.dtype}, expected booleans [{n}]"
        raise InvalidInputError(msg)
    if not (np.isfinite(spread) & (spread >= 0) & np.isfinite(gain))[~outside].all():
        msg = "found a success_range or teacher_advantage that is missing or below 0 for a range, expected one a node"
        raise InvalidInputError(msg)
    found = {}
    for outcome, counts in rollouts.items():
        weight = _of_length(counts, f"rollouts[{outcome!r}]", n)
        if not (np.isfinite(weight) & (weight >= 0)).all():
            msg = f"found rollouts[{outcome!r}] with a value below 0 or missing, expected numbers of rollouts"
            raise InvalidInputError(msg)
        found[outcome] = _aggregate(cosine, spread, gain, weight, outside)
    return found


def _aggregate(
    cosine: NDArray[np.float64],
    spread: NDArray[np.float64],
    gain: NDArray[np.float64],
    weight: NDArray[np.float64],
    outside: NDArray[np.bool_],
) -> NodeAggregate:
    passed = weight > 0
    inside = passed & ~outside
    defined = inside & ~np.isnan(cosine)
    c, w = cosine[defined], weight[defined]
    return NodeAggregate(
        n_nodes=int(defined.sum()),
        n_undefined=int((inside & ~defined).sum()),
        n_outside=int((passed & outside).sum()),
        weight=float(w.sum()),
        mean_cosine=_mean(c, w),
        share_positive=_mean(c > 0, w),
        weighted_cosine=_mean(c, w * spread[defined]),
        mean_teacher_advantage=_mean(gain[inside], weight[inside]),
    )


def _mean(values: NDArray[np.float64] | NDArray[np.bool_], weight: NDArray[np.float64]) -> float | None:
    total = weight.sum()
    return float((values * weight).sum() / total) if total > 0 else None


def _of_length(values: ArrayLike, name: str, n: int) -> NDArray[np.float64]:
    vector = float_vector(values, name)
    if len(vector) != n:
        msg = f"found {name} of {len(vector)} and alignment of {n} nodes, expected one value a node"
        raise InvalidInputError(msg)
    return vector
