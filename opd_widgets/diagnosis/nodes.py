"""Nodes of one question: the important tokens there, and what student and teachers think of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.topk import UNUSED_ID
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Nodes:
    """M nodes of one question, with up to C candidates each and T teachers.

    Log-probabilities and what is made of them are in nats, at temperature 1, and not renormalised over the candidates.

    Args:
        prefixes: M response prefixes: the ids before the node.
        tokens: int32 [M, C], candidates, likeliest under the student first; -1 fills.
        student_logp: float64 [M, C]; -inf fills, NaN where a server would not say.
        teachers: T names.
        teacher_logp: float64 [M, T, C]; -inf fills and where the teacher has no such token, NaN where a server would
            not say.
        student_entropy: float64 [M], over the whole vocabulary; NaN where that is not known, as in all that follow.
        teacher_entropy: float64 [M, T].
        reverse_kl: float64 [M, T], KL(p_S || p_T), over the tokens that both have.
        forward_kl: float64 [M, T], KL(p_T || p_S), likewise.
        jsd: float64 [M, T], likewise, with beta 0.5.

    Raises:
        InvalidInputError: shapes that do not fit each other.

    """

    prefixes: tuple[tuple[int, ...], ...]
    tokens: NDArray[np.int32]
    student_logp: NDArray[np.float64]
    teachers: tuple[str, ...]
    teacher_logp: NDArray[np.float64]
    student_entropy: NDArray[np.float64]
    teacher_entropy: NDArray[np.float64]
    reverse_kl: NDArray[np.float64]
    forward_kl: NDArray[np.float64]
    jsd: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Coerce dtypes and compare shapes."""
        object.__setattr__(self, "tokens", np.asarray(self.tokens, np.int32))
        object.__setattr__(self, "prefixes", tuple(tuple(int(one) for one in ids) for ids in self.prefixes))
        object.__setattr__(self, "teachers", tuple(self.teachers))
        for name, shape in self._shapes().items():
            array = np.asarray(getattr(self, name), np.int32 if name == "tokens" else np.float64)
            if array.shape != shape:
                msg = (
                    f"found {name} of shape {array.shape}, expected {shape}: {len(self.prefixes)} nodes,"
                    f" {len(self.teachers)} teachers and as many candidates as `tokens` {self.tokens.shape} has columns"
                )
                raise InvalidInputError(msg)
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.prefixes)

    def take(self, rows: NDArray[np.integer]) -> Nodes:
        """Return some of the nodes, without columns that none of them uses."""
        columns = slice(0, int(self.used[rows].sum(axis=1).max(initial=0)))
        arrays = {name: getattr(self, name)[rows] for name in self._shapes()}
        narrowed = {name: arrays[name][..., columns] for name in ("tokens", "student_logp", "teacher_logp")}
        return Nodes(
            prefixes=tuple(self.prefixes[row] for row in rows), teachers=self.teachers, **{**arrays, **narrowed}
        )

    @property
    def used(self) -> NDArray[np.bool_]:
        """Bool [M, C]: columns that hold a candidate."""
        used: NDArray[np.bool_] = self.tokens != UNUSED_ID
        return used

    @property
    def said_by_both(self) -> NDArray[np.bool_]:
        """Bool [M, T, C]: candidates whose log-probability student and teacher say; no other can be in a support."""
        said: NDArray[np.bool_] = ~np.isnan(self.teacher_logp) & ~np.isnan(self.student_logp)[:, None]
        return self.used[:, None] & said

    @property
    def depths(self) -> NDArray[np.int64]:
        """Int64 [M]: tokens before each node."""
        return np.array([len(ids) for ids in self.prefixes], np.int64)

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        nodes, teachers = len(self.prefixes), len(self.teachers)
        width = self.tokens.shape[1] if self.tokens.ndim == 2 else 0
        pair = dict.fromkeys(("teacher_entropy", "reverse_kl", "forward_kl", "jsd"), (nodes, teachers))
        one = dict.fromkeys(("tokens", "student_logp"), (nodes, width))
        return {**one, "teacher_logp": (nodes, teachers, width), "student_entropy": (nodes,), **pair}
