"""Rollouts and nodes spelled out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT, Drawn
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.nodes import Nodes
from tests.diagnosis.exact import Node

HALF = float(np.log(0.5))


def rollout(
    ids: Sequence[int], outcome: int = CORRECT, *, start: int = 0, logp: float | Sequence[float] = HALF
) -> Drawn:
    """Return a rollout whose every token has the same log-probability, or each its own."""
    return Drawn(np.array(ids, np.int32), start, np.broadcast_to(np.float32(logp), (len(ids),)).copy(), outcome)


def nodes(rows: Mapping[Node, Mapping[int, Sequence[float]]]) -> Nodes:
    """Return nodes from `{prefix: {token: (p of the student, p of each teacher)}}`, tokens in their order."""
    width = max((len(row) for row in rows.values()), default=0)
    teachers = len(next(iter(next(iter(rows.values())).values()))) - 1
    tokens = np.full((len(rows), width), -1, np.int32)
    logp = np.full((len(rows), 1 + teachers, width), -np.inf)
    for m, row in enumerate(rows.values()):
        tokens[m, : len(row)] = list(row)
        with np.errstate(divide="ignore"):
            logp[m, :, : len(row)] = np.log(np.array(list(row.values()))).T
    pairs = np.full((len(rows), teachers), np.nan)
    return Nodes(
        prefixes=tuple(rows),
        tokens=tokens,
        student_logp=logp[:, 0],
        teachers=tuple(f"t{index}" for index in range(teachers)),
        teacher_logp=logp[:, 1:],
        student_entropy=np.full(len(rows), np.nan),
        teacher_entropy=pairs,
        reverse_kl=pairs,
        forward_kl=pairs,
        jsd=pairs,
    )


def evidence(rows: Mapping[Node, Mapping[int, Sequence[float]]], rollouts: Sequence[Drawn]) -> Evidence:
    """Return what a question named "q" has."""
    return Evidence("q", nodes(rows), tuple(rollouts))
