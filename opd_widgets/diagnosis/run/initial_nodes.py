"""Which nodes a question's initial rollouts pass, those that matter most first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.tree import Prefix


def nodes_on(rollouts: Sequence[Drawn], most: int, seed: int = 0) -> list[Prefix]:
    """Return the nodes that on-policy rollouts pass, at most so many.

    Those of most rollouts come first; among equals the order is random, so that what is kept of the nodes of a single
    rollout is a fair sample of them, at any depth.

    Args:
        rollouts: on-policy from the prompt on.
        most: how many nodes.
        seed: of the order among equals.

    """
    if not rollouts:
        return []
    tree = Tree.of(rollouts)
    through = tree.count(np.ones(len(rollouts)), on_policy=True)
    carrier = np.zeros(len(tree), np.int64)
    carrier[tree.leaf] = np.arange(len(rollouts))
    for place in range(len(tree) - 1, 0, -1):
        carrier[tree.parent[place]] = carrier[place]
    parents = set(tree.parent.tolist())
    depths, rows, visits = [np.zeros(1, np.int64)], [carrier[:1]], [through[:1]]
    for place in range(1, len(tree)):  # the nodes of a run, and the place at its end where something follows
        last = tree.depth[place] + (1 if place in parents else 0)
        run = np.arange(tree.depth[tree.parent[place]] + 1, last)
        depths.append(run)
        rows.append(np.full(len(run), carrier[place]))
        visits.append(np.full(len(run), through[place]))
    depth, row = np.concatenate(depths), np.concatenate(rows)
    tie = np.random.default_rng(seed).permutation(len(depth))
    order = np.lexsort((tie, -np.concatenate(visits)))[:most]
    return [tuple(rollouts[row[at]].ids[: depth[at]].tolist()) for at in order]
