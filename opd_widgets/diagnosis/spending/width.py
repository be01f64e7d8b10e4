"""Ours: spend where the intervals shrink most, after everything was looked at once.

First each candidate that no rollout has passed gets one. Then rollouts go where the posterior spread of the cosine can
be expected to shrink most for a token spent: the spread, times how much of it hangs on this candidate's success (their
squared correlation over the draws), times what one more visit is worth, over the tokens that it takes.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.alignments import alignments
from opd_widgets.diagnosis.spending.order import Market, Order, orders
from opd_widgets.measures.node_gradient import Loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.estimate.fit import Fit
    from opd_widgets.diagnosis.evidence import Evidence

PRIOR_VISITS = 2.0


def width(evidence: Evidence, tokens: float, fit: Fit, loss: Loss = "reverse_kl", beta: float = 0.5) -> list[Order]:
    """Return orders for about so many tokens.

    Args:
        evidence: nodes and rollouts so far.
        tokens: to spend now.
        fit: the estimate, with draws, that the evidence gives.
        loss: whose alignment it is: "reverse_kl", "forward_kl" or "jsd".
        beta: of the JSD.

    """
    market = Market(evidence)
    chosen: list[tuple[int, int]] = []
    spent = 0.0
    first = market.open & (fit.visits == 0)
    for node, column in np.argwhere(first):
        if spent >= tokens:
            return orders(chosen)
        chosen.append((int(node), int(column)))
        spent += market.cost[node, column]
    hangs, visits = _hangs(evidence, fit, loss, beta) / market.cost, fit.visits + first
    queue = []
    for node, column in np.argwhere(market.open & (hangs > 0)):
        n = int(visits[node, column])
        queue.append((-_gain(hangs[node, column], n), int(node), int(column), n))
    heapq.heapify(queue)
    while queue and spent < tokens:
        _, node, column, n = heapq.heappop(queue)
        chosen.append((node, column))
        spent += market.cost[node, column]
        heapq.heappush(queue, (-_gain(hangs[node, column], n + 1), node, column, n + 1))
    return orders(chosen)


def _gain(hangs: float, visits: int) -> float:
    return hangs / (visits + PRIOR_VISITS)


def _hangs(evidence: Evidence, fit: Fit, loss: Loss, beta: float) -> NDArray[np.float64]:
    """Return how much of the spread of the cosines hangs on each candidate's success, summed over teachers, [M, C]."""
    nodes = evidence.nodes
    kept = nodes.said_by_both
    draws = fit.posterior.astype(np.float64)
    cosine = np.nan_to_num(alignments(nodes, draws, kept, loss, beta))  # [M, T, D]
    draws = np.nan_to_num(draws)
    cosine = cosine - cosine.mean(axis=-1, keepdims=True)
    draws = draws - draws.mean(axis=-1, keepdims=True)
    spread = np.sqrt((cosine**2).mean(axis=-1))  # [M, T]
    variance = (draws**2).mean(axis=-1)  # [M, C]
    together = np.einsum("mtd,mcd->mtc", cosine, draws) / draws.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = together**2 / (spread**2)[..., None] / variance[:, None]
    found: NDArray[np.float64] = (spread[..., None] * np.nan_to_num(share)).sum(axis=1)
    return found
