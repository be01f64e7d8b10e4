"""Counts at every candidate against a loop over rollouts."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.drawn import CORRECT, UNVERIFIED
from opd_widgets.diagnosis.estimate.visits import Visits
from opd_widgets.errors import InvalidInputError
from tests.diagnosis.chains import Chain
from tests.diagnosis.handmade import evidence, rollout

ROWS = {(): {1: (0.6, 0.5), 2: (0.4, 0.5)}, (1,): {1: (0.6, 0.5), 2: (0.4, 0.5)}}


def by_hand(found, prefix, kind, use):
    """Return number and correct ones of the rollouts of a kind at a prefix, one rollout after another."""
    number = right = 0
    for drawn, counts in zip(found.rollouts, use, strict=True):
        through = len(drawn.ids) >= len(prefix) and tuple(drawn.ids[: len(prefix)].tolist()) == prefix
        of_kind = {"all": True, "own": drawn.start <= len(prefix), "begun": drawn.start == len(prefix)}[kind]
        if counts and through and of_kind and drawn.outcome != UNVERIFIED:
            number, right = number + 1, right + (drawn.outcome == CORRECT)
    return number, right


@pytest.mark.parametrize("seed", range(3))
def test_visits_equal_a_loop(seed):
    found = Chain(seed).evidence(initial=50, forced=3)
    use = np.random.default_rng(seed).random(len(found.rollouts)) < 0.7
    visits = Visits.of(found, found.weights(use))
    places = [*found.tree.named.items()]
    assert len(places) > 20
    for prefix, place in places:
        for kind in ("all", "own", "begun"):
            counted = getattr(visits, kind)[place], getattr(visits, f"{kind}_correct")[place]
            assert counted == by_hand(found, prefix, kind, use)
        chosen = visits.own[place] - visits.begun[place], visits.own_correct[place] - visits.begun_correct[place]
        assert (visits.chosen[place], visits.chosen_correct[place]) == chosen


def test_unverified_rollouts_count_nowhere():
    rows = [rollout((1, 1), CORRECT), rollout((1, 2), UNVERIFIED), rollout((1, 2), 0, start=2)]
    found = evidence(ROWS, rows)
    visits = Visits.of(found, found.weights())
    assert visits.own[found.tree.named[1,]] == 1
    assert visits.all[found.tree.named[1, 2]] == 1
    assert visits.all_correct[found.tree.named[1,]] == 1


def test_what_to_use_is_a_boolean_for_each_rollout():
    found = evidence(ROWS, [rollout((1, 1)), rollout((1, 2), 0)])
    for wrong in (np.ones(3, np.bool_), np.ones(2)):
        with pytest.raises(InvalidInputError, match="one for each rollout"):
            found.weights(wrong)
    np.testing.assert_array_equal(found.weights(np.array([False, True])), [0, 1])
