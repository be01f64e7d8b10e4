"""Nodes of which everything is known: candidates, success after each, and every teacher's alignment, with its bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from opd_widgets.measures import gradients
from tests.diagnosis.best_first import Bounded
from tests.diagnosis.exact import Node

IMPORTANT = 0.02  # a token is a candidate above this probability under the student or any teacher
REACH = 0.004  # a node counts from this probability on, under the student
UNSURE = 0.05  # an alignment that could be off by more, for what was not enumerated, is not a truth
CORNERS = 9  # candidates up to which all corners of the box of success probabilities are tried


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownNodes:
    """The nodes of one question that count: M nodes, at most C candidates each, T teachers.

    Every node has two or more candidates and an alignment under one teacher or more.

    Args:
        prefixes: M, the response ids before the node.
        reach: [M], how likely the student is to come there.
        tokens: int32 [M, C], candidates, likeliest under the student first; -1 fills.
        student_logp: [M, C], nats, over the whole vocabulary, not renormalised; -inf fills.
        teacher_logp: [M, T, C], likewise.
        success: [M, C], of the student after each candidate; NaN fills.
        bound: [M, C], how far at most the true one can be from `success`: 0 where all was enumerated; NaN fills.
        alignment: [M, T], reverse KL, on the candidates; NaN where it is undefined or not known well enough.
        alignment_bound: [M, T], how far it moves over the corners of the box that `bound` spans.

    """

    prefixes: tuple[Node, ...]
    reach: np.ndarray
    tokens: np.ndarray
    student_logp: np.ndarray
    teacher_logp: np.ndarray
    success: np.ndarray
    bound: np.ndarray
    alignment: np.ndarray
    alignment_bound: np.ndarray

    @property
    def n_support(self) -> np.ndarray:
        """Candidates of each node: int [M]."""
        return np.asarray((self.tokens >= 0).sum(1))

    @property
    def success_range(self) -> np.ndarray:
        """Largest difference of success between candidates: [M]."""
        return np.asarray(np.nanmax(self.success, axis=1) - np.nanmin(self.success, axis=1))

    def only(self, which: np.ndarray) -> Self:
        """Return the same with some of the nodes: bool [M]."""
        kept = {name: np.asarray(part)[which] for name, part in self.parts().items() if name != "prefixes"}
        prefixes = tuple(prefix for prefix, keep in zip(self.prefixes, which, strict=True) if keep)
        return replace(self, prefixes=prefixes, **kept)

    def parts(self) -> dict[str, object]:
        """Return the nodes' own fields by name, to make a record that has more."""
        return {field.name: getattr(self, field.name) for field in fields(KnownNodes)}


def candidates(student: np.ndarray, teachers: np.ndarray) -> list[np.ndarray]:
    """Return each node's candidates, likeliest under the student first.

    Args:
        student: [M, V], nats.
        teachers: [M, T, V].

    """
    likely = (np.exp(student) > IMPORTANT) | (np.exp(teachers) > IMPORTANT).any(axis=1)
    order = np.argsort(-student, axis=1, kind="stable")
    return [by_p[row[by_p]].astype(np.int32) for row, by_p in zip(likely, order, strict=True)]


def known_nodes(
    reached: Sequence[tuple[Node, float]],
    student: np.ndarray,
    teachers: np.ndarray,
    success: Callable[[Node], Bounded],
) -> KnownNodes:
    """Return those of the reached prefixes that count.

    Args:
        reached: N prefixes and how likely the student is to come there.
        student: [N, V], nats.
        teachers: [N, T, V].
        success: of the student after a prefix and a candidate.

    """
    sets = candidates(student, teachers)
    found = []
    for (prefix, reach), row, theirs, tokens in zip(reached, student, teachers, sets, strict=True):
        if len(tokens) < 2:
            continue
        known = [success((*prefix, int(k))) for k in tokens]
        point = np.clip([one.success for one in known], 0.0, 1.0)  # sums of probabilities: a last digit above 1
        bound = np.array([one.bound for one in known])
        pairs = [bounded_alignment(row[tokens], said[tokens], point, bound) for said in theirs]
        if not all(np.isnan(value) for value, _ in pairs):
            found.append((prefix, reach, tokens, row[tokens], theirs[:, tokens], point, bound, np.array(pairs)))
    width = max((len(one[2]) for one in found), default=0)

    def filled(place, fill, dtype=np.float64):
        rows = [np.asarray(one[place]) for one in found]
        pad = [[(0, 0)] * (row.ndim - 1) + [(0, width - row.shape[-1])] for row in rows]
        return np.array([np.pad(row, p, constant_values=fill) for row, p in zip(rows, pad, strict=True)], dtype)

    return KnownNodes(
        prefixes=tuple(one[0] for one in found),
        reach=np.array([one[1] for one in found]),
        tokens=filled(2, -1, np.int32),
        student_logp=filled(3, -np.inf),
        teacher_logp=filled(4, -np.inf),
        success=filled(5, np.nan),
        bound=filled(6, np.nan),
        alignment=np.array([one[7][:, 0] for one in found]),
        alignment_bound=np.array([one[7][:, 1] for one in found]),
    )


def bounded_alignment(
    student_logp: np.ndarray, teacher_logp: np.ndarray, success: np.ndarray, bound: np.ndarray
) -> tuple[float, float]:
    """Return the alignment on K candidates, and how far it moves where success may be off by `bound`; NaN: no truth."""
    value = gradients.node_alignment(student_logp, teacher_logp, success).alignment
    if np.isnan(value) or not bound.any():
        return value, 0.0 if not np.isnan(value) else np.nan
    n = len(success)
    signs = np.array(list(itertools.product([-1, 1], repeat=n)))
    if n > CORNERS:
        signs = np.random.default_rng(0).choice([-1, 1], (2**CORNERS, n))
    box = np.clip(success + signs * bound, 0.0, 1.0)
    at = gradients.on_support(student_logp, teacher_logp)
    pull = gradients.distillation("reverse_kl", at.student_logp, at.teacher_logp)
    moved = np.array([float(gradients.alignment(gradients.ideal(np.exp(at.student_logp), one), pull)) for one in box])
    off = float("inf") if np.isnan(moved).any() else float(np.abs(moved - value).max())
    return (value, off) if off <= UNSURE else (float("nan"), off)
