"""Success at the places of a question's tree that the diagnosis estimates: its nodes, and behind its candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.evidence import NOWHERE
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading


@dataclass(frozen=True, eq=False)
class PlaceSuccess:
    """Success at K places of a tree, each once; places without an estimate are not among them.

    Args:
        place: int64 [K], ascending.
        at_node: bool [K], whether a node stands there: then it is V, the success over the node's candidates; else it
            is P_succ of the candidate that leads there.
        mean: float64 [K], posterior mean.
        low: float64 [K], lower end of the interval of the settings' level.
        high: float64 [K], its upper end.

    """

    place: NDArray[np.int64]
    at_node: NDArray[np.bool_]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def place_success(reading: Reading) -> PlaceSuccess:
    """Return what a reading says of success by place: the means are those of `Diagnosis.nodes` and `.candidates`.

    Where a candidate leads straight to a node, the node's is taken.
    """
    evidence, posterior = reading.evidence, reading.fit.posterior
    used = evidence.nodes.used
    place = np.concatenate([evidence.node_place, evidence.candidate_place[used]])
    draws = np.concatenate([_node_draws(reading), posterior[used]])
    at_node = np.arange(len(place)) < len(evidence.nodes)
    known = (place != NOWHERE) & ~np.isnan(draws).all(axis=-1)
    place, draws, at_node = place[known], draws[known], at_node[known]
    once, first = np.unique(place, return_index=True)  # the first: nodes stand before candidates
    chosen = draws[first]
    low, high = quantiles(chosen, reading.settings.tails)
    return PlaceSuccess(once.astype(np.int64), at_node[first], mean(chosen), low, high)


def _node_draws(reading: Reading) -> NDArray[np.float32]:
    """Return draws of V at each node, [M, D], whose mean is `node_success`; NaN where no candidate's share is known."""
    logp = reading.evidence.nodes.student_logp
    p = np.where(np.isnan(logp) | ~reading.evidence.nodes.used, 0.0, np.exp(logp))
    mass = p.sum(axis=-1, keepdims=True)
    share = (p / np.where(mass > 0, mass, np.nan)).astype(np.float32)
    draws: NDArray[np.float32] = np.einsum("mc,mcd->md", share, np.nan_to_num(reading.fit.posterior))
    return draws
