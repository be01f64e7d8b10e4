"""Means over nodes, held against the plain aggregate of all fold-and-node pairs, draw by draw."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.crossfit import crossfit_sums
from opd_widgets.diagnosis.tables.summary import Cells, summarise
from opd_widgets.diagnosis.tables.tally import KINDS, SUMS, Tally, bin_name, bin_of
from opd_widgets.diagnosis.tables.verdict import verdicts
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.gradients import aggregate_nodes
from tests.diagnosis.exact import Toy
from tests.diagnosis.toy_evidence import rows, sampled, with_outcomes

MEANS = ("mean_cosine", "share_positive", "weighted_cosine", "mean_teacher_advantage")


def evidences():
    made = [sampled(Toy(seed, vocab=5, depth=6), 40, 1, deepest=3, question=f"q{seed}") for seed in (1, 2, 6)]
    return (with_outcomes(made[0], {3: -1, 8: -1}), *made[1:])


def by_hand(evidence, settings, keep=lambda _depth: True):
    """For each node in either fold: its readings' values and, by outcome, its weight. Slow and plain."""
    found, places = [], [row for row, one in enumerate(evidence.rollouts) if one.start == 0]
    for fold in (0, 1):
        counting = [row for number, row in enumerate(places) if number % 2 == fold]
        use = np.array([row not in counting for row in range(len(evidence.rollouts))])
        reading = Reading.of(evidence, settings, use)
        for m, prefix in enumerate(evidence.nodes.prefixes):
            if not keep(len(prefix)):
                continue
            passing = [evidence.rollouts[row] for row in counting]
            passing = [one for one in passing if tuple(one.ids[: len(prefix)].tolist()) == prefix]
            weight = [sum(one.outcome == outcome for one in passing) for outcome in (1, 0)]
            found.append((reading, m, *weight))
    return found


def slow_means(every, teacher, outcome, draws):
    """The mean over draws of the plain aggregate."""
    every = [row for row in every if row[0].n_support[row[1], teacher] >= 2]
    weight = [{"correct": right, "incorrect": wrong, "all": right + wrong}[outcome] for _, _, right, wrong in every]

    def of(values):
        return np.array([getattr(reading, values)[m, teacher] for reading, m, *_ in every])

    cosine, spread, gain, outside = of("draws"), of("success_range"), of("teacher_advantage"), of("outside")
    found = [
        aggregate_nodes(cosine[:, d], spread[:, d], gain[:, d], {outcome: weight}, outside)[outcome]
        for d in range(draws)
    ]
    middle = spread.mean(-1)
    both = aggregate_nodes((cosine * spread).mean(-1) / middle, middle, gain.mean(-1), {outcome: weight}, outside)[
        outcome
    ]
    return {
        "weight": found[0].weight,
        "mean_cosine": np.mean([one.mean_cosine for one in found]),
        "share_positive": np.mean([one.share_positive for one in found]),
        "weighted_cosine": both.weighted_cosine,
        "mean_teacher_advantage": np.mean([one.mean_teacher_advantage for one in found]),
    }


@pytest.mark.parametrize(
    "settings", [DiagnosisSettings(draws=16), DiagnosisSettings("pooled", min_visits=4, draws=16, level=0.5)]
)
def test_a_slow_loop_finds_the_same_means(settings):
    made = evidences()
    table = {(row.teacher, row.outcome): vars(row) for row in rows(Diagnosis(made, settings).summary())}
    every = [row for one in made for row in by_hand(one, settings)]
    for t, teacher in enumerate(("one", "two")):
        for outcome in ("correct", "incorrect", "all"):
            row = table[teacher, outcome]
            for name, wanted in slow_means(every, t, outcome, 16).items():
                assert row[name] == pytest.approx(wanted, abs=1e-9), (teacher, outcome, name)
            assert row["n_questions"] == 3
            assert row["interval"] == "questions and posterior"
            for name in MEANS:
                assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    assert table["one", "all"]["weight"] < sum(40 * 4 for _ in made)


def test_every_node_that_counts_is_of_one_kind():
    made = evidences()
    table = Diagnosis(made, DiagnosisSettings("pooled", min_visits=4, draws=16)).summary(by=("outcome", "teacher"))
    assert table["outcome"].tolist() == ["correct", "correct", "incorrect", "incorrect", "all", "all"]
    kinds = table[["n_nodes", "n_undefined", "n_outside", "n_few_visits"]]
    assert (kinds.iloc[4:].sum() > 0).sum() >= 3
    for row, outcomes in enumerate([{1}, {1}, {0}, {0}, {0, 1}, {0, 1}]):
        passed = {
            (one.question, prefix)
            for one in made
            for prefix in one.nodes.prefixes
            for rollout in one.rollouts
            if not rollout.start and rollout.outcome in outcomes and tuple(rollout.ids[: len(prefix)]) == prefix
        }
        assert kinds.iloc[row].sum() == len(passed)


def test_a_draw_without_a_direction_gets_the_mean_of_the_others():
    evidence, settings = evidences()[0], DiagnosisSettings(draws=16)
    crossfit = crossfit_sums(evidence, settings)
    before = Tally.of(crossfit, bins=3)
    others = np.delete(np.arange(16), 3)
    for reading in crossfit.readings:  # the missing one is the mean of the others
        reading.draws[:, :, 3] = reading.draws[:, :, others].mean(axis=-1)
    wanted = Tally.of(crossfit, bins=3)
    for reading in crossfit.readings:
        reading.draws[:, :, 3] = np.nan
    found = Tally.of(crossfit, bins=3)
    assert (found.weight == before.weight).all()
    np.testing.assert_allclose(found.sums[0], wanted.sums[0], atol=1e-12)
    share = found.sums[1].sum(axis=-1) / 16
    middle = np.array([(reading.draws[:, :, others] > 0).mean(axis=-1) for reading in crossfit.readings])
    slow = sum(
        (crossfit.weights["correct"][fold] + crossfit.weights["incorrect"][fold])
        @ np.where(verdicts(reading) == "", middle[fold], 0.0)
        for fold, reading in enumerate(crossfit.readings)
    )
    np.testing.assert_allclose(share[-1].sum(axis=-1), slow)


def test_a_depth_without_nodes_has_no_row():
    one = tally(0.5)
    two = [
        np.concatenate([np.zeros_like(part), part], axis=axis)
        for part, axis in ((one.counts, -1), (one.weight, -1), (one.inside, -1), (one.sums, -2))
    ]
    table = summarise([Tally(*two)], ["q"], ["t"], DiagnosisSettings(draws=50), ("teacher", "depth"))
    assert table["depth"].tolist() == ["1"]
    assert table["mean_cosine"].tolist() == [0.5]


def test_by_question_and_by_depth_are_the_parts_of_the_whole():
    made, settings = evidences(), DiagnosisSettings(draws=16)
    result = Diagnosis(made, settings)
    by_question = result.summary(by=("question", "teacher"))
    assert by_question["question"].tolist() == ["q1", "q1", "q2", "q2", "q6", "q6"]
    assert set(by_question["interval"]) == {"posterior only: one question"}
    row = by_question.iloc[2]
    assert row["mean_cosine"] == pytest.approx(slow_means(by_hand(made[1], settings), 0, "all", 16)["mean_cosine"])
    assert result.summary()["outcome"].tolist() == ["correct", "incorrect", "all"] * 2
    depths = result.summary(by=("teacher", "depth"))
    assert depths["depth"].tolist() == ["0", "1", "2-3"] * 2
    every = [row for one in made for row in by_hand(one, settings, lambda depth: depth in {2, 3})]
    for name, wanted in slow_means(every, 1, "all", 16).items():
        assert depths.iloc[5][name] == pytest.approx(wanted, abs=1e-9)
    whole = result.summary(by=("teacher",))
    assert depths.query("teacher == 'two'")["n_nodes"].sum() == whole.iloc[1]["n_nodes"]
    assert result.summary(by=("teacher", "outcome", "depth"))["weight"].sum() == 2 * depths["weight"].sum()


def test_one_questions_interval_is_that_of_either_reading_in_turn():
    evidence, settings = evidences()[1], DiagnosisSettings(draws=100, level=0.8)
    row = rows(Diagnosis((evidence,), settings).summary(by=("teacher",)))[1]
    crossfit = crossfit_sums(evidence, settings)
    weight, around = crossfit.total[0] + crossfit.total[1], np.zeros(100)
    for fold, reading in enumerate(crossfit.readings):
        counted = verdicts(reading)[:, 1] == ""
        total = weight[counted] @ reading.draws[counted, 1]
        around[fold::2] = (total - total.mean())[fold::2]
    wanted = np.quantile(around - around.mean(), [0.1, 0.9]) / row.weight
    found = [row.mean_cosine_low - row.mean_cosine, row.mean_cosine_high - row.mean_cosine]
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert wanted[1] > 0.02
    assert row.interval == "posterior only: one question"


def tally(cosine, weight=1.0, sd=0.0, seed=0):
    """One question whose mean cosine is as given, with a posterior of some width; one teacher."""
    shape, draws = (3, 1, 1), 50
    noise = np.random.default_rng(seed).normal(0, sd, draws) if sd else np.zeros(draws)
    sums = np.zeros((len(SUMS), *shape, draws))
    sums[0] = weight * (cosine + noise - noise.mean())
    sums[2], sums[3], sums[1] = sums[0], weight, weight * (cosine > 0)
    full = np.full(shape, weight)
    return Tally(np.ones((len(KINDS), *shape), np.int64), full, full, sums)


def interval_of(tallies, **settings):
    names = [f"q{number}" for number in range(len(tallies))]
    row = summarise(tallies, names, ["t"], DiagnosisSettings(draws=50, **settings)).iloc[-1]
    return row["mean_cosine"], row["mean_cosine_low"], row["mean_cosine_high"]


def test_the_interval_over_questions_is_that_of_a_mean():
    values = np.random.default_rng(0).normal(0.1, 0.2, 200)
    middle, low, high = interval_of([tally(value) for value in values])
    assert middle == pytest.approx(values.mean())
    half = 1.645 * values.std() / np.sqrt(200)
    assert [low, high] == pytest.approx([middle - half, middle + half], abs=0.15 * half)


def test_both_uncertainties_are_inside():
    values = np.random.default_rng(1).normal(0.0, 0.2, 100)
    spread = [tally(value, sd=2.0 * 0.2, seed=seed) for seed, value in enumerate(values)]
    middle, low, high = interval_of(spread)
    # a question drawn twice brings the same draw twice: sum of squares of how often, 2 - 1/Q a question
    only_questions = 1.645 * values.std() / 10
    assert (high - low) / 2 == pytest.approx(np.sqrt(1 + 2 * 4) * only_questions, rel=0.2)
    _, low, high = interval_of([tally(0.3, sd=0.5, seed=seed) for seed in range(100)])
    assert (high - low) / 2 == pytest.approx(1.645 * np.sqrt(2) * 0.05, rel=0.3)
    assert interval_of(spread) == (middle, *interval_of(spread)[1:])
    assert interval_of(spread, seed=1)[1] != interval_of(spread)[1]


def test_questions_weigh_by_their_rollouts():
    made = [tally(1.0, weight=3.0), tally(-1.0, weight=1.0)]
    assert interval_of(made)[0] == pytest.approx(0.5)
    assert [one.means()["mean_cosine"][0, 0, 0, 0] for one in Cells.of(made, ("teacher",)).split()] == [1, -1]


def test_depth_bins():
    assert [bin_of(depth) for depth in (0, 1, 2, 3, 4, 7, 8)] == [0, 1, 2, 2, 3, 3, 4]
    assert [bin_name(index) for index in range(5)] == ["0", "1", "2-3", "4-7", "8-15"]


@pytest.mark.parametrize("by", ["teacher", ("outcome",), ("teacher", "teacher"), ("teacher", "node")])
def test_rows_by_something_else_are_refused(by):
    with pytest.raises(InvalidInputError, match="expected 'teacher' and any of 'outcome', 'question' and 'depth'"):
        Diagnosis(()).summary(by=by)
