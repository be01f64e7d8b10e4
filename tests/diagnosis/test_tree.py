"""The generation tree by hand, and its counts against a loop over rollouts and prefixes."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.tree import Tree, passing
from tests.diagnosis.handmade import rollout

ROLLOUTS = [
    rollout((1, 2, 3), 1, logp=(-0.1, -0.2, -0.3)),
    rollout((1, 2, 4), 0, logp=(-0.1, -0.2, -1.5)),
    rollout((1, 2, 4), 1, start=2, logp=(-0.1, -0.2, -1.5)),  # the same response again, forced to its branch
    rollout((5,), 0, logp=-2.0),
    rollout((), 0),
]


def by_place(tree: Tree, values):
    """Return values by how the places were named."""
    return {name: values[place] for name, place in tree.named.items()}


def test_places_are_where_rollouts_part_begin_or_end():
    tree = Tree.of(ROLLOUTS, [(), (1, 2), (1, 2, 3), (1, 2, 4), (5,)])
    assert len(tree) == 5  # and none for (1,): nothing parts there
    depth = by_place(tree, tree.depth)
    assert depth == {(): 0, (1, 2): 2, (1, 2, 3): 3, (1, 2, 4): 3, (5,): 1}
    parent = by_place(tree, tree.parent)
    root, branch = tree.named[()], tree.named[1, 2]
    assert parent == {(): -1, (1, 2): root, (5,): root, (1, 2, 3): branch, (1, 2, 4): branch}
    assert by_place(tree, tree.ends) == {(): True, (1, 2): False, (1, 2, 3): True, (1, 2, 4): True, (5,): True}
    assert len(Tree.of(ROLLOUTS)) == 5


def test_forced_rollouts_are_not_counted_at_ancestors():
    tree = Tree.of(ROLLOUTS, [(), (1,), (1, 2), (1, 2, 3), (1, 2, 4), (5,)])
    on = by_place(tree, tree.count(np.ones(5), on_policy=True))
    assert on == {(): 4, (1,): 2, (1, 2): 3, (1, 2, 3): 1, (1, 2, 4): 2, (5,): 1}
    everything = by_place(tree, tree.count(np.ones(5), on_policy=False))
    assert everything == {(): 5, (1,): 3, (1, 2): 3, (1, 2, 3): 1, (1, 2, 4): 2, (5,): 1}
    outcome = np.array([1.0, 0, 1, 0, 0])
    assert by_place(tree, tree.count(outcome, on_policy=True))[1, 2, 4] == 1
    assert by_place(tree, tree.count(outcome, on_policy=True))[()] == 1


def test_the_way_to_a_place_has_the_product_of_its_tokens_probabilities():
    tree = Tree.of(ROLLOUTS, [(), (1, 2), (1, 2, 3), (1, 2, 4), (5,)])
    mass = by_place(tree, tree.log_mass)
    assert mass == pytest.approx({(): 0.0, (1, 2): -0.3, (1, 2, 3): -0.3, (1, 2, 4): -1.5, (5,): -2.0}, abs=1e-6)
    named = Tree.of(ROLLOUTS, [(1,), (1, 2)])
    assert by_place(named, named.log_mass) == pytest.approx({(1,): -0.1, (1, 2): -0.2}, abs=1e-6)


def test_an_unknown_log_probability_stays_unknown_and_goes_no_further():
    tree = Tree.of([rollout((1, 2, 3), logp=(-0.1, np.nan, -0.3))], [(1,), (1, 2), (1, 2, 3)])
    mass = by_place(tree, tree.log_mass)
    assert mass[1,] == pytest.approx(-0.1)
    assert np.isnan(mass[1, 2])
    assert mass[1, 2, 3] == pytest.approx(-0.3)


def test_a_response_that_begins_another_ends_inside_its_run():
    tree = Tree.of([rollout((1, 2, 3, 4)), rollout((1, 2))], [(1, 2), (1, 2, 3, 4)])
    assert by_place(tree, tree.ends) == {(1, 2): True, (1, 2, 3, 4): True}
    assert tree.parent[tree.named[1, 2, 3, 4]] == tree.named[1, 2]


def test_names_that_no_rollout_passes_are_left_out():
    tree = Tree.of(ROLLOUTS, [(9,), (1, 2, 3, 4), (1, 3), (5,)])
    assert set(tree.named) == {(5,)}
    assert passing(ROLLOUTS, [(1,), (9,), (5,)]) == {(1,): 0, (5,): 3}
    assert len(Tree.of([])) == 1
    assert Tree.of([], [()]).named == {(): 0} or Tree.of([], [()]).named == {}


def test_ids_of_any_size_are_told_apart():
    ids = [(1,), (256,), (1, 0), (2**24 + 1,), (257,), (65536,)]
    tree = Tree.of([rollout(one) for one in ids], ids)
    assert set(tree.named) == set(ids)
    assert by_place(tree, tree.count(np.ones(6), on_policy=True))[1,] == 2


@pytest.mark.parametrize("seed", range(5))
def test_counts_equal_a_loop_over_rollouts(seed):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(60):
        ids = tuple(rng.integers(0, 3, rng.integers(0, 7)).tolist())
        rows.append(rollout(ids, int(rng.integers(0, 2)), start=int(rng.integers(0, len(ids) + 1))))
    names = sorted({tuple(one.ids[:depth].tolist()) for one in rows for depth in range(len(one.ids) + 1)})
    tree, weight = Tree.of(rows, names), rng.random(60)
    assert set(tree.named) == set(names)
    assert len(tree) == len(names)
    for on_policy in (True, False):
        counted = by_place(tree, tree.count(weight, on_policy=on_policy))
        for name in names:
            through = [tuple(one.ids[: len(name)].tolist()) == name and len(one.ids) >= len(name) for one in rows]
            own = [len(name) >= one.start or not on_policy for one in rows]
            assert counted[name] == pytest.approx(weight[np.array(through) & np.array(own)].sum())
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
    seen = np.concatenate(tree.levels())
    assert sorted(seen.tolist()) == list(range(len(tree)))
    level = {int(place): number for number, places in enumerate(tree.levels()) for place in places}
    assert all(level[place] == level[int(tree.parent[place])] + 1 for place in range(1, len(tree)))
