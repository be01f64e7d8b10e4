"""Which candidate each rollout takes at each node, where it is on-policy behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.nodes import Nodes

_WIDTH = 4  # bytes of an id in a key


def candidates_taken(nodes: Nodes, rollouts: Sequence[Drawn], *, chosen: bool = False) -> list[dict[int, int]]:
    """Return by node the rollouts that are on-policy behind a candidate of it: {row of the rollout: column}.

    Each rollout is walked once, from where it is the student's own: nodes times rollouts would be too many to look at.

    Args:
        nodes: M nodes, no two alike.
        rollouts: to look at.
        chosen: only those in which the student chose the candidate itself.

    """
    node_of = {np.array(prefix, np.int32).tobytes(): node for node, prefix in enumerate(nodes.prefixes)}
    column_of = [{token: column for column, token in enumerate(row) if token >= 0} for row in nodes.tokens.tolist()]
    depths, found = np.unique(nodes.depths), [dict[int, int]() for _ in nodes.prefixes]
    for row, drawn in enumerate(rollouts):
        ids = np.asarray(drawn.ids, np.int32)
        key = ids.tobytes()
        first, end = np.searchsorted(depths, [drawn.start - (not chosen), len(ids)])
        for depth, token in zip(depths[first:end].tolist(), ids[depths[first:end]].tolist(), strict=True):
            node = node_of.get(key[: _WIDTH * depth])
            column = None if node is None else column_of[node].get(token)
            if node is not None and column is not None:
                found[node][row] = column
    return found
