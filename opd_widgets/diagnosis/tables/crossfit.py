"""Outcomes that weigh a node, kept apart from the rollouts that judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT
from opd_widgets.diagnosis.evidence import NOWHERE
from opd_widgets.diagnosis.reading import Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.settings import DiagnosisSettings

FOLDS = 2
_STREAM = 0x77656967  # apart from the streams that drew the posterior
OUTCOMES: Mapping[str, int] = {"correct": CORRECT, "incorrect": INCORRECT}


@dataclass(frozen=True, eq=False)
class Crossfit:
    """One question's nodes, each fold's weights from one half of the initial rollouts, its readings from the rest.

    A sum over nodes of outcome o is sum_f sum_m weights[o][f, m] * value(readings[f])[m]: no rollout that counts a node
    as one of correct (or incorrect) rollouts takes part in the estimate there. It would push the estimate toward its
    own outcome. Posterior draws of the two readings come from overlapping rollouts but are drawn one without the other:
    adding draw d of one to draw d of the other understates the spread. `tally.py` takes it from one.

    Args:
        teachers: T names.
        weights: by outcome, "correct" and "incorrect": float64 [2, M], initial rollouts of that outcome through each
            node, in either half. Forced rollouts and those without a verdict have none.
        reweighed: the same in D draws, float64 [2, M, D]: which rollouts happened to be drawn is uncertain too.
        readings: of each fold: the question read from every rollout but that fold's half.

    """

    teachers: tuple[str, ...]
    weights: dict[str, NDArray[np.float64]]
    reweighed: dict[str, NDArray[np.float64]]
    readings: tuple[Reading, Reading]

    @property
    def total(self) -> NDArray[np.float64]:
        """Weights of all outcomes together, float64 [2, M]."""
        total: NDArray[np.float64] = self.weights["correct"] + self.weights["incorrect"]
        return total


def halves(evidence: Evidence) -> NDArray[np.bool_]:
    """Return the two halves of the initial rollouts, bool [2, R]: by parity of their place among the initial ones."""
    place = np.cumsum(evidence.initial) - 1
    return np.stack([evidence.initial & (place % FOLDS == fold) for fold in range(FOLDS)])


def through_nodes(evidence: Evidence, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how many of the chosen rollouts, bool [R], pass each node, float64 [M]."""
    passing = evidence.tree.count(chosen.astype(np.float64), on_policy=False)
    place = evidence.node_place
    return np.where(place == NOWHERE, 0.0, passing[np.where(place == NOWHERE, 0, place)])


def passing(evidence: Evidence, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the chosen rollouts, bool [R] with R' true, passes which node, bool [R', M]."""
    tree, place = evidence.tree, evidence.node_place
    node_of = np.full(len(tree) + 1, NOWHERE, np.int64)  # the last one is the place above the root, -1
    there = np.flatnonzero(place != NOWHERE)
    node_of[place[there]] = there
    at = tree.leaf[chosen]
    found = np.zeros((len(at), len(place)), np.bool_)
    while (at >= 0).any():
        row = np.flatnonzero(node_of[at] != NOWHERE)
        found[row, node_of[at[row]]] = True
        at = np.where(at >= 0, tree.parent[at], at)
    return found


def rollout_weights(size: int, draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return weights of so many rollouts in each draw, [size, D], which add up to their number: a Bayesian bootstrap.

    Source: Rubin, The Bayesian bootstrap, 1981: a uniform Dirichlet distribution, by exponential draws.
    """
    raw = rng.exponential(size=(size, draws))
    found: NDArray[np.float64] = raw * (size / raw.sum(axis=0)) if size else raw
    return found


def crossfit_sums(evidence: Evidence, settings: DiagnosisSettings) -> Crossfit:
    """Return weights and readings of both folds of a question."""
    half = halves(evidence)
    weights = {
        name: np.stack([through_nodes(evidence, one & (evidence.outcome == outcome)) for one in half])
        for name, outcome in OUTCOMES.items()
    }
    rng = np.random.default_rng([settings.seed, _STREAM, *evidence.question.encode("utf-8", "surrogatepass")])
    reweighed = {name: np.zeros((FOLDS, len(evidence.nodes), settings.draws)) for name in OUTCOMES}
    for fold, one in enumerate(half):
        member, again = passing(evidence, one), rollout_weights(int(one.sum()), settings.draws, rng)
        for name, outcome in OUTCOMES.items():
            own = evidence.outcome[one] == outcome
            reweighed[name][fold] = member[own].T.astype(np.float64) @ again[own]
    readings = (Reading.of(evidence, settings, ~half[0]), Reading.of(evidence, settings, ~half[1]))
    return Crossfit(evidence.nodes.teachers, weights, reweighed, readings)
