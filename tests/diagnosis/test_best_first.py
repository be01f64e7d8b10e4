"""Truncated enumeration against whole enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from tests.diagnosis.best_first import BestFirst
from tests.diagnosis.exact import Toy, enumerate_exact

TOYS = [Toy(1, 4, 5, spread=2.0), Toy(2, 3, 6, ended=False), Toy(3, 5, 4, spread=3.0)]


def reader(toy, *, along):
    """Read a prefix alone, or along its likeliest continuation, which may go past an end as a model's may."""

    def read(asked):
        for prefix in asked:
            rows = [toy.row(0, prefix)]
            after: list[int] = []
            while along and len(prefix) + len(after) < toy.depth + 2:
                after.append(int(np.argmax(rows[-1])))
                rows.append(toy.row(0, (*prefix, *after)))
            yield tuple(after), np.array(rows)

    return read


def tree_of(toy, *, along=True, correct=None):
    # without ends, a toy's response of full length is judged; here one is cut, and wrong
    read, judge = reader(toy, along=along), correct or toy.correct
    return BestFirst(read, vocab=toy.vocab, ends=toy.ends, length=toy.depth, correct=judge)


@pytest.mark.parametrize("along", [False, True])
def test_read_whole_it_is_the_enumeration(along):
    toy = TOYS[0]
    truth, tree = toy.truth(), tree_of(toy, along=along)
    tree.explore(truth, 0.0, 10**6)
    assert set(tree.prefixes) == set(truth)
    paths = [(*u, k) for u in truth for k in range(toy.vocab)]
    for path, one in zip(paths, tree.known(paths), strict=True):
        assert one.success == pytest.approx(truth[path[:-1]].success[path[-1]], abs=1e-12)
        assert one.bound < 1e-12
    assert tree.known([()])[0].success == pytest.approx(truth[()].value, abs=1e-12)


@pytest.mark.parametrize("toy", [TOYS[0], TOYS[2]], ids=str)
@pytest.mark.parametrize("bound", [0.3, 0.1, 0.02])
def test_the_truth_lies_within_the_bound_after_rare_tokens_too(toy, bound):
    truth, tree = toy.truth(), tree_of(toy)
    rare = int(np.argmin(truth[1,].p[1:])) + 1
    matter = [(), (1,), (1, rare), *((1, rare, k) for k in range(toy.vocab))]
    tree.explore(matter, bound, 10**6)
    for ids, one in zip(matter, tree.known(matter), strict=True):
        value = truth[ids].value if ids in truth else truth[ids[:-1]].success[ids[-1]]
        assert abs(one.success - value) <= one.bound + 1e-12
        assert one.bound <= bound
    assert len(tree) < len(truth) or bound < 0.1


@pytest.mark.parametrize("outcome", [False, True])
def test_the_bound_holds_where_every_end_is_alike(outcome):
    toy = TOYS[0]
    truth = enumerate_exact(toy.policy, toy.depth, lambda _: outcome)
    tree = tree_of(toy, along=False, correct=lambda _: outcome)
    tree.explore([()], 0.0, 2)
    (root,) = tree.known([()])
    assert 0.01 < root.bound < 0.9
    assert abs(root.success - truth[()].value) <= root.bound


def test_it_stops_where_it_has_read_enough_and_says_how_little_it_knows():
    tree = tree_of(TOYS[0], along=False)
    tree.explore([()], 1e-9, 3)
    (root,) = tree.known([()])
    assert len(tree) <= TOYS[0].vocab
    assert root.bound > 0.1


def test_without_ends_every_response_is_cut():
    toy = TOYS[1]
    tree = tree_of(toy)
    tree.explore([()], 0.0, 10**6)
    (root,) = tree.known([()])
    assert (root.success, root.bound) == (0.0, pytest.approx(0.0, abs=1e-12))


def test_what_is_reached_is_all_that_is_reached():
    toy, least = TOYS[0], 0.01
    truth = toy.truth()
    by_hand = {}
    for u in truth:
        likely = np.prod([truth[u[:i]].p[k] for i, k in enumerate(u)])
        if likely >= least:
            by_hand[u] = likely
    found = dict(tree_of(toy).reached(least))
    assert set(found) == set(by_hand)
    for u, likely in found.items():
        assert likely == pytest.approx(by_hand[u], rel=1e-12)
    tree = tree_of(toy)
    np.testing.assert_array_equal(tree.logp(()), toy.row(0, ()))
