"""The same few visits for every candidate, in rounds: the strongest simple way to spend."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.spending.order import Market, Order, orders

if TYPE_CHECKING:
    from opd_widgets.diagnosis.evidence import Evidence


def even(evidence: Evidence, tokens: float) -> list[Order]:
    """Return orders for about so many tokens: always behind the candidate with the fewest targeted rollouts.

    Among equals, the nodes in their order.
    """
    market = Market(evidence)
    queue = [(int(market.targeted[at[0], at[1]]), int(at[0]), int(at[1])) for at in np.argwhere(market.open)]
    heapq.heapify(queue)
    chosen, spent = [], 0.0
    while queue and spent < tokens:
        visits, node, column = heapq.heappop(queue)
        chosen.append((node, column))
        spent += market.cost[node, column]
        heapq.heappush(queue, (visits + 1, node, column))
    return orders(chosen)
