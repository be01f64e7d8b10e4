"""Draws of P_succ given all rollouts of a question, pushed up the tree.

Every path that was seen is known for certain: its probability under the student, and its outcome. What is not known is
the success of what was not seen. Going down the tree, each place gets a draw of its level of success, Beta-distributed
around its parent's (see `concentration`); going up, a place's value is what was seen below it, plus the unseen
probability at a success drawn around the place's level. Leaves are so drawn once, and siblings share what their
ancestors share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.estimate.concentration import ALIKE, Concentration, concentration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.estimate.visits import Visits
    from opd_widgets.diagnosis.tree import Tree

TINY = 1e-6  # a Beta distribution's parameter may not be 0
# Unseen probability is that of several tokens, whose mean varies less than one of them. How many is not known: as many
# as if each were ten times as likely as the least likely child seen.
UNSEEN_OVER_SEEN = 10.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the rollouts of one question leave open at the places of its tree.

    Args:
        tree: N places.
        visits: their counts.
        left: mean number of tokens that follow each place, [N].

    """

    tree: Tree
    visits: Visits
    left: NDArray[np.float64]

    @cached_property
    def levels(self) -> list[NDArray[np.int64]]:
        """Places by how many lie above them."""
        return self.tree.levels()

    @cached_property
    def children(self) -> Concentration:
        """How alike children are, and effective counts."""
        return concentration(self.tree, self.visits, self.left)

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """Probability of going to each place from its parent, [N]; 0, nothing seen, where that is not known."""
        return np.nan_to_num(np.exp(self.tree.log_mass), nan=0.0)

    @cached_property
    def unseen(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probability of what no rollout did next at each place, and the concentration of its success, [N]."""
        size, parent = len(self.tree), self.tree.parent
        seen, least = np.zeros(size), np.ones(size)
        passed = np.flatnonzero((self.visits.all > 0) & (parent >= 0))
        np.add.at(seen, parent[passed], self.mass[passed])
        np.minimum.at(least, parent[passed], self.mass[passed])
        unseen = np.clip(1 - seen, 0.0, 1.0)
        tokens = np.maximum(1.0, unseen / np.maximum(UNSEEN_OVER_SEEN * least, TINY))
        return unseen, (self.children.kappa + 1) * tokens - 1

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return n draws of the level of success at each place, and of the value of it, float64 [N, n] each.

        The value is what follows from the place on; the level is what an unseen child of it is drawn around.
        """
        tree, children = self.tree, self.children
        level = np.empty((len(tree), n))
        level[0] = rng.beta(0.5 + children.correct[0], 0.5 + children.visits[0] - children.correct[0], n)
        wrong = children.visits - children.correct
        for places in self.levels[1:]:
            above, k = level[tree.parent[places]], self._kappa(tree.parent[places], children.is_same[places], n, rng)
            level[places] = beta(k * above + children.correct[places, None], k * (1 - above) + wrong[places, None], rng)
        value = np.zeros((len(tree), n))
        unseen, k_unseen = self.unseen
        for places in reversed(self.levels):
            ended = places[tree.ends[places]]
            value[ended] = (self.visits.all_correct[ended] / np.maximum(self.visits.all[ended], 1))[:, None]
            inner = places[~tree.ends[places]]
            k = np.where(rng.random((len(inner), n)) < children.same[inner, None], ALIKE, k_unseen[inner, None])
            value[inner] += unseen[inner, None] * beta(k * level[inner], k * (1 - level[inner]), rng)
            up = places[(tree.parent[places] >= 0) & (self.visits.all[places] > 0)]
            np.add.at(value, tree.parent[up], self.mass[up, None] * value[up])
        return level, value

    def unvisited(
        self, places: NDArray[np.int64], level: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return draws of the success of a child that no rollout passed, at each of the places, [places, n]."""
        k = self._kappa(places, self.children.same[places], level.shape[1], rng)
        return beta(k * level[places], k * (1 - level[places]), rng)

    def _kappa(
        self, places: NDArray[np.int64], is_same: NDArray[np.float64], n: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        same = rng.random((len(places), n)) < is_same[:, None]
        return np.where(same, ALIKE, self.children.kappa[places, None])


def beta(right: NDArray[np.float64], wrong: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a draw from each Beta distribution."""
    return rng.beta(np.maximum(right, TINY), np.maximum(wrong, TINY))
