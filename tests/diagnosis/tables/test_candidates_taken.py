"""Candidates by rollout: by hand, and against a look at every node and rollout."""

from __future__ import annotations

import time

import numpy as np
import pytest

from opd_widgets.diagnosis.tables.candidates_taken import candidates_taken
from tests.diagnosis.chains import Chain
from tests.diagnosis.handmade import nodes, rollout

BOTH = (0.5, 0.5)
ROWS = {(): {1: BOTH, 2: BOTH}, (1,): {1: BOTH, 3: BOTH}, (2, 2): {4: BOTH, 5: BOTH}}


def test_by_hand():
    rollouts = [
        rollout((1, 3, 9)),  # through both first nodes
        rollout((1, 1), start=1),  # forced to the 1: on-policy behind it, which the student did not choose
        rollout((1, 3, 7), start=2),
        rollout((2, 2, 5, 1), start=1),
        rollout((2, 2)),  # ends at the node
        rollout((3, 1)),  # no candidate
        rollout(()),
    ]
    assert candidates_taken(nodes(ROWS), rollouts) == [{0: 0, 1: 0, 3: 1, 4: 1}, {0: 1, 1: 0, 2: 1}, {3: 1}]
    assert candidates_taken(nodes(ROWS), rollouts, chosen=True) == [{0: 0, 4: 1}, {0: 1, 1: 0}, {3: 1}]


@pytest.mark.parametrize("chosen", [False, True])
def test_against_every_node_and_rollout(chosen):
    evidence = Chain(4, vocab=3, length=5).evidence(60, 6, 12)
    found = candidates_taken(evidence.nodes, evidence.rollouts, chosen=chosen)
    expected: list[dict[int, int]] = [{} for _ in found]
    for node, prefix in enumerate(evidence.nodes.prefixes):
        tokens, depth = evidence.nodes.tokens[node].tolist(), len(prefix)
        for row, one in enumerate(evidence.rollouts):
            own = one.start <= (depth if chosen else depth + 1)
            if own and len(one.ids) > depth and tuple(one.ids[:depth].tolist()) == prefix and one.ids[depth] in tokens:
                expected[node][row] = tokens.index(one.ids[depth])
    assert found == expected
    assert sum(map(len, found)) > 100


def test_no_node_and_no_rollout():
    assert candidates_taken(nodes(ROWS), []) == [{}, {}, {}]
    assert candidates_taken(nodes(ROWS).take(np.zeros(0, np.int64)), [rollout((1,))]) == []


def test_thousands_of_nodes_and_rollouts_take_no_time():
    rng = np.random.default_rng(0)
    rollouts = [rollout(rng.integers(1, 5, 12).tolist()) for _ in range(4000)]
    prefixes = {tuple(one.ids[:depth].tolist()) for one in rollouts for depth in range(12)}
    many = nodes({prefix: dict.fromkeys((1, 2, 3, 4), BOTH) for prefix in sorted(prefixes, key=len)[:2000]})
    begun = time.process_time()
    found = candidates_taken(many, rollouts)
    assert time.process_time() - begun < 2  # 0.1 s; looking at every pair takes ten seconds
    assert sum(map(len, found)) > 20_000
