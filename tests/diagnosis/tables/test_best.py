"""Who is best, and how sure: joint draws counted one by one."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.best import ranked
from opd_widgets.errors import InvalidInputError
from tests.diagnosis.exact import Toy
from tests.diagnosis.toy_evidence import rows, sampled

NAN = float("nan")


def test_joint_draws_by_hand():
    draws = np.array([[[0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, -0.9], [NAN, NAN, NAN, NAN]]])
    found = {name: values[0] for name, values in ranked(draws, ["a", "b", "c"], DiagnosisSettings(), "x").items()}
    assert (found["teacher"], found["runner_up"], found["n_teachers"], found["n_tied"]) == ("a", "b", 2, 1)
    assert (found["x"], found["x_runner_up"]) == pytest.approx((0.25, 0.0))
    assert found["probability"] == pytest.approx(0.25)  # the larger mean, and yet the larger in one draw of four
    assert found["lead"] == pytest.approx(0.25)
    assert (found["lead_low"], found["lead_high"]) == pytest.approx(np.quantile([-0.1, -0.1, -0.1, 1.3], [0.05, 0.95]))


def test_equal_teachers_share_what_they_are_sure_of():
    draws = np.array([[[1.0, 1.0, -1.0, 1.0]] * 3 + [[-1.0, -1.0, 1.0, -1.0]]])
    found = ranked(draws, ["a", "b", "c", "d"], DiagnosisSettings(), "x")
    assert found["teacher"][0] == "a"
    assert found["n_tied"][0] == 3
    assert found["probability"][0] == pytest.approx(3 / 4 / 3)
    rounding = draws + np.array([0.0, -1e-12, -2e-16, 0.0])[None, :, None]
    assert ranked(rounding, ["a", "b", "c", "d"], DiagnosisSettings(), "x")["probability"][0] == pytest.approx(1 / 4)


def test_one_teacher_and_none():
    found = ranked(np.array([[[0.1, 0.2]], [[NAN, NAN]]]), ["a"], DiagnosisSettings(), "x")
    assert found["teacher"].tolist() == ["a", ""]
    assert found["runner_up"].tolist() == ["", ""]
    np.testing.assert_array_equal(found["probability"], [1.0, NAN])
    np.testing.assert_array_equal(found["lead"], [NAN, NAN])
    assert found["place"].tolist() == [0, -1]


def test_a_questions_winner_has_the_largest_mean_of_the_summary():
    teachers = {"one": 1, "two": 2, "three": 3}
    made = tuple(
        sampled(Toy(seed, depth=6), 30, 1, deepest=2, teachers=teachers, question=f"q{seed}") for seed in range(4)
    )
    result = Diagnosis(made, DiagnosisSettings(draws=60))
    best = result.best_teacher()
    summary = result.summary(by=("question", "teacher")).pivot_table("mean_cosine", "question", "teacher")
    assert best["question"].tolist() == [f"q{seed}" for seed in range(4)]
    assert best["teacher"].tolist() == summary.idxmax(axis=1).tolist()
    np.testing.assert_allclose(best["mean_cosine"], summary.max(axis=1), atol=1e-9)
    np.testing.assert_allclose(best["lead"], best["mean_cosine"] - best["mean_cosine_runner_up"], atol=1e-9)
    assert (best["n_nodes"] > 0).all()


def test_a_nodes_winner_by_a_slow_loop():
    result = Diagnosis((sampled(Toy(7, vocab=5, depth=6), 30, 1, deepest=2),), DiagnosisSettings(draws=60))
    best, draws = result.best_teacher(by="node"), result.readings[0].draws
    scored = [row for row in rows(result.nodes) if not row.verdict]
    assert best["node"].tolist() == sorted({row.node for row in scored})
    assert (best["probability"] < 0.9).any()
    for row in rows(best):
        here = [one for one in scored if one.node == row.node]
        winner = max(here, key=lambda one: one.alignment_mean)
        assert (row.n_teachers, row.depth) == (len(here), winner.depth)
        assert row.alignment == pytest.approx(winner.alignment_mean, abs=1e-9)
        if row.n_teachers == 2 and row.n_tied == 1:
            assert row.teacher == winner.teacher
            mine = ("one", "two").index(row.teacher)
            own, other = draws[row.node, mine], draws[row.node, 1 - mine]
            both = ~np.isnan(own)
            credit = np.where(np.abs(own - other) < 1e-9, 0.5, own > other)[both]
            assert row.probability == pytest.approx(credit.mean())


def test_another_by_is_refused():
    with pytest.raises(InvalidInputError, match="found by='token', expected 'question' or 'node'"):
        Diagnosis(()).best_teacher(by="token")
