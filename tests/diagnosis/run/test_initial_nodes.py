"""Nodes on initial rollouts against a loop over every prefix."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from opd_widgets.diagnosis.run.initial_nodes import nodes_on
from tests.diagnosis.handmade import rollout


def random_rollouts(seed):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 3, rng.integers(1, 9)).tolist() for _ in range(40)]
    return [rollout(row) for row in rows]


@pytest.mark.parametrize("seed", range(4))
def test_every_place_at_which_a_rollout_went_on(seed):
    rollouts = random_rollouts(seed)
    passes = Counter(tuple(one.ids[:depth].tolist()) for one in rollouts for depth in range(len(one.ids)))
    found = nodes_on(rollouts, 10_000)
    assert len(found) == len(set(found))
    assert set(found) == set(passes)
    through = Counter(
        tuple(one.ids[:depth].tolist()) for one in rollouts for depth in range(len(one.ids) + 1)
    )  # a rollout that ends at a node passes it too
    order = [through[prefix] for prefix in found]
    assert order == sorted(order, reverse=True)


def test_those_of_most_rollouts_are_kept():
    rollouts = random_rollouts(0)
    everything = nodes_on(rollouts, 10_000)
    assert nodes_on(rollouts, 7) == everything[:7]
    assert everything[0] == ()


def test_among_equals_the_choice_is_random_and_repeats():
    rollouts = [rollout(range(first, first + 20)) for first in (0, 100, 200)]
    kept = {seed: nodes_on(rollouts, 16, seed) for seed in range(40)}
    assert kept[0] == nodes_on(rollouts, 16, 0)
    assert kept[0] != kept[1]
    depths = np.array([len(prefix) for prefixes in kept.values() for prefix in prefixes if prefix])
    # 15 of 57 nodes each time, of depth 1 to 19 each three times: 600 draws, mean 10
    assert abs(depths.mean() - 10) < 4 * np.sqrt(30 / len(depths))


def test_no_rollouts_no_nodes():
    assert nodes_on([], 5) == []
