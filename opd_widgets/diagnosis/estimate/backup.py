"""P_succ by backup: a node is valued from its children, whose probabilities under the student are known exactly.

    V(v) = sum_{k in F} p_S(k) P_succ(v, k) + (1/n) sum_{on-policy rollouts i at v} 1[child_i not in F] y_i

F are the children that rollouts were forced to, which for a fixed allocation were chosen without a look at outcomes:
then V is without bias, and may for that lie a little above 1. Where only rollouts forced further on pass a place, n is
0: there F alone speaks, renormalised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.estimate.visits import Visits
    from opd_widgets.diagnosis.tree import Tree


def backed_up(tree: Tree, visits: Visits) -> NDArray[np.float64]:
    """Return the success that follows each place, float64 [N]; NaN where no rollout says anything."""
    parent, mass = tree.parent, np.exp(tree.log_mass)
    in_f = (visits.begun > 0) & np.isfinite(mass)
    known, known_mass = np.zeros(len(tree)), np.zeros(len(tree))  # sum over F of p P_succ, and of p
    others_correct = visits.own_correct.copy()  # correct on-policy rollouts that do not go on through F
    value = np.full(len(tree), np.nan)
    for level in reversed(tree.levels()):
        with np.errstate(invalid="ignore", divide="ignore"):
            counted = known[level] + others_correct[level] / visits.own[level]
            value[level] = np.where(visits.own[level] > 0, counted, known[level] / known_mass[level])
        up = level[in_f[level] & ~np.isnan(value[level]) & (parent[level] >= 0)]
        np.add.at(known, parent[up], mass[up] * value[up])
        np.add.at(known_mass, parent[up], mass[up])
        np.add.at(others_correct, parent[up], -visits.chosen_correct[up])
    return value
