"""Orders of every strategy on evidence made by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from opd_widgets.diagnosis.estimate.fit import Fit, fit
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.spending import strategies
from opd_widgets.diagnosis.spending.even import even
from opd_widgets.diagnosis.spending.order import Market, Order, orders
from opd_widgets.diagnosis.spending.paper import paper
from opd_widgets.diagnosis.spending.width import width
from opd_widgets.errors import InvalidInputError
from tests.diagnosis.chains import Chain
from tests.diagnosis.handmade import evidence, rollout
from tests.diagnosis.toy_run import QUESTIONS, run

SAME = {1: (0.5, 0.5), 2: (0.5, 0.5)}
FAR = {1: (0.5, 0.9), 2: (0.5, 0.1)}
FARTHER = {1: (0.5, 0.99), 2: (0.5, 0.01)}


def counts(found):
    return {(order.node, order.column): order.count for order in found}


def price(found, given):
    return sum(Market(given).cost[order.node, order.column] * order.count for order in found)


def test_orders_are_joined_in_the_order_of_first_choice():
    assert orders([(1, 0), (0, 2), (1, 0), (1, 0)]) == [Order(1, 0, 3), Order(0, 2, 1)]


def test_what_a_rollout_costs_and_where_one_is_worth_it():
    rows = {(): SAME, (1,): SAME, (9,): SAME}
    given = evidence(rows, [rollout((1, 1, 5, 5, 5)), rollout((1, 1, 5)), rollout((2,)), rollout((1, 1, 6), start=2)])
    market = Market(given)
    # Behind 1, 8 tokens are left to three rollouts, behind 1 1 only 5; the 2 ends at once and says nothing; nothing
    # passed 1, 2 nor the 9. A mean is held back by 5 rollouts: of all, 3 long; of those that go on; of the node.
    going_on = np.array([(8 + 5 * 3) / (3 + 5), (5 + 5 * 3) / (3 + 5)])
    first, deeper = (8 + 5 * going_on[0]) / (3 + 5), (5 + 5 * going_on[1]) / (3 + 5)
    behind_1, behind_1_1 = (8 + 5 * first) / (3 + 5), (5 + 5 * deeper) / (3 + 5)
    np.testing.assert_allclose(market.cost, [[behind_1, first], [behind_1_1, deeper], [going_on[1], going_on[1]]])
    np.testing.assert_array_equal(market.open, [[True, False], [True, True], [True, True]])
    np.testing.assert_array_equal(market.targeted, [[0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(market.depth, [0, 1, 1])


@pytest.mark.parametrize("name", strategies.STRATEGIES)
def test_what_ends_a_response_is_never_ordered(name):
    rows = {(): {1: (0.4, 0.6), 2: (0.3, 0.2), 3: (0.3, 0.2)}}
    given = evidence(rows, [rollout((1, 5, 5), 1), rollout((2,), 0), rollout((2,), 0, start=1), rollout((3, 5), 0)])
    found = strategies.named(name).plan(given, 200.0, 0)
    assert {order.column for order in found} <= {0, 2}
    assert found


@pytest.mark.parametrize("name", strategies.STRATEGIES)
@pytest.mark.parametrize("tokens", [1.0, 40.0, 300.0])
def test_an_allowance_is_kept_to_within_one_rollout(name, tokens):
    given = Chain(1).evidence(initial=30, forced=1)
    found = strategies.named(name).plan(given, tokens, 0)
    assert tokens <= price(found, given) <= tokens + Market(given).cost.max()
    assert found == strategies.named(name).plan(given, tokens, 0)


@pytest.mark.parametrize("name", strategies.STRATEGIES)
def test_with_nothing_open_nothing_is_ordered(name):
    assert not strategies.named(name).plan(evidence({(): SAME}, [rollout((1,), 1), rollout((2,), 0)]), 100.0, 0)


def test_even_fills_those_with_the_fewest_targeted_rollouts():
    rows = {(): SAME, (1,): SAME}
    forced = [rollout((1, 5, 5), start=1), rollout((1, 5, 6), start=1), rollout((2, 5, 5), start=1)]
    given = evidence(rows, [rollout((1, 1, 5)), rollout((1, 2, 5)), *forced])
    cost = Market(given).cost
    assert list(counts(even(given, 0.5)).items()) == [((1, 0), 1)]
    found = even(given, float(cost[0].sum() + 3 * cost[1].sum()))
    total = Market(given).targeted.copy()
    for (node, column), count in counts(found).items():
        total[node, column] += count
    assert total.max() - total.min() <= 1
    first = next(iter(counts(found)))
    assert first == (1, 0)


def test_paper_takes_the_largest_gradient_first_and_fills_it():
    rows = {(): SAME, (1,): FAR, (2,): FARTHER}
    given = evidence(rows, [rollout((1, 1, 5)), rollout((2, 1, 5)), rollout((2, 1, 6)), rollout((2, 1, 7), start=2)])
    found = paper(given, 10_000.0, n_min=5)
    # every rollout through a candidate is a visit, forced or not, and further on or not
    wanted = [((2, 0), 2), ((2, 1), 5), ((1, 0), 4), ((1, 1), 5), ((0, 0), 4), ((0, 1), 2)]
    assert [((order.node, order.column), order.count) for order in found] == wanted


def test_paper_takes_the_teacher_with_the_largest_gradient():
    near = {1: (0.5, 0.5, 0.5), 2: (0.5, 0.5, 0.5)}
    one, other = {1: (0.5, 0.5, 0.8), 2: (0.5, 0.5, 0.2)}, {1: (0.5, 0.9, 0.5), 2: (0.5, 0.1, 0.5)}
    given = evidence({(): near, (1,): one, (2,): other}, [rollout((1, 1, 5)), rollout((2, 1, 5))])
    assert [order.node for order in paper(given, 10_000.0, n_min=2)][::2] == [2, 1, 0]


def test_paper_stops_at_n_min():
    given = evidence({(): SAME}, [*(rollout((1, 5)) for _ in range(4)), *(rollout((2, 6)) for _ in range(3))])
    assert counts(paper(given, 1e6, n_min=4)) == {(0, 1): 1}
    assert not paper(given, 1e6, n_min=3)


def test_paper_covers_windows_of_depth_that_double_with_a_budget_each():
    carrier = tuple(3 + index % 5 for index in range(400))
    depths = [0, 49, 50, 149, 150, 349, 350]
    rows = {
        carrier[:depth]: {int(carrier[depth]): (0.5, 0.9 - depth / 1000), 1: (0.5, 0.1 + depth / 1000)}
        for depth in depths
    }
    given = evidence(rows, [rollout(carrier)])
    taken = [depths[order.node] for order in paper(given, 1e9, n_min=2)]
    first = list(dict.fromkeys(taken))
    # a window's two candidates cost as much as its depth leaves: the deep ones are cheap and come again first
    assert first.index(0) == 0
    assert set(first[:4]) == {0, 50, 150, 350}
    assert set(first[4:]) == {49, 149, 349}
    market = Market(given)
    spent = np.zeros(4)
    window = {0: 0, 49: 0, 50: 1, 149: 1, 150: 2, 349: 2, 350: 3}
    for order in paper(given, 1200.0, n_min=50):
        spent[window[depths[order.node]]] += market.cost[order.node, order.column] * order.count
    assert (spent > 0).sum() == 2  # filling one candidate of the first takes all it may have
    balanced = [rollout(carrier), *(rollout(carrier, start=1) for _ in range(2))]
    order = paper(evidence(rows, balanced), 1.0, n_min=50)[0]
    assert depths[order.node] == 50  # the first window has had its share


def wide_and_narrow(given, wide):
    """Return an estimate that knows every candidate's success but those of one node."""
    shape = given.nodes.tokens.shape
    draws = np.tile(np.linspace(0.2, 0.8, shape[1])[None, :, None], (shape[0], 1, 64)).astype(np.float32)
    draws[wide] = np.random.default_rng(0).random((shape[1], 64))
    empty = np.zeros(shape, np.bool_)
    return Fit("backup", np.full(shape, 3), draws.mean(-1), draws, empty, empty, empty)


def test_width_goes_where_the_spread_is():
    rows = {(): {**FAR, 3: (0.3, 0.2)}, (1,): {**FAR, 3: (0.3, 0.2)}}
    rows = {prefix: {k: (p[0] * 0.7, p[1] * 0.7) for k, p in row.items()} for prefix, row in rows.items()}
    given = evidence(rows, [rollout((1, 1, 5, 5)), rollout((2, 5, 5, 5))])
    for node in (0, 1):
        assert {order.node for order in width(given, 30.0, wide_and_narrow(given, node))} == {node}


def test_width_weighs_nodes_by_their_spread():
    row = {1: (0.4, 0.6), 2: (0.3, 0.3), 3: (0.3, 0.1)}
    given = evidence({(): row, (1,): row}, [rollout((1, 1, 5, 5)), rollout((2, 5, 5, 5))])
    draws = np.random.default_rng(0).random((2, 3, 64))
    empty = np.zeros((2, 3), np.bool_)
    shares = []
    for wide in (0, 1):
        narrow = np.array([0.9, 0.5, 0.1])[:, None] + 0.02 * draws[1 - wide]
        both = np.stack([draws[0], narrow] if wide == 0 else [narrow, draws[1]]).astype(np.float32)
        told = Fit("backup", np.full((2, 3), 3), both.mean(-1), both, empty, empty, empty)
        found = counts(width(given, 300.0, told))
        shares.append(sum(n for (node, _), n in found.items() if node == wide) / sum(found.values()))
    assert min(shares) > 0.75


def test_width_looks_at_everything_once_before_it_looks_twice():
    rows = {(): SAME, (1,): FAR, (2,): FAR}
    given = evidence(rows, [rollout((1, 1, 5), 1), rollout((1, 1, 6), 0)])
    found = width(given, 1e-9, fit(given))
    assert counts(found) == {(0, 1): 1}
    needed = sum(Market(given).cost[at] for at in ((0, 1), (1, 1), (2, 0)))
    found = width(given, float(needed) + 1e-9, fit(given))
    assert [(order.node, order.column) for order in found] == [(0, 1), (1, 1), (2, 0), (2, 1)]
    more = width(given, 60.0, fit(given))
    assert set(counts(more)) >= {(0, 1), (1, 1), (2, 0), (2, 1)}
    assert sum(counts(more).values()) > 4


def test_width_spends_less_on_one_candidate_the_more_visits_it_has():
    given = evidence({(): FAR}, [rollout((1, 5, 5), 1), rollout((2, 5, 5), 0)])
    draws = np.random.default_rng(1).random((1, 2, 64)).astype(np.float32)
    empty = np.zeros((1, 2), np.bool_)
    for visits, most in (([1, 40], 0), ([40, 1], 1)):
        many = Fit("backup", np.array([visits]), draws.mean(-1), draws, empty, empty, empty)
        found = counts(width(given, 20.0, many))
        assert max(found, key=found.get) == (0, most)


def test_width_and_even_are_no_less_than_what_they_are_given_more_tokens():
    given = Chain(2).evidence(initial=20, forced=1)
    for name in ("even", "width"):
        totals = [
            sum(order.count for order in strategies.named(name).plan(given, tokens, 0))
            for tokens in (10.0, 100.0, 400.0)
        ]
        assert all(a < b for a, b in pairwise(totals))


def test_an_end_close_by_does_not_make_the_other_candidates_look_cheap():
    rows = {(): {1: (0.2, 0.2), 2: (0.8, 0.8), 3: (0.1, 0.1)}}
    long, short = [rollout((1, *[5] * 99))] * 20, [rollout((2,))] * 80
    cost = Market(evidence(rows, [*long, *short])).cost
    assert cost[0, 0] == pytest.approx(99, rel=0.1)
    assert cost[0, 2] > 70  # the mean over all rollouts is 20


def test_a_strategy_has_parameters_and_a_name_that_says_them():
    assert strategies.paper().name == "paper"
    assert strategies.paper(n_min=40).name == "paper(n_min=40, first_window=50)"
    assert strategies.named("even").name == "even"
    own = strategies.Strategy("nothing", lambda *_: [])
    assert strategies.named(own) is own
    for bad, says in ((lambda: strategies.paper(n_min=0), "n_min=0"), (lambda: strategies.named("best"), "'best'")):
        with pytest.raises(InvalidInputError, match=says):
            bad()


def test_a_strategy_of_ones_own_is_asked_and_named_in_the_result():
    asked = []

    def plan(evidence, tokens, seed):
        asked.append((evidence.question, tokens > 0, seed))
        return [strategies.Order(0, 0, 2)] if len(asked) == 1 else []

    result = run(spending=strategies.Strategy("first only", plan), questions=QUESTIONS[:1])
    assert result.about["spending"] == "first only"
    assert len(asked) == 2
    once = [drawn for drawn in result.evidence[0].rollouts if drawn.start and drawn.generated]
    assert len(once) == 2
    filled = run(spending=strategies.paper(n_min=3), questions=QUESTIONS[:1], budget=20_000)
    assert filled.about["generated_tokens"] < 20_000  # three visits each, and nothing is left to buy


def test_width_goes_where_the_loss_asked_about_is_unsure():
    given = Chain(2).evidence(initial=20, forced=1)
    found = fit(given, draws=64)
    plans = [width(given, 400.0, found, loss) for loss in ("reverse_kl", "forward_kl", "jsd")]
    assert plans[0] != plans[1]
    result = run(settings=DiagnosisSettings(loss="forward_kl"), questions=QUESTIONS[:1])
    assert result.about["spending"] == "width(loss=forward_kl)"
    assert strategies.width("jsd", 0.3).name == "width(loss=jsd, beta=0.3)"
