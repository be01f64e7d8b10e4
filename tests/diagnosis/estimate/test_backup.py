"""The backup by hand, and by a slow recursion over prefixes."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.estimate.backup import backed_up
from opd_widgets.diagnosis.estimate.visits import Visits
from tests.diagnosis.chains import Chain
from tests.diagnosis.handmade import evidence, rollout

P = {1: 0.5, 2: 0.3, 3: 0.2}  # after the 7
ROWS = {(): {7: (0.5, 0.5), 8: (0.5, 0.5)}, (7,): {k: (p, p) for k, p in P.items()}, (8,): {1: (0.5, 0.5)}}


def through(middle, end, outcome, start=0):
    """Return a rollout 7, middle, end."""
    return rollout((7, middle, end), outcome, start=start, logp=(np.log(0.5), np.log(P[middle]), np.log(0.5)))


def value_at(found, prefix, use=None):
    return backed_up(found.tree, Visits.of(found, found.weights(use)))[found.tree.named[prefix]]


def test_forced_children_by_their_probability_and_the_rest_by_direct_count():
    chosen = [through(1, 1, 1), through(2, 1, 1), through(2, 2, 0), through(3, 1, 1)]
    forced = [through(1, 2, 1, start=2), through(1, 3, 0, start=2)]
    found = evidence(ROWS, chosen + forced)
    assert value_at(found, (7, 1)) == pytest.approx(2 / 3)
    assert value_at(found, (7,)) == pytest.approx(0.5 * 2 / 3 + (1 + 0 + 1) / 4)
    # nothing was forced to the 7: from the root, 7 and 1 are one way
    assert value_at(found, ()) == pytest.approx(0.5 * 0.5 * 2 / 3 + (1 + 0 + 1) / 4)
    assert value_at(found, (7,), np.array([True] * 4 + [False] * 2)) == pytest.approx(3 / 4)


def test_a_forced_child_hands_its_own_backup_up():
    rows = [
        rollout((8, 1, 1), 0, logp=np.log(0.5)),
        through(1, 1, 0, start=1),  # forced to the 7
        through(2, 1, 1, start=1),
        through(1, 2, 1, start=2),  # forced to 7, 1
    ]
    found = evidence(ROWS, rows)
    assert value_at(found, (7, 1)) == pytest.approx(1 / 2)
    seven = 0.5 * 1 / 2 + 1 / 2  # half of what was drawn at the 7 went on correctly, and not by the 1
    assert value_at(found, (7,)) == pytest.approx(seven)
    assert value_at(found, ()) == pytest.approx(0.5 * seven + 0)  # the one on-policy rollout was wrong


def test_without_a_rollout_of_its_own_a_node_has_its_forced_children_alone():
    rows = [rollout((7, 1, 1), 1), through(1, 2, 1, start=2), through(1, 3, 0, start=2), through(2, 1, 0, start=2)]
    found = evidence(ROWS, rows[1:])
    assert value_at(found, (7,)) == pytest.approx((0.5 * 1 / 2 + 0.3 * 0) / 0.8)
    assert value_at(found, (7, 2)) == 0


def test_a_child_of_unknown_probability_is_counted_directly():
    rows = [rollout((7, 1, 1), 1), rollout((7, 2, 1), 0), rollout((7, 1, 2), 0, start=2, logp=np.nan)]
    unknown = [rollout(one.ids.tolist(), one.outcome, start=one.start, logp=np.nan) for one in rows]
    assert value_at(evidence(ROWS, unknown), (7,)) == pytest.approx(1 / 2)


def slow(found, prefix):
    """The formula of the module, read aloud: over prefixes, with no tree."""
    own = [one for one in found.rollouts if one.start <= len(prefix) and _passes(one, prefix)]
    behind = [one for one in found.rollouts if one.start > len(prefix) and _passes(one, prefix)]
    forced = {tuple(one.ids[: one.start].tolist()) for one in behind}
    # the nearest forced prefixes: those that lie behind another are in its value already
    nearest = [one for one in forced if not any(other != one and one[: len(other)] == other for other in forced)]
    total = mass = 0.0
    for child in nearest:
        carrier = next(one for one in found.rollouts if _passes(one, child))
        p = float(np.exp(carrier.logprobs[len(prefix) : len(child)].sum(dtype=np.float64)))
        total, mass = total + p * slow(found, child), mass + p
    if not own:
        return total / mass
    return total + np.mean([one.outcome * (not any(_passes(one, child) for child in nearest)) for one in own])


def _passes(drawn, prefix):
    return len(drawn.ids) >= len(prefix) and tuple(drawn.ids[: len(prefix)].tolist()) == prefix


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_the_formula_read_aloud(seed):
    found = Chain(seed, vocab=3, length=5).evidence(initial=40, forced=2, nodes=12)
    visits = Visits.of(found, found.weights())
    values = backed_up(found.tree, visits)
    checked = 0
    for prefix, place in found.tree.named.items():
        if visits.own[place] and (visits.begun[place] or visits.own[place] > 3):
            checked += 1
            assert values[place] == pytest.approx(slow(found, prefix), abs=1e-6)
    assert checked > 10
