"""The paper's order, as we read it: the largest gradient first, one candidate after another, by depth windows.

Source: arXiv 2605.10889. Windows of depth double (1 to 50, 51 to 150, 151 to 350, ...) and each has the same budget;
what a window does not need goes to the others. Visits are counted as the paper's are: every rollout through a
candidate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.alignments import renormalised
from opd_widgets.diagnosis.evidence import NOWHERE
from opd_widgets.diagnosis.spending.order import Market, Order
from opd_widgets.measures.node_gradient import distillation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence

N_MIN = 100
FIRST_WINDOW = 50


def paper(evidence: Evidence, tokens: float, n_min: int = N_MIN, first_window: int = FIRST_WINDOW) -> list[Order]:
    """Return orders for about so many tokens.

    Args:
        evidence: nodes and rollouts so far.
        tokens: to spend now.
        n_min: visits that fill a candidate.
        first_window: tokens of the first window; each further one is twice as deep.

    """
    market = Market(evidence)
    window = np.floor(np.log2(market.depth / first_window + 1)).astype(np.int64)
    spent = np.zeros(int(window.max(initial=0)) + 1)
    for drawn in evidence.rollouts:
        if drawn.start:
            spent[min(int(np.log2((drawn.start - 1) / first_window + 1)), len(spent) - 1)] += drawn.generated
    lists = {int(one): _needs(evidence, market, np.flatnonzero(window == one), n_min) for one in np.unique(window)}
    made, ordered = [], 0.0
    while lists and ordered < tokens:
        one = min(lists, key=lambda index: (spent[index], index))
        need = next(lists[one], None)
        if need is None:
            del lists[one]
            continue
        price = market.cost[need.node, need.column]
        count = min(need.count, max(1, round((tokens - ordered) / price)))
        made.append(Order(need.node, need.column, count))
        spent[one] += count * price
        ordered += count * price
    return made


def _needs(evidence: Evidence, market: Market, rows: NDArray[np.int64], n_min: int) -> Iterator[Order]:
    """Yield what each candidate of the nodes lacks, the largest reverse-KL gradient first."""
    nodes, place = evidence.nodes, evidence.candidate_place
    passing = evidence.tree.count(np.ones(len(evidence.rollouts)), on_policy=False)
    kept = nodes.said_by_both
    pulled = distillation(
        "reverse_kl", renormalised(nodes.student_logp[:, None], kept), renormalised(nodes.teacher_logp, kept)
    )
    size = np.linalg.norm(np.nan_to_num(pulled.gradient), axis=-1).max(axis=1, initial=0.0)  # over all teachers
    for node in rows[np.argsort(-size[rows], kind="stable")]:
        for column in np.flatnonzero(market.open[node]):
            there = place[node, column]
            visits = 0 if there == NOWHERE else int(passing[there])
            if visits < n_min:
                yield Order(int(node), int(column), n_min - visits)
