"""Sums over a question's nodes from which every mean by teacher, outcome and depth is made.

The value of each sum is cross-fitted: a node's weight comes from one half of the initial rollouts, its alignment from
everything else, both ways (see `crossfit.py`). The two readings' draws are made one without the other though they share
most of their rollouts, so adding them would understate the spread. Instead, draws spread as one reading's do, those of
the first and of the second in turn. With each draw the initial rollouts weigh anew, for how often they pass a node is
known no better than they are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.tables.crossfit import OUTCOMES, Crossfit
from opd_widgets.diagnosis.tables.quantiles import mean
from opd_widgets.diagnosis.tables.verdict import COUNTED, NO_SIGNAL, TOO_FEW, verdicts
from opd_widgets.measures.support import POINTS_OUTSIDE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading

ALL = "all"
BY_OUTCOME = (*OUTCOMES, ALL)
KINDS = (COUNTED, NO_SIGNAL, POINTS_OUTSIDE, TOO_FEW)  # a node of two kinds in its two readings is of the first
SUMS = ("cosine", "positive", "weighted_cosine", "range", "gain")


@dataclass(frozen=True, eq=False)
class Aggregate:
    """Weighted sums over nodes and the weights in them, by outcome (3), teacher and depth bin, in D draws.

    Args:
        weight: float64 [3, T, G, D], rollouts behind the nodes with an alignment.
        inside: float64 [3, T, G, D], rollouts behind these and those without a signal.
        sums: float64 [5, 3, T, G, D], in the order of `SUMS`: the cosine, whether it is above 0, cosine times success
            range, success range; and the teacher advantage, over the nodes inside.

    """

    weight: NDArray[np.float64]
    inside: NDArray[np.float64]
    sums: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tally:
    """One question's sums by outcome (correct, incorrect, all), teacher and depth bin.

    Args:
        counts: int64 [4, 3, T, G], nodes by kind, in the order of `KINDS`.
        middle: posterior means weighed by plain counts of rollouts; D is 1.
        draws: of P_succ and of the rollouts' weights together.
        posterior: float64 [3, T, G, D], draws of the sum of cosines with plain counts: what P_succ alone leaves open.

    """

    counts: NDArray[np.int64]
    middle: Aggregate
    draws: Aggregate
    posterior: NDArray[np.float64]

    @classmethod
    def of(cls, crossfit: Crossfit, bins: int) -> Tally:
        """Sum over the nodes of one question.

        Args:
            crossfit: weights and readings of both halves.
            bins: G.

        """
        depths = crossfit.readings[0].evidence.nodes.depths.tolist()
        bin_of_node = np.array([bin_of(depth) for depth in depths])
        at = bin_of_node == np.arange(bins)[:, None]  # [G, M]
        weights = np.stack([*(crossfit.weights[name] for name in OUTCOMES), crossfit.total], axis=1)  # [F, O, M]
        kinds = np.stack([verdicts(reading) for reading in crossfit.readings])  # [F, M, T]
        passed = weights > 0
        counts, taken = [], np.zeros((*weights.shape[1:], kinds.shape[2]), np.bool_)  # [O, M, T]
        for kind in KINDS:
            here = (passed[..., None] & (kinds == kind)[:, None]).any(axis=0) & ~taken
            taken |= here
            counts.append(np.einsum("gm,omt->otg", at.astype(np.int64), here.astype(np.int64)))
        counted, inside = (one.astype(np.float64) for one in (kinds == COUNTED, _inside(crossfit, kinds)))
        measures = [_measures(reading) for reading in crossfit.readings]  # [S, M, T, D] each
        centre, around = np.stack([mean(of_fold) for of_fold in measures], axis=1), _spread(measures)
        again = np.stack([crossfit.reweighed[name] for name in OUTCOMES], axis=1)  # [F, O - 1, M, D]
        parts: list[tuple[Aggregate, Aggregate, NDArray[np.float64]]] = []
        for here in at:
            one = counted[:, here], inside[:, here], centre[:, :, here]
            plain, drawn = weights[:, :, here, None], again[:, :, here]
            steady = _weighed(plain, *one)
            moved = _weighed(np.concatenate([drawn, drawn.sum(axis=1, keepdims=True)], axis=1), *one)
            varied = around[:, here]  # [S, m, T, D]
            by_draw = np.concatenate([drawn.sum(axis=0), drawn.sum(axis=(0, 1))[None]])  # [O, m, D]
            moved.sums[...] += _joint(by_draw, varied)
            cosine = steady.sums[0] + np.einsum("om,mtd->otd", plain.sum(axis=0)[..., 0], varied[0], optimize=True)
            parts.append((steady, moved, cosine))
        return cls(
            np.stack(counts),
            middle=_by_bin([part[0] for part in parts]),
            draws=_by_bin([part[1] for part in parts]),
            posterior=np.stack([part[2] for part in parts], axis=-2),
        )


def _weighed(
    weights: NDArray[np.float64],
    counted: NDArray[np.float64],
    inside: NDArray[np.float64],
    centre: NDArray[np.float64],
) -> Aggregate:
    """Return sums over m nodes of one bin, [..., T, D]: weights [F, O, m, D], the nodes' marks and means [F, m, T]."""
    return Aggregate(
        np.einsum("fomd,fmt->otd", weights, counted, optimize=True),
        np.einsum("fomd,fmt->otd", weights, inside, optimize=True),
        np.einsum("fomd,sfmt->sotd", weights, centre, optimize=True),
    )


def _joint(weights: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over nodes of weights [O, m, D] times values [S, m, T, D], draw by draw, [S, O, T, D].

    As a matrix product for each draw: einsum takes a hundred times as long.
    """
    sums, size, teachers, draws = values.shape
    flat = np.moveaxis(values, (3, 1), (0, 1)).reshape(draws, size, sums * teachers)
    found = np.moveaxis(weights, 2, 0) @ flat  # [D, O, S x T]
    made: NDArray[np.float64] = found.reshape(draws, -1, sums, teachers).transpose(2, 1, 3, 0)
    return made


def _by_bin(parts: Sequence[Aggregate]) -> Aggregate:
    return Aggregate(*(np.stack([getattr(one, name) for one in parts], -2) for name in ("weight", "inside", "sums")))


def bin_of(depth: int) -> int:
    """Return the bin of a depth: 0, 1, 2-3, 4-7, and so on, each twice as wide as the one before."""
    return depth.bit_length()


def bin_name(index: int) -> str:
    """Return the depths of a bin, such as "4-7"."""
    first, last = (1 << index) >> 1, (1 << index) - 1
    return str(first) if first == last else f"{first}-{last}"


def _inside(crossfit: Crossfit, kinds: NDArray[np.object_]) -> NDArray[np.bool_]:
    enough = np.stack([reading.n_support >= 2 for reading in crossfit.readings])
    return np.isin(kinds, [COUNTED, NO_SIGNAL]) & enough


def _spread(measures: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return how draws lie around the mean, [5, M, T, D]: those of the first reading and of the second in turn."""
    around = np.empty_like(measures[0])
    for fold, of_fold in enumerate(measures):
        own = slice(fold, None, len(measures))
        around[..., own] = of_fold[..., own] - of_fold.mean(axis=-1, keepdims=True)
    spread: NDArray[np.float64] = around - around.mean(axis=-1, keepdims=True)
    return spread


def _measures(reading: Reading) -> NDArray[np.float64]:
    """Return draws of what is summed, [5, M, T, D]; 0 where a node has no part in a sum.

    A draw in which success is the same after every token has no direction: it gets the mean of the node's others, so
    that a node's weight is the same in all draws.
    """
    kinds = verdicts(reading)
    counted = (kinds == COUNTED)[..., None]
    inside = np.isin(kinds, [COUNTED, NO_SIGNAL])[..., None] & (reading.n_support >= 2)[..., None]
    undefined = np.isnan(reading.draws)
    cosine = np.where(undefined, mean(reading.draws)[..., None], reading.draws)
    above = np.where(undefined, np.nan, reading.draws > 0)
    positive = np.where(undefined, mean(above)[..., None], above)
    spread = np.where(inside, reading.success_range, 0.0)
    of_score = [np.where(counted, values, 0.0) for values in (cosine, positive, cosine * spread, spread)]
    return np.stack([*of_score, np.where(inside, reading.teacher_advantage, 0.0)])
