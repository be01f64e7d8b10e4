"""What a diagnosis has of one question: its nodes and the rollouts drawn so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.drawn import UNVERIFIED
from opd_widgets.diagnosis.tree import Prefix, Tree
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.nodes import Nodes

NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Evidence:
    """One question's nodes, rollouts, and the tree that the rollouts make.

    Args:
        question: id.
        nodes: M nodes with up to C candidates each.
        rollouts: R rollouts, in the order in which they were drawn.

    """

    question: str
    nodes: Nodes
    rollouts: tuple[Drawn, ...]

    @cached_property
    def tree(self) -> Tree:
        """The rollouts merged, with a place for each node and each candidate that a rollout passes."""
        after = [self.after(node, column) for node, column in np.argwhere(self.nodes.tokens >= 0)]
        return Tree.of(self.rollouts, [*self.nodes.prefixes, *after])

    @cached_property
    def node_place(self) -> NDArray[np.int64]:
        """Place of each node in the tree, int64 [M]; -1 where no rollout passes."""
        return np.array([self.tree.named.get(prefix, NOWHERE) for prefix in self.nodes.prefixes], np.int64)

    @cached_property
    def candidate_place(self) -> NDArray[np.int64]:
        """Place behind each candidate, int64 [M, C]; -1 where no rollout passes, and where there is no candidate."""
        places = np.full(self.nodes.tokens.shape, NOWHERE, np.int64)
        for node, column in np.argwhere(self.nodes.tokens >= 0):
            places[node, column] = self.tree.named.get(self.after(node, column), NOWHERE)
        return places

    @cached_property
    def outcome(self) -> NDArray[np.int64]:
        """1, 0 or -1 (unverified), int64 [R]."""
        return np.array([drawn.outcome for drawn in self.rollouts], np.int64)

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """How many ids were forced, int64 [R]."""
        return np.array([drawn.start for drawn in self.rollouts], np.int64)

    @cached_property
    def initial(self) -> NDArray[np.bool_]:
        """Which rollouts are on-policy from the prompt on, bool [R]."""
        return np.array([drawn.start == 0 for drawn in self.rollouts], np.bool_)

    def after(self, node: int, column: int) -> Prefix:
        """Return the prefix behind a candidate."""
        return (*self.nodes.prefixes[node], int(self.nodes.tokens[node, column]))

    def weights(self, use: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return 1 for each rollout that counts, float64 [R]: one with a verdict, and among those to use.

        Raises:
            InvalidInputError: `use` is not one boolean for each rollout.

        """
        verified = self.outcome != UNVERIFIED
        if use is None:
            return np.asarray(verified, np.float64)
        chosen = np.asarray(use)
        if chosen.shape != (len(self.rollouts),) or chosen.dtype != np.bool_:
            msg = (
                f"found use of shape {chosen.shape} and type {chosen.dtype}, expected booleans [{len(self.rollouts)}], "
                "one for each rollout"
            )
            raise InvalidInputError(msg)
        return np.asarray(verified & chosen, np.float64)
