"""How alike the successes behind the children of a place are: learnt from the tree itself.

Most tokens change nothing and some change everything. So a child is taken to succeed either just as its place does, or
with a probability that is Beta-distributed around the place's, with a concentration kappa: near 0, each such child is
all right or all wrong; large, the choice hardly matters. Both the share of the first kind and kappa differ with how far
the end is, so they are estimated by how many tokens are left, from all places with that many, by the Beta-binomial
likelihood (empirical Bayes) under a weak prior.

A child of the second kind says of its place no more than (kappa + 1) rollouts could, however often it was visited: a
hundred visits to one path are one path. These effective counts go up the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.estimate.visits import Visits
    from opd_widgets.diagnosis.tree import Tree

KAPPAS = np.geomspace(0.05, 51.2, 11)
SAME = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95])
ALIKE = 1000.0  # the concentration of "just as its place does": the place's own success is known no better
TYPICAL, SPREAD = 1.0, 1.5  # the prior on kappa: log-normal, so wide that a few dozen children outweigh it
FIRST_SAME = 0.2  # of places with a number of tokens left at which no child was visited twice
CLASSES = 20  # of how many tokens are left: 1, 2, 3 to 4, 5 to 8, ...
ROUNDS = 2  # the counts depend on kappa and kappa on the counts; more rounds change little
ONE_VISIT = 1.01  # a child with no more says nothing about how alike visits to it are
EDGE = 0.02  # a mean this close to 0 or 1 is held back: with none, one contrary child would decide alone


@dataclass(frozen=True, eq=False)
class Concentration:
    """Effective counts of N places, and how alike their children are; float64 [N] each.

    Args:
        kappa: concentration of the children's successes around the place's own, where they differ from it.
        same: the share of children that succeed just as the place does.
        visits: how many independent rollouts what is below a place is worth.
        correct: the part of them that is correct.
        mean: the place's success, shrunk toward its parent's.
        is_same: how likely the place is one that succeeds just as its parent.

    """

    kappa: NDArray[np.float64]
    same: NDArray[np.float64]
    visits: NDArray[np.float64]
    correct: NDArray[np.float64]
    mean: NDArray[np.float64]
    is_same: NDArray[np.float64]


def concentration(tree: Tree, visits: Visits, left: NDArray[np.float64]) -> Concentration:
    """Estimate how alike the children of each place are.

    Args:
        tree: N places.
        visits: their counts.
        left: mean number of tokens that follow each place, [N].

    """
    levels = tree.levels()
    group = np.clip(np.ceil(np.log2(np.maximum(left, 1.0))), 0, CLASSES - 1).astype(np.int64)
    kappa, same = np.full(CLASSES, TYPICAL), np.full(CLASSES, FIRST_SAME)
    is_same = same[group]
    for _ in range(ROUNDS):
        now = _counted(tree, levels, visits, (kappa[group], same[group], is_same))
        kappa, same, is_same = _likeliest(tree, now, group)
    return _counted(tree, levels, visits, (kappa[group], same[group], is_same))


def worth(visits: NDArray[np.float64], kappa: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many independent rollouts at a place visits to one of its children are worth: at most kappa + 1."""
    return visits * (kappa + 1) / (visits + kappa)


def _share(now: Concentration, child: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what children say of their places, in rollouts."""
    visits, is_same = now.visits[child], now.is_same[child]
    return is_same * worth(visits, np.full(len(child), ALIKE)) + (1 - is_same) * worth(visits, now.kappa[place])


def _counted(
    tree: Tree,
    levels: list[NDArray[np.int64]],
    visits: Visits,
    likeness: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
) -> Concentration:
    parent, (kappa, same, is_same) = tree.parent, likeness
    now = Concentration(kappa, same, np.zeros(len(tree)), np.zeros(len(tree)), np.full(len(tree), 0.5), is_same)
    count, correct, mean = now.visits, now.correct, now.mean
    for level in reversed(levels):
        leaf = level[tree.ends[level]]
        count[leaf], correct[leaf] = visits.own[leaf], visits.own_correct[leaf]
        up = level[(parent[level] >= 0) & (count[level] > 0)]
        share = _share(now, up, parent[up])
        np.add.at(count, parent[up], share)
        np.add.at(correct, parent[up], share * correct[up] / count[up])
    mean[0] = (correct[0] + 0.5) / (count[0] + 1)
    for level in levels[1:]:
        k = kappa[parent[level]]
        mean[level] = (correct[level] + k * mean[parent[level]]) / (count[level] + k)
    return now


def _likeliest(
    tree: Tree, now: Concentration, group: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return kappa and the share of equal children by group, posterior means over a grid, and who is equal, [N]."""
    child = np.flatnonzero((now.visits > 0) & (tree.parent >= 0))
    place = tree.parent[child]
    share = _share(now, child, place)
    # A child is held against its siblings, and one rollout's worth of its grandparent: not against itself.
    above = np.where(place > 0, now.mean[tree.parent[place]], 0.5)
    others = now.correct[place] - share * now.correct[child] / now.visits[child] + above
    mean = np.clip(others / (now.visits[place] - share + 1), EDGE, 1 - EDGE)
    right, wrong = now.correct[child], now.visits[child] - now.correct[child]
    prior = -0.5 * (np.log(KAPPAS / TYPICAL) / SPREAD) ** 2
    kappas, shares = np.full(CLASSES, TYPICAL), np.full(CLASSES, FIRST_SAME)
    is_same = shares[group]
    for one in np.unique(group[place]):
        at = np.flatnonzero((group[place] == one) & (now.visits[child] > ONE_VISIT))
        differ = _log_fit(KAPPAS[:, None], mean[at], right[at], wrong[at])
        equal = _log_fit(np.array([[ALIKE]]), mean[at], right[at], wrong[at])
        with np.errstate(divide="ignore"):
            both = np.logaddexp(np.log(SAME)[:, None, None] + equal, np.log1p(-SAME)[:, None, None] + differ)
        fit = prior + both.sum(axis=-1)  # [shares, kappas]
        weight = np.exp(fit - fit.max())
        kappas[one] = np.exp((weight * np.log(KAPPAS)).sum() / weight.sum())
        shares[one] = (weight * SAME[:, None]).sum() / weight.sum()
        odds = np.exp(np.clip(_log_fit(kappas[one], mean[at], right[at], wrong[at]) - equal[0], -50, 50))
        is_same[child[at]] = shares[one] / (shares[one] + (1 - shares[one]) * odds)
        once = child[np.flatnonzero((group[place] == one) & (now.visits[child] <= ONE_VISIT))]
        is_same[once] = shares[one]
    return kappas, shares, is_same


def _log_fit(
    kappa: float | NDArray[np.float64],
    mean: NDArray[np.float64],
    right: NDArray[np.float64],
    wrong: NDArray[np.float64],
) -> NDArray[np.float64]:
    a, b = kappa * mean, kappa * (1 - mean)
    found: NDArray[np.float64] = betaln(a + right, b + wrong) - betaln(a, b)
    return found
