"""Evidence of toys, sampled by their own policies; and of one node with all answers worked by hand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.read_nodes import read_nodes
from tests.diagnosis.exact import Node, Toy

TEACHERS = {"one": 1, "two": 2}  # by name, which of a toy's tables each reads


def rows(table: Any) -> list[Any]:
    """The rows of a table, their columns as attributes."""
    return [SimpleNamespace(**row) for row in table.to_dict("records")]


def drawn(ids: Sequence[int], outcome: int, *, start: int = 0, logprobs=None, truncated: bool = False) -> Drawn:
    said = np.full(len(ids), np.nan) if logprobs is None else logprobs
    return Drawn(np.array(ids, np.int32), start, np.array(said, np.float32), outcome, truncated)


def prefixes(toy: Toy, deepest: int) -> list[Node]:
    """All nodes of a toy of so many tokens or fewer, by depth."""
    going_on = [token for token in range(toy.vocab) if token not in toy.ends]
    return [ids for depth in range(deepest + 1) for ids in itertools.product(going_on, repeat=depth)]


def sampled(
    toy: Toy,
    initial: int,
    targeted: int,
    *,
    deepest: int | None = None,
    teachers: Mapping[str, int] = TEACHERS,
    question: str = "",
) -> Evidence:
    """Evidence at the nodes of a toy: initial rollouts, then so many targeted ones for each candidate.

    With few rollouts and `deepest` well above the end, most paths are never seen; else all are, and all is certain.
    """
    named = {name: toy.tabular(which) for name, which in teachers.items()}
    nodes = read_nodes(toy.policy, named, prefixes(toy, toy.depth - 1 if deepest is None else deepest))
    forced: list[Node] = [()] * initial
    for prefix, tokens in zip(nodes.prefixes, nodes.tokens, strict=True):
        forced += [(*prefix, int(token)) for token in tokens if token >= 0] * targeted
    room = [toy.depth - len(ids) for ids in forced]
    seeds = np.random.default_rng(toy.seed).integers(2**31, size=len(forced)).tolist()
    rollouts = []
    for ids, more in zip(forced, toy.policy.sample(forced, seeds=seeds, max_new_tokens=room), strict=True):
        whole = (*ids, *more.ids.tolist())
        before = [toy.row(0, ids[:place])[token] for place, token in enumerate(ids)]
        assert more.logprobs is not None
        ended = not toy.ended or whole[-1] in toy.ends
        outcome = int(ended and toy.correct(whole))
        rollouts.append(drawn(whole, outcome, start=len(ids), logprobs=[*before, *more.logprobs], truncated=not ended))
    return Evidence(question or f"toy {toy.seed}", nodes, tuple(rollouts))


def with_outcomes(evidence: Evidence, outcomes: Mapping[int, int], truncated: Sequence[int] = ()) -> Evidence:
    """The same with other outcomes by rollout, and some cut."""
    rollouts = [
        replace(one, outcome=outcomes.get(row, one.outcome), truncated=row in truncated)
        for row, one in enumerate(evidence.rollouts)
    ]
    return Evidence(evidence.question, evidence.nodes, tuple(rollouts))


def two_tokens() -> Evidence:
    """One node, responses of one token: p_S = (3/4, 1/4), p_T = (1/2, 1/2), the first token right, the other wrong."""

    def says(*p):
        return FunctionPolicy(lambda asked: np.log(np.tile(p, (len(asked), 1))), end_ids=[], vocab_size=2)

    nodes = read_nodes(says(0.75, 0.25), {"even": says(0.5, 0.5)}, [()])
    logp = np.log([0.75, 0.25])
    tokens = [(0, 0), (0, 0), (1, 0), (0, 0), (1, 1), (0, 1), (1, 1)]
    rollouts = [drawn([token], 1 - token, start=start, logprobs=[logp[token]]) for token, start in tokens]
    return Evidence("hand", nodes, tuple(rollouts))
