"""The benchmark of the diagnosis in small: its order, its intervals, and its own arithmetic."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

from opd_widgets.diagnosis.alignments import alignments
from opd_widgets.diagnosis.tree import Tree
from tests.benchmarks import diagnosis_report
from tests.benchmarks.diagnosis import DEFAULT, EVEN, FAST, PAPER, WAYS, Record, fast, measure, readings
from tests.benchmarks.diagnosis_coverage import Coverage, coverage, reliability_table
from tests.benchmarks.known import TABLES, coverage_set, tabular
from tests.diagnosis.exact import Node
from tests.diagnosis.sampled import allocated, along_prefix, base_budget, cut, gathered, nodes_of


@lru_cache
def known(name="leaves-d"):
    return tabular(name, TABLES[name])


def test_the_default_errs_less_than_both_rivals():
    records = fast()
    assert {one.policy for one in records} == set(FAST)
    for multiple, paper, even in ((1, 0.4, 0.85), (4, 0.25, 0.5)):
        for rival, most in ((PAPER, paper), (EVEN, even)):
            found = diagnosis_report.ratios(records, DEFAULT, rival, multiple)
            assert diagnosis_report.geometric([*found.values()])[0] < most, (multiple, rival)
    by_budget = [np.mean([one.error[DEFAULT] for one in records if one.multiple == x]) for x in (1, 4)]
    assert by_budget[1] < by_budget[0]


def test_nine_intervals_in_ten_cover_the_truth():
    found = coverage(coverage_set(), 1)
    assert found.nodes >= 500
    assert 0.85 <= found.share <= 0.95
    assert 0 < found.width < 0.5
    score, base = found.brier
    assert (~found.wide).sum() >= 500
    assert score < 0.25 * base
    for _, _, number, said, came in found.reliability():
        assert abs(came - said) < 0.05 + 3 * np.sqrt(max(said * (1 - said), 0.01) / number)
    assert len(reliability_table(found)) == 2 + len(found.reliability())


def test_strategies_of_one_seed_share_their_initial_rollouts_and_what_they_ask_alike():
    budget = 3 * base_budget(known())
    runs = [gathered(known(), how, budget, 5) for how in ("width", "even", "paper")]
    initial = [[one.ids.tolist() for one in run.rollouts if not one.start] for run in runs]
    assert initial[0] == initial[1] == initial[2]
    first: dict[Node, set[Node]] = {}
    for run in runs:
        asked: set[Node] = set()
        for one in run.rollouts:
            ids = tuple(one.ids.tolist())
            if ids[: one.start] not in asked:
                asked.add(ids[: one.start])
                first.setdefault(ids[: one.start], set()).add(ids)
    assert all(len(seen) == 1 for seen in first.values())
    others = gathered(known(), "even", budget, 6)
    assert [one.ids.tolist() for one in others.rollouts] != [one.ids.tolist() for one in runs[1].rollouts]


def test_the_engine_and_the_known_nodes_mean_the_same():
    run = gathered(known(), "even", base_budget(known()), 0)
    mine = nodes_of(known())
    assert run.nodes.prefixes == mine.prefixes
    np.testing.assert_array_equal(run.nodes.tokens, mine.tokens)
    np.testing.assert_allclose(run.nodes.student_logp, mine.student_logp, atol=1e-9)
    np.testing.assert_allclose(run.nodes.teacher_logp, mine.teacher_logp, atol=1e-9)
    exact = alignments(run.nodes, np.nan_to_num(known().success), np.repeat(mine.used[:, None], 2, 1))
    np.testing.assert_allclose(exact, known().alignment, atol=1e-6)


def test_what_is_drawn_at_once_is_what_the_engine_draws():
    run = gathered(known(), "even", 2 * base_budget(known()), 4)
    counts = Counter(tuple(drawn.ids[: drawn.start].tolist()) for drawn in run.rollouts)
    (alike,) = allocated(known(), counts, [4])

    def spelled(evidence):
        return sorted((one.start, one.ids.tolist(), one.outcome, one.truncated) for one in evidence.rollouts)

    assert spelled(alike) == spelled(run)
    trees = [Tree.of(evidence.rollouts, known().prefixes) for evidence in (run, alike)]
    masses = [{prefix: tree.log_mass[place] for prefix, place in tree.named.items()} for tree in trees]
    assert masses[0] == pytest.approx(masses[1], abs=1e-5)


def test_prefixes_that_no_rollout_passed_have_their_log_probabilities_too():
    run = gathered(known(), "even", base_budget(known()), 0)
    initial = {
        tuple(one.ids[:depth].tolist()) for one in run.rollouts if not one.start for depth in range(len(one.ids))
    }
    missed = [one for one in run.rollouts if one.start and tuple(one.ids[: one.start - 1].tolist()) not in initial]
    assert missed
    for one in missed:
        np.testing.assert_allclose(one.logprobs[: one.start], along_prefix(known(), one.ids[: one.start]), atol=1e-6)


def test_nothing_beyond_the_budget_counts():
    run = gathered(known(), "paper", base_budget(known()), 0)
    spent = [sum(one.generated for one in cut(run, tokens).rollouts) for tokens in (50, 51, 10**9)]
    assert spent[0] <= 50
    assert spent[1] <= 51
    assert spent[2] == sum(one.generated for one in run.rollouts)


def test_a_node_without_a_score_is_charged_one():
    (one,) = measure(known(), [1], [0])
    way = WAYS[PAPER]
    held = cut(gathered(known(), "paper", one.budget, 0), one.budget)
    off = np.abs(way.alignment(held) - known().alignment)
    by_hand = [1.0 if np.isnan(value) else value for value in off[~np.isnan(known().alignment)]]
    assert one.error[PAPER] == pytest.approx(np.mean(by_hand))
    assert 1.0 in by_hand
    assert one.scored[PAPER] == pytest.approx(np.mean(np.array(by_hand) != 1.0), abs=0.05)


def test_what_reading_takes():
    nodes, tokens = readings(known())
    assert nodes == len(known().prefixes)
    assert 3 * nodes <= tokens <= 3 * (nodes + sum(len(prefix) for prefix in known().prefixes))


def test_ratios_by_hand():
    rows = [
        Record("a", 1, 0, 10, {"x": 0.1, "y": 0.4}, {}),
        Record("a", 1, 1, 10, {"x": 0.3, "y": 0.4}, {}),
        Record("b", 1, 0, 10, {"x": 0.2, "y": 0.1}, {}),
        Record("b", 2, 0, 20, {"x": 0.0, "y": 0.1}, {}),
    ]
    assert diagnosis_report.ratios(rows, "x", "y", 1) == pytest.approx({"a": 0.5, "b": 2.0})
    assert diagnosis_report.ratios(rows, "x", "y", 2) == pytest.approx({"b": 0.01})
    middle, low, high = diagnosis_report.geometric([0.5, 2.0])
    assert (middle, low, high) == pytest.approx((1.0, 0.5, 2.0))


def test_coverage_by_hand():
    found = Coverage(
        low=np.array([-1.0, 0.0, -1.0, -1.0]),
        high=np.array([0.5, 0.2, 1.0, 1.0]),
        positive=np.array([0.4, 1.0, 0.9, 0.2]),
        truth=np.array([0.5, 0.3, 1.0, 1.0]),
        tokens=np.array([3, 4, 2, 2]),
        node=np.array([0, 0, 1, 2]),
        silent=0.0,
    )
    assert (found.share, found.nodes) == (0.5, 1)
    assert found.width == pytest.approx((1.5 + 0.2) / 2)
    assert found.brier == pytest.approx(((0.1**2 + 0.8**2) / 2, 0.0))
    np.testing.assert_allclose(found.reliability(), [(0.2, 0.4, 1, 0.2, 1), (0.8, 0.95, 1, 0.9, 1)])
