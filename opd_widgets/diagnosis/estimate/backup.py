"""P_succ by backup: a node is valued from its children, whose probabilities under the student are known exactly.

    V(v) = sum_{k in F} p_S(k) P_succ(v, k) + (1/n) sum_{on-policy rollouts i at v} 1[child_i not in F] y_i

F are the nearest places behind v that rollouts were forced to, p_S(k) being the probability of the whole way there: for
a fixed allocation they were chosen without a look at outcomes. Then V is without bias, and may for that lie a little
above 1. Where only rollouts forced further on pass a place, n is 0: there F alone speaks, renormalised.
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
    through_f = np.zeros(len(tree))  # correct on-policy rollouts that go on through F
    value = np.full(len(tree), np.nan)
    for level in reversed(tree.levels()):
        with np.errstate(invalid="ignore", divide="ignore"):
            counted = known[level] + (visits.own_correct[level] - through_f[level]) / visits.own[level]
            value[level] = np.where(visits.own[level] > 0, counted, known[level] / known_mass[level])
        up = level[(parent[level] >= 0) & np.isfinite(mass[level])]
        forced = in_f[up] & ~np.isnan(value[up])
        np.add.at(known, parent[up], mass[up] * np.where(forced, value[up], known[up]))
        np.add.at(known_mass, parent[up], mass[up] * np.where(forced, 1.0, known_mass[up]))
        np.add.at(through_f, parent[up], np.where(forced, visits.chosen_correct[up], through_f[up]))
    return value
