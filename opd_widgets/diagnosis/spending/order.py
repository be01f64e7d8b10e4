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
        """Candidates worth a rollout, bool [M, C]: all but those known for certain, once they were verified."""
        place = self.evidence.candidate_place
        ended = np.where(place == NOWHERE, False, self.evidence.tree.ends[np.maximum(place, 0)])
        return (self.evidence.nodes.tokens >= 0) & ~ended

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Tokens that a rollout behind each candidate is likely to take, float64 [M, C], at least 1."""
        rollouts, tree, place = self.evidence.rollouts, self.evidence.tree, self.evidence.candidate_place
        length = np.array([len(drawn.ids) for drawn in rollouts], np.float64)
        passing = tree.count(np.ones(len(rollouts)), on_policy=False)
        ends_at = tree.count(length, on_policy=False) / np.maximum(passing, 1)
        node = self.evidence.node_place
        ending = np.where(node == NOWHERE, ends_at[0], ends_at[np.maximum(node, 0)])[:, None]
        ending = np.where(place == NOWHERE, ending, ends_at[np.maximum(place, 0)])
        depth = np.array([len(prefix) + 1 for prefix in self.evidence.nodes.prefixes])[:, None]
        likely: NDArray[np.float64] = np.maximum(ending - depth, 1.0)
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
