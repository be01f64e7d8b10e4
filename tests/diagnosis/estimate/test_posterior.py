"""Posterior draws: what is certain stays so, what is unseen is wide, and likeness of siblings is learnt."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.estimate.concentration import ALIKE, concentration, worth
from opd_widgets.diagnosis.estimate.fit import fit
from opd_widgets.diagnosis.estimate.visits import Visits
from tests.benchmarks.known import Smooth, Table, tabular
from tests.diagnosis.exact import responses
from tests.diagnosis.handmade import evidence, rollout
from tests.diagnosis.sampled import allocated

ROWS = {(): {1: (0.5, 0.5), 2: (0.3, 0.3), 3: (0.2, 0.2)}}


def test_with_every_response_seen_nothing_is_left_open():
    table = Table(7, 3, 4, ended=True, stay=1.0)
    known = tabular("seen", table)
    everything = dict.fromkeys(responses(table.vocab, table.depth, table.ends), 1)
    (given,) = allocated(known, everything, [0])
    found = fit(given)
    used = known.tokens >= 0
    assert used.sum() > 10
    np.testing.assert_allclose(found.posterior[used], np.repeat(known.success[used][:, None], 200, 1), atol=1e-6)


def test_a_response_that_ends_there_is_certain():
    fifth = rollout((3, 5), 0, logp=np.log((0.2, 0.3)))  # a fifth of what may follow the 3 was not seen
    found = fit(evidence(ROWS, [rollout((1,), 1), rollout((2,), 0), rollout((3, 4), 1), fifth]))
    assert (found.posterior[0, 0] == 1).all()
    assert (found.posterior[0, 1] == 0).all()
    np.testing.assert_array_equal(found.known[0], [True, True, False])
    assert found.posterior[0, 2].std() > 0.01
    assert ((found.posterior[0, 2] >= 0.5 - 1e-6) & (found.posterior[0, 2] <= 0.7 + 1e-6)).all()


def test_what_was_not_visited_is_wide_and_around_its_node():
    right = [rollout((1, 5 + index), 1, logp=np.log((0.5, 0.02))) for index in range(30)]
    wrong = [rollout((2, 5 + index), 0, logp=np.log((0.3, 0.02))) for index in range(30)]
    mixed, good = fit(evidence(ROWS, right + wrong)), fit(evidence(ROWS, right))
    assert mixed.visits[0, 2] == 0
    assert mixed.posterior[0, 2].std() > 2 * mixed.posterior[0, 0].std()
    assert good.posterior[0, 2].mean() > mixed.posterior[0, 2].mean() + 0.1


@pytest.mark.parametrize("kind", [Table, Smooth])
def test_draws_close_in_on_the_truth(kind):
    known = tabular("closing", kind(31, 4, 5, ended=False))
    used = np.argwhere((known.tokens >= 0) & (np.array([len(one) for one in known.prefixes]) < 3)[:, None])
    behind = [(*known.prefixes[node], int(known.tokens[node, column])) for node, column in used]
    spread, error = [], []
    for each in (1, 4, 16):
        (given,) = allocated(known, {(): 20, **dict.fromkeys(behind, each)}, [0])
        draws = fit(given).posterior[tuple(used.T)]
        spread.append(draws.std(-1).mean())
        error.append(np.abs(draws.mean(-1) - known.success[tuple(used.T)]).mean())
    assert spread[2] < 0.5 * spread[0]
    assert error[2] < 0.5 * error[0]
    assert spread[0] / 4 < error[0] < 2 * spread[0]


def family(right_of):
    """Return a place with 40 children of 8 rollouts each, of which so many are right."""
    rows = [
        rollout((child, 100 + index), int(index < right_of(child)), logp=np.log((1 / 40, 0.05)))
        for child in range(40)
        for index in range(8)
    ]
    given = evidence({(): {0: (1 / 40, 0.5), 1: (1 / 40, 0.5)}}, rows)
    visits = Visits.of(given, given.weights())
    return concentration(given.tree, visits, np.ones(len(given.tree)))


def test_how_alike_children_are_is_learnt_from_them():
    unlike, alike = family(lambda child: 8 * (child % 2)), family(lambda _: 4)
    assert unlike.kappa[0] < 0.5
    assert unlike.same[0] < 0.1
    assert alike.same[0] > 0.5 or alike.kappa[0] > 10
    assert unlike.mean[0] == pytest.approx(0.5, abs=0.05)
    # children that are one thing each are worth little more than one rollout each
    assert 40 <= unlike.visits[0] < 80
    assert alike.visits[0] > 120


def test_visits_to_one_child_are_worth_at_most_kappa_and_one():
    kappa = np.array([0.05, 1.0, 10.0, ALIKE])
    np.testing.assert_allclose(worth(np.ones(4), kappa), 1)
    np.testing.assert_allclose(worth(np.full(4, 1e9), kappa), kappa + 1, rtol=1e-5)
    assert worth(np.array([100.0]), np.array([ALIKE]))[0] == pytest.approx(91, abs=1)
