"""The recommendation: worked by hand on sums, and on questions with a teacher that knows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.bootstrap import resampled
from opd_widgets.diagnosis.tables.crossfit import crossfit_sums
from opd_widgets.diagnosis.tables.recommend import ALL, INCORRECT_ONLY, NONE, recommend
from opd_widgets.diagnosis.tables.tally import SUMS, Aggregate, Tally
from tests.diagnosis.chains import Chain

SETTINGS = DiagnosisSettings(draws=100)


def tally(correct, incorrect, weights=(1.0, 1.0)):
    """One question's sums from mean cosines over correct and incorrect rollouts: [T] each, or draws [T, D]."""
    each = [np.asarray(one, float).reshape(len(one), -1) for one in (correct, incorrect)]
    shape = np.broadcast_shapes(*(one.shape for one in each))
    each = [np.broadcast_to(one, shape) * w for one, w in zip(each, weights, strict=True)]
    sums = np.zeros((len(SUMS), 3, shape[0], 1, shape[1]))
    sums[0, :, :, 0] = np.stack([*each, sum(each)])
    weight = np.broadcast_to(np.array([*weights, sum(weights)])[:, None, None, None], (3, shape[0], 1, 1)).copy()
    counts = np.zeros((4, 3, shape[0], 1), int)
    counts[0] = weight[..., 0] > 0
    middle = Aggregate(weight, weight, sums.mean(axis=-1, keepdims=True))
    return Tally(counts, middle, Aggregate(weight, weight, sums), sums[0])


def moved(one, off):
    """The same with all sums moved by so much, [T, 1]."""
    middle, draws = (replace(part, sums=part.sums + off[None, None, :, None]) for part in (one.middle, one.draws))
    return Tally(one.counts, middle, draws, one.posterior + off[None, :, None])


def alike(*means, n=8, noise=0.01, weights=(1.0, 1.0)):
    """So many questions with about these means over correct and incorrect rollouts, one pair a teacher."""
    rng = np.random.default_rng(0)
    correct, incorrect = (np.array(one)[:, None] for one in zip(*means, strict=True))
    spread = [noise * rng.normal(size=(len(means), 100)) for _ in range(2 * n)]
    pairs = zip(spread[::2], spread[1::2], strict=True)
    return [tally(correct + one, incorrect + other, weights) for one, other in pairs]


def test_means_and_gains_by_hand():
    found = recommend([tally([0.4], [0.1], (3.0, 1.0)), tally([0.2], [-0.2], (1.0, 1.0))], ["a"], SETTINGS)
    table = found.table.set_index("on")
    assert table.loc[ALL, "mean_cosine"] == pytest.approx((1.2 + 0.1 + 0.2 - 0.2) / 6)
    assert table.loc[INCORRECT_ONLY, "mean_cosine"] == pytest.approx((0.1 - 0.2) / 2)
    assert table.loc[INCORRECT_ONLY, "gain"] == pytest.approx((0.1 - 0.2) / 6)
    assert table.loc[NONE, "gain"] == 0
    assert table.p_best.sum() == pytest.approx(1)


def test_replicates_are_questions_with_one_draw_each():
    rng = np.random.default_rng(1)
    tallies = [tally(rng.normal(0.1, 0.3, (2, 100)), rng.normal(0.1, 0.3, (2, 100)), (2.0, w)) for w in (1.0, 5.0)]
    found = recommend(tallies, ["a", "b"], SETTINGS)
    means, best = [], []
    for draw, replicates in enumerate(resampled(2, 100, SETTINGS.seed)):
        for times in replicates:
            sums = sum(n * one.draws.sums[0, :, :, 0, draw] for n, one in zip(times, tallies, strict=True))
            weight = sum(n * one.middle.weight[..., 0, 0] for n, one in zip(times, tallies, strict=True))
            means.append(sums[2, 0] / weight[2, 0])
            gains = [sums[2, 0], sums[1, 0], sums[2, 1], sums[1, 1], 0.0]
            best.append(int(np.argmax(gains)))
    row = found.table.iloc[0]
    assert (row.low, row.high) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])))
    assert row.p_positive == pytest.approx(np.mean(np.array(means) > 0))
    assert found.table.p_best.tolist() == pytest.approx([best.count(option) / len(best) for option in range(5)])


@pytest.mark.parametrize(
    ("means", "teacher", "on"),
    [
        ([(0.1, 0.3), (0.05, 0.1)], "a", ALL),  # correct rollouts help less, and still help
        ([(-0.1, 0.3), (0.05, 0.05)], "a", INCORRECT_ONLY),  # they hurt
        ([(-0.1, 0.3), (0.2, 0.2)], "b", ALL),  # a gains 0.3 on half of the nodes, b 0.2 on all
        ([(-0.5, 0.3), (-0.2, -0.1)], "a", INCORRECT_ONLY),  # on all it would not stand
        ([(-0.1, -0.2), (0.0, -0.3)], None, NONE),
    ],
)
def test_the_rule(means, teacher, on):
    found = recommend(alike(*means), ["a", "b"], SETTINGS)
    assert (found.teacher, found.on) == (teacher, on)
    marked = found.table[found.table.recommended]
    assert marked[["teacher", "on"]].to_numpy().tolist() == [[teacher or "", on]]
    assert found.p_best > 0.9
    assert found.text.startswith("Distil from" if teacher else "No teacher is recommended")
    assert str(found) == found.text


def test_an_unsure_mean_is_not_recommended():
    found = recommend(alike((0.05, 0.05), n=3, noise=1.0), ["a"], SETTINGS)
    assert found.teacher is None
    assert 0.1 < found.p_positive < 0.9
    assert "surest is a" in found.text


def test_what_more_budget_could_change():
    draws = np.random.default_rng(2).normal(0.3, 0.2, (1, 100))
    unknown_success = [tally(draws, draws) for _ in range(4)]
    few_questions = [tally(np.full((1, 100), one), np.full((1, 100), one)) for one in (0.1, 0.2, 0.4, 0.6)]
    assert recommend(unknown_success, ["a"], SETTINGS).budget_share == pytest.approx(1)
    assert "more budget for these questions" in recommend(unknown_success, ["a"], SETTINGS).text
    assert recommend(few_questions, ["a"], SETTINGS).budget_share == pytest.approx(0)
    assert "surer first by more questions" in recommend(few_questions, ["a"], SETTINGS).text


def test_one_question_says_so():
    found = recommend(alike((0.3, 0.3), n=1), ["a"], SETTINGS)
    assert found.teacher == "a"
    assert math.isnan(found.budget_share)
    assert "one question" in found.text


def test_nothing_measured():
    blank = tally([0.0], [0.0], (0.0, 0.0))
    for tallies, teachers in (([], ["a"]), ([blank], ["a"]), ([], [])):
        found = recommend(tallies, teachers, SETTINGS)
        assert (found.teacher, found.on) == (None, NONE)
        assert found.table.recommended.tolist() == [False] * (2 * len(teachers)) + [True]


def test_all_rollouts_incorrect():
    found = recommend(alike((0.0, 0.3), weights=(0.0, 1.0)), ["a"], SETTINGS)
    assert (found.teacher, found.on) == ("a", ALL)
    assert "No correct rollout" in found.text


def test_a_teacher_that_knows_is_found_and_coins_recommend_none():
    for coin, expected in ((False, "t1"), (True, None)):
        chains = [Chain(i, length=16 if coin else 6, scale=(1.0, 0.2), pull=(0.0, 3.0), coin=coin) for i in range(8)]
        evidences = [one.evidence(40, 10, 6) for one in chains]
        tallies = [Tally.of(crossfit_sums(one, SETTINGS), 3) for one in evidences]
        assert recommend(tallies, ["t0", "t1"], SETTINGS).teacher == expected


def test_it_says_what_the_summary_says():
    chains = [Chain(i, scale=(1.0, 0.2), pull=(0.0, 3.0)) for i in range(4)]
    evidences = tuple(one.evidence(40, 5, 6) for one in chains)
    tallies = [Tally.of(crossfit_sums(one, SETTINGS), 3) for one in evidences]
    table = recommend(tallies, ["t0", "t1"], SETTINGS).table.set_index(["teacher", "on"])
    summary = Diagnosis(evidences, SETTINGS).summary().set_index(["teacher", "outcome"])
    for teacher in ("t0", "t1"):
        for on, outcome in ((ALL, "all"), (INCORRECT_ONLY, "incorrect")):
            row: Any = summary.loc[(teacher, outcome)]
            said: Any = table.loc[(teacher, on)]
            expected = [row[f"mean_cosine{end}"] for end in ("", "_low", "_high")]
            assert [said["mean_cosine"], said["low"], said["high"]] == pytest.approx(expected)


def test_teachers_that_gain_the_same_share_what_is_sure():
    rng = np.random.default_rng(3)
    draws = rng.normal(0.3, 0.1, (8, 1, 100))
    tallies = [tally(np.repeat(one, 2, axis=0), np.repeat(one, 2, axis=0)) for one in draws]
    rounding = np.array([[0.0], [1e-13]])
    for off in (np.zeros((2, 1)), rounding, -rounding):
        made = [moved(one, off) for one in tallies]
        found = recommend(made, ["a", "b"], SETTINGS)
        assert found.p_best == pytest.approx(0.5, abs=0.01)
        assert found.table.p_best.tolist() == pytest.approx([0.5, 0, 0.5, 0, 0], abs=0.01)
        assert f"next comes {'b' if found.teacher == 'a' else 'a'} (0.50)" in found.text


def test_where_nothing_is_gained_none_is_best():
    found = recommend([tally([0.0, -0.1], [0.0, -0.1]) for _ in range(3)], ["a", "b"], SETTINGS)
    assert found.table.p_best.tolist() == [0, 0, 0, 0, 1]


def test_the_words_name_what_it_stands_on_and_say_where_intervals_are_rough():
    few = recommend(alike((0.3, 0.3), n=5), ["a"], SETTINGS)
    assert "This stands on 5 nodes of 5 questions: with a dozen questions or fewer" in few.text
    many = recommend(alike((0.3, 0.3), n=13), ["a"], SETTINGS)
    assert "This stands on 13 nodes of 13 questions." in many.text
    assert "dozen" not in many.text
    assert "This stands on 1 node of 1 question." in recommend(alike((0.3, 0.3), n=1), ["a"], SETTINGS).text
    alone = recommend(alike((0.3, 0.3), n=1), ["a"], SETTINGS, asked=6)
    assert "1 of 6 questions has a node that counts: nothing says" in alone.text
    assert repr(few) == few.text


def without(one, teacher):
    """The same with nothing measured of a teacher."""
    off = np.ones(one.counts.shape[2])
    off[teacher] = 0.0

    def part(given):
        return Aggregate(*(getattr(given, name) * off[:, None, None] for name in ("weight", "inside", "sums")))

    counts = (one.counts * off[:, None]).astype(int)
    return Tally(counts, part(one.middle), part(one.draws), one.posterior * off[:, None, None])


def test_what_stands_on_one_question_is_not_set_beside_what_stands_on_more():
    every = alike((0.3, 0.3), (1.0, 1.0), n=6)
    assert recommend(every, ["a", "b"], SETTINGS).teacher == "b"
    found = recommend([every[0], *(without(one, 1) for one in every[1:])], ["a", "b"], SETTINGS)
    assert (found.teacher, found.on) == ("a", ALL)
    rows = found.table.set_index(["teacher", "on"])
    one: Any = rows.loc[("b", ALL)]
    six: Any = rows.loc[("a", ALL)]
    assert (one["n_questions"], one["n_nodes"], one["p_best"]) == (1, 1, 0)
    assert (six["n_questions"], six["n_nodes"]) == (6, 6)
    assert "Measured on one question only, and so not compared: b." in found.text
    only = recommend([without(every[0], 0)], ["a", "b"], SETTINGS)
    assert only.teacher == "b"


def test_teachers_on_different_nodes_are_said_to_be_so():
    every = alike((0.3, 0.3), (0.5, 0.5), n=20)
    assert "different nodes" not in recommend(every, ["a", "b"], SETTINGS).text
    part = [without(one, 1) if place < 3 else one for place, one in enumerate(every)]
    assert "compared on different nodes" in recommend(part, ["a", "b"], SETTINGS).text
    assert "by passing rollouts, b on 34 and a on 40." in recommend(part, ["a", "b"], SETTINGS).text
    little = [without(one, 1) if place < 1 else one for place, one in enumerate(every)]
    assert "different nodes" not in recommend(little, ["a", "b"], SETTINGS).text


def test_no_interval_reaches_past_what_a_cosine_can_be():
    found = recommend(alike((0.95, 0.95), n=2, noise=0.3), ["a"], SETTINGS)
    assert found.table["high"].max() == 1.0
    assert found.table["low"].min() >= -1.0


def test_the_posteriors_part_knows_nothing_of_the_weights():
    chains = [Chain(i, scale=(1.0, 0.2), pull=(0.0, 3.0)) for i in range(4)]
    tallies = [Tally.of(crossfit_sums(one.evidence(40, 5, 6), SETTINGS), 3) for one in chains]
    fixed = [replace(one, draws=replace(one.draws, weight=one.draws.weight * 2)) for one in tallies]
    assert (
        recommend(fixed, ["t0", "t1"], SETTINGS).budget_share == recommend(tallies, ["t0", "t1"], SETTINGS).budget_share
    )
