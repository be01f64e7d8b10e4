"""Means over nodes, held against the plain aggregate of all fold-and-node pairs, draw by draw."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.crossfit import crossfit_sums, halves, passing, rollout_weights
from opd_widgets.diagnosis.tables.summary import Cells, summarise
from opd_widgets.diagnosis.tables.tally import KINDS, SUMS, Aggregate, Tally, bin_name, bin_of
from opd_widgets.diagnosis.tables.verdict import verdicts
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.gradients import aggregate_nodes
from tests.diagnosis.exact import Toy
from tests.diagnosis.handmade import evidence as evidence_of
from tests.diagnosis.handmade import rollout
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
    assert (found.middle.weight == before.middle.weight).all()
    assert (found.draws.weight == before.draws.weight).all()
    np.testing.assert_allclose(found.draws.sums[0], wanted.draws.sums[0], atol=1e-12)
    share = found.middle.sums[1, ..., 0]
    middle = np.array([(reading.draws[:, :, others] > 0).mean(axis=-1) for reading in crossfit.readings])
    slow = sum(
        (crossfit.weights["correct"][fold] + crossfit.weights["incorrect"][fold])
        @ np.where(verdicts(reading) == "", middle[fold], 0.0)
        for fold, reading in enumerate(crossfit.readings)
    )
    np.testing.assert_allclose(share[-1].sum(axis=-1), slow)


def test_a_depth_without_nodes_has_no_row():
    one = tally(0.5)

    def second(part, axis):
        return np.concatenate([np.zeros_like(part), part], axis=axis)

    middle, draws = (
        Aggregate(*(second(part, -2) for part in (given.weight, given.inside, given.sums)))
        for given in (one.middle, one.draws)
    )
    two = Tally(second(one.counts, -1), middle, draws, second(one.posterior, -2))
    table = summarise([two], ["q"], ["t"], DiagnosisSettings(draws=50), ("teacher", "depth"))
    assert table["depth"].tolist() == ["1"]
    assert table["mean_cosine"].tolist() == [0.5]


def test_by_question_and_by_depth_are_the_parts_of_the_whole():
    made, settings = evidences(), DiagnosisSettings(draws=16)
    result = Diagnosis(made, settings)
    by_question = result.summary(by=("question", "teacher"))
    assert by_question["question"].tolist() == ["q1", "q1", "q2", "q2", "q6", "q6"]
    assert set(by_question["interval"]) == {"posterior and rollouts: one question"}
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


def test_one_questions_interval_is_of_either_reading_in_turn_and_of_weights_anew():
    evidence, settings = evidences()[1], DiagnosisSettings(draws=100, level=0.8)
    row = rows(Diagnosis((evidence,), settings).summary(by=("teacher",)))[1]
    crossfit, made = crossfit_sums(evidence, settings), []
    again = crossfit.reweighed["correct"] + crossfit.reweighed["incorrect"]
    counted = [verdicts(reading)[:, 1] == "" for reading in crossfit.readings]
    values = [np.where(at[:, None], one.draws[:, 1], 0) for at, one in zip(counted, crossfit.readings, strict=True)]
    around = np.zeros_like(values[0])
    for fold, one in enumerate(values):
        around[:, fold::2] = (one - one.mean(axis=-1, keepdims=True))[:, fold::2]
    around -= around.mean(axis=-1, keepdims=True)
    for d in range(100):  # plain: each fold's nodes around its own mean, and the weights of that draw
        parts = [
            (again[f, m, d], values[f][m].mean() + around[m, d], counted[f][m])
            for f in (0, 1)
            for m in range(len(around))
        ]
        made.append(sum(w * value for w, value, _ in parts) / sum(w for w, _, counts in parts if counts))
    wanted = np.quantile(np.clip(made, -1, 1), [0.1, 0.9])
    np.testing.assert_allclose([row.mean_cosine_low, row.mean_cosine_high], wanted, atol=1e-9)
    assert wanted[1] - wanted[0] > 0.05
    assert row.interval == "posterior and rollouts: one question"


def decided_at_the_second(seed, size):
    """Rollouts of two tokens, the second decides: every cosine is 1 or -1 for certain, and how often is chance.

    The student's first token has (.5, .3, .2), and after the second of these the teacher points the wrong way, so that
    the exact mean over the three nodes behind it is .5 - .3 + .2 = 0.4.
    """
    first, second = (0.5, 0.3, 0.2), (0.5, 0.6, 0.4)
    rng = np.random.default_rng(seed)
    table = {(k,): {0: (p, 0.2 if k == 1 else 0.9), 1: (1 - p, 0.8 if k == 1 else 0.1)} for k, p in enumerate(second)}
    ways = [(int(rng.choice(3, p=first)), rng.random()) for _ in range(size)]
    every = [(k, int(u >= second[k])) for k, u in ways]
    made = [
        rollout(ids, 1 - ids[1], logp=np.log([first[ids[0]], (second[ids[0]], 1 - second[ids[0]])[ids[1]]]))
        for ids in every
    ]
    return evidence_of(table, made)


def test_how_often_rollouts_pass_a_node_is_in_the_interval():
    held, without = 0, 0
    for seed in range(60):
        result = Diagnosis((decided_at_the_second(seed, 60),), DiagnosisSettings(draws=200))
        row = rows(result.summary(by=("teacher",)))[0]
        held += row.mean_cosine_low <= 0.4 <= row.mean_cosine_high
        tally_of = result._tallies[0]
        only = tally_of.posterior[2, 0].sum(axis=0) / tally_of.middle.weight[2, 0].sum()
        low, high = np.quantile(only, [0.05, 0.95])
        without += low <= 0.4 <= high
    assert without < 12  # the posterior alone: all values are certain, and only the weights are not
    assert 48 <= held <= 59  # of 60 at a level of 90%


def test_an_interval_over_a_few_questions_holds_the_truth():
    held = 0
    for seed in range(40):
        made = [decided_at_the_second(100 + 5 * seed + place, 60) for place in range(5)]
        made = [Evidence(f"q{place}", one.nodes, one.rollouts) for place, one in enumerate(made)]
        row = rows(Diagnosis(tuple(made), DiagnosisSettings(seed=seed)).summary(by=("teacher",)))[0]
        held += row.mean_cosine_low <= 0.4 <= row.mean_cosine_high
    assert held >= 34  # of 40 at a level of 90%: rather wide than narrow where questions are alike


def test_weights_of_rollouts_are_uniform_dirichlet():
    drawn = rollout_weights(8, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.sum(axis=0), 8)
    np.testing.assert_allclose(drawn.mean(axis=1), 1, atol=0.03)
    # Dirichlet(1, ..., 1) of 8 parts, times 8: variance (8 - 1) / (8 + 1)
    np.testing.assert_allclose(drawn.var(axis=1), 7 / 9, atol=0.04)
    assert rollout_weights(0, 5, np.random.default_rng(0)).shape == (0, 5)


def test_reweighed_nodes_by_a_slow_loop():
    evidence, settings = evidences()[0], DiagnosisSettings(draws=7)
    found, initial = crossfit_sums(evidence, settings), [one for one in evidence.rollouts if not one.start]
    for fold in (0, 1):
        own = initial[fold::2]
        member = passing(evidence, halves(evidence)[fold])
        slow = [[tuple(one.ids[: len(p)].tolist()) == p for p in evidence.nodes.prefixes] for one in own]
        assert member.tolist() == slow
        for name, outcome in (("correct", 1), ("incorrect", 0)):
            plain = np.array([one.outcome == outcome for one in own], int) @ member
            assert (found.weights[name][fold] == plain).all()
            assert ((found.reweighed[name][fold] > 0) == (plain > 0)[:, None]).all()


def tally(cosine, weight=1.0, sd=0.0, seed=0):
    """One question whose mean cosine is as given, with a posterior of some width; one teacher."""
    shape, draws = (3, 1, 1), 50
    noise = np.random.default_rng(seed).normal(0, sd, draws) if sd else np.zeros(draws)
    sums = np.zeros((len(SUMS), *shape, draws))
    sums[0] = weight * (cosine + noise - noise.mean())
    sums[2], sums[3], sums[1] = sums[0], weight, weight * (cosine > 0)
    full = np.full((*shape, 1), weight)
    middle = Aggregate(full, full, sums.mean(axis=-1, keepdims=True))
    return Tally(np.ones((len(KINDS), *shape), np.int64), middle, Aggregate(full, full, sums), sums[0])


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
