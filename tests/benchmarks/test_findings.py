"""The lab's tables are printed from a real diagnosis, in small, and the prediction's statistics are right."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.benchmarks import findings, prediction
from tests.benchmarks.lab_run import diagnosed


@pytest.fixture(scope="module")
def result():
    return diagnosed(None, questions=3, budget=4_000)


def test_the_findings_name_every_teacher_and_the_null(result):
    said = findings.report(result)
    for teacher in result.teachers:
        assert said.count(f"| {teacher} |") == 4
    assert "null, all" in said
    assert result.recommend().text in said


def test_a_difference_is_that_of_the_summary(result):
    rows = result.summary().set_index(["teacher", "outcome"])["mean_cosine"]
    gaps = findings.differences(result)
    for place, teacher in enumerate(result.teachers):
        expected = float(rows[teacher, "incorrect"]) - float(rows[teacher, "correct"])
        assert np.nanmean(gaps[:, place]) == pytest.approx(expected, abs=0.25)
    np.testing.assert_allclose(gaps[:, -1], gaps[:, :-1].mean(axis=1))


def test_a_prediction_joins_its_gain(result):
    gains = {
        (teacher, on): prediction.Trained((place / 100, place / 100 + 0.001), 0.001)
        for place, teacher in enumerate(result.teachers)
        for on in ("all", "incorrect")
    }
    said = prediction.report(result, gains)
    assert said.count("| mean cosine |") == 2
    last = result.teachers[-1]
    assert f"+{100 * gains[last, 'all'].mean:.1f}" in said
    own = prediction.predicted(result)
    rows = result.summary().set_index(["teacher", "outcome"])
    for teacher in result.teachers:
        assert own[teacher, "incorrect"]["mean_cosine"][0] == rows.loc[(teacher, "incorrect"), "mean_cosine"]


def test_the_rank_correlation_and_its_chance_are_by_the_book():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=6), rng.normal(size=6)
    assert prediction.spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)
    orders = [spearmanr(one, other[list(order)]).statistic for order in permutations(range(6))]
    expected = np.mean(np.array(orders) >= spearmanr(one, other).statistic - 1e-9)
    assert prediction.chance(one, other) == pytest.approx(expected)
    assert np.isnan(prediction.spearman([1, 1, 1], [1, 2, 3]))


def test_the_interval_of_certain_numbers_is_a_point():
    rng = np.random.default_rng(0)
    before = [(value, value, value) for value in (0.1, 0.2, 0.3)]
    after = [prediction.Trained((gain, gain), 1e-9) for gain in (1.0, 3.0, 2.0)]
    assert prediction.with_interval(before, after, rng) == pytest.approx((0.5, 0.5, 0.5))
