"""What a strategy asks for: targeted rollouts behind candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.evidence import NOWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence


HELD = 5.0  # rollouts that a guess of what a rollout costs is worth


@dataclass(frozen=True)
class Order:
    """Targeted rollouts behind one candidate.

    Args:
        node: row of `Nodes`.
        column: candidate of it.
        count: how many.

    """

    node: int
    column: int
    count: int


@dataclass(frozen=True, eq=False)
class Market:
    """What can be ordered for one question, and what it costs.

    Args:
        evidence: nodes and rollouts so far.

    """

    evidence: Evidence

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """Candidates worth a rollout, bool [M, C]: all but those known for certain, once they were verified.

        One whose probability under the student is not known, as a server may not say, can never be in a support.
        """
        place, nodes = self.evidence.candidate_place, self.evidence.nodes
        ended = np.where(place == NOWHERE, False, self.evidence.tree.ends[np.maximum(place, 0)])
        return (nodes.tokens >= 0) & ~np.isnan(nodes.student_logp) & ~ended

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Tokens that a rollout behind each candidate is likely to take, float64 [M, C], at least 1.

        What was seen there is held back toward what was seen behind the node's other candidates, and that toward all
        rollouts that came so far: the cheapest are chosen, and few rollouts often look cheap. What ended at once says
        nothing of candidates that go on.
        """
        rollouts, tree, place = self.evidence.rollouts, self.evidence.tree, self.evidence.candidate_place
        length = np.array([len(drawn.ids) for drawn in rollouts], np.float64)
        passing, total = (tree.count(weight, on_policy=False) for weight in (np.ones(len(rollouts)), length))
        depth = self.depth[:, None] + 1
        there = self.open & (place != NOWHERE)
        n = np.where(there, passing[np.maximum(place, 0)], 0.0)
        left = np.where(there, total[np.maximum(place, 0)] - n * depth, 0.0)
        of_node, count = left.sum(axis=1, keepdims=True), n.sum(axis=1, keepdims=True)
        of_node = (of_node + HELD * _going_on(length, depth)) / (count + HELD)
        likely: NDArray[np.float64] = np.maximum((left + HELD * of_node) / (n + HELD), 1.0)
        return likely

    @cached_property
    def targeted(self) -> NDArray[np.int64]:
        """Targeted rollouts that began behind each candidate, int64 [M, C]."""
        begun = np.bincount(self.evidence.tree.begin[~self.evidence.initial], minlength=len(self.evidence.tree))
        place = self.evidence.candidate_place
        return np.where(place == NOWHERE, 0, begun[np.maximum(place, 0)])

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """Tokens before each node, int64 [M]."""
        return np.array([len(prefix) for prefix in self.evidence.nodes.prefixes], np.int64)


def orders(chosen: Iterable[tuple[int, int]]) -> list[Order]:
    """Return one order for each candidate chosen, as often as it was, in the order of first choice."""
    return [Order(node, column, count) for (node, column), count in Counter(chosen).items()]


def _going_on(length: NDArray[np.float64], depth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many tokens are left at each depth to the rollouts that are longer, in the mean.

    It is held back toward a whole rollout: where the longest of them is near its end, others would not be.
    """
    rising = np.sort(length)
    shorter = np.searchsorted(rising, depth, side="right")
    longer = len(rising) - shorter
    total = np.append(np.cumsum(rising[::-1])[::-1], 0.0)[shorter]
    found: NDArray[np.float64] = (total - longer * depth + HELD * length.mean()) / (longer + HELD)
    return found
