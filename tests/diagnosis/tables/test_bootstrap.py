"""Replicates against explicit sums."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.tables.bootstrap import resampled, totals


def test_every_replicate_draws_as_many_questions_as_there_are():
    times = resampled(7, 30, seed=0)
    assert times.shape == (30, 34, 7)
    assert (times.sum(axis=-1) == 7).all()
    assert (times == np.round(times)).all()
    assert times.mean() == pytest.approx(1)
    assert times.var() == pytest.approx(6 / 7, rel=0.05)  # of a binomial with 7 tries at 1/7
    assert (resampled(7, 30, seed=0) == times).all()
    assert (resampled(7, 30, seed=1) != times).any()


def test_a_replicate_takes_one_draw_of_all_its_questions():
    rng = np.random.default_rng(0)
    times, values = resampled(3, 5, seed=2, replicates=20), rng.normal(size=(3, 2, 4, 5))
    found = totals(times, values)
    assert found.shape == (2, 4, 20)
    for d in range(5):
        for n in range(4):
            wanted = sum(times[d, n, q] * values[q, :, :, d] for q in range(3))
            np.testing.assert_allclose(found[..., d * 4 + n], wanted)
    fixed = totals(times, values[..., :1])
    np.testing.assert_allclose(fixed[1, 2, 7], times[1, 3] @ values[:, 1, 2, 0])
