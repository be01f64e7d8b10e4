"""Correlations of alignment, against scipy's own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.bootstrap import resampled
from opd_widgets.diagnosis.tables.correlations import MEASURES, correlations
from opd_widgets.diagnosis.tables.verdict import verdicts
from tests.diagnosis.chains import Chain

SETTINGS = DiagnosisSettings(draws=25)


@pytest.fixture(scope="module")
def readings():
    chains = [Chain(seed, scale=(1.0, 0.2), pull=(0.0, 3.0)) for seed in range(6)]
    return [Reading.of(one.evidence(30, 8, 8), SETTINGS) for one in chains]


def nodes_of(reading, t):
    """Alignment draws [N, D], and each measure [N, D], of the nodes that count."""
    counted = verdicts(reading)[:, t] == ""
    nodes, draws = reading.evidence.nodes, reading.draws[counted, t]
    measured = {name: np.zeros_like(draws) for name in MEASURES}
    measured["student_entropy"] += nodes.student_entropy[counted, None]
    measured["abs_teacher_advantage"] += abs(reading.teacher_advantage[counted, t])
    for name in ("reverse_kl", "forward_kl", "jsd", "teacher_entropy"):
        measured[name] += getattr(nodes, name)[counted, t, None]
    return draws, measured


def test_each_is_the_mean_over_draws(readings):
    table = correlations(readings, SETTINGS).set_index(["teacher", "measure"])
    assert len(table) == 2 * len(MEASURES)
    for t, teacher in enumerate(("t0", "t1")):
        parts = [nodes_of(one, t) for one in readings]
        draws = np.concatenate([one for one, _ in parts])
        assert not np.isnan(draws).any()
        for name in MEASURES:
            value = np.concatenate([measured[name] for _, measured in parts])
            row = table.loc[teacher, name]
            assert row.n_nodes == len(draws) > 10
            each = [spearmanr(draws[:, d], value[:, d]).statistic for d in range(25)]
            assert row.spearman == pytest.approx(np.mean(each))
            each = [pearsonr(draws[:, d], value[:, d]).statistic for d in range(25)]
            assert row.pearson == pytest.approx(np.mean(each))


def test_the_interval_is_over_questions_and_draws(readings):
    row = correlations(readings, SETTINGS).set_index(["teacher", "measure"]).loc["t1", "reverse_kl"]
    parts = [(draws, measured["reverse_kl"]) for draws, measured in (nodes_of(one, 1) for one in readings)]
    parts = [one for one in parts if len(one[0])]
    found = []
    for draw, replicates in enumerate(resampled(len(parts), 25, SETTINGS.seed, 200).astype(int)):
        for times in replicates:
            taken = [part for part, n in zip(parts, times, strict=True) for _ in range(n)]
            cosine = np.concatenate([one[:, draw] for one, _ in taken])
            found.append(spearmanr(cosine, np.concatenate([value[:, draw] for _, value in taken])).statistic)
    assert (row.spearman_low, row.spearman_high) == pytest.approx(tuple(np.quantile(found, [0.05, 0.95])))
    assert row.n_questions == len(parts)


def test_one_question_has_no_interval_and_none_has_nothing(readings):
    table = correlations(readings[:1], SETTINGS)
    assert table.spearman.notna().any()
    assert table.spearman_low.isna().all()
    assert correlations([], SETTINGS).columns.tolist() == table.columns.tolist()
    assert "not" in table.attrs["label"]


def test_a_measure_that_is_not_known_is_left_out(readings):
    nodes = readings[0].evidence.nodes
    before = nodes.reverse_kl.copy()
    try:
        nodes.reverse_kl[:] = np.nan
        table = correlations(readings[:1], SETTINGS).set_index(["teacher", "measure"])
    finally:
        nodes.reverse_kl[:] = before
    assert table.loc["t0", "reverse_kl"].n_nodes == 0
    assert np.isnan(table.loc["t0", "reverse_kl"].spearman)
    assert table.loc["t0", "jsd"].n_nodes > 0


def test_with_one_draw_questions_still_make_an_interval(readings):
    settings = DiagnosisSettings(draws=1)
    table = correlations([Reading.of(one.evidence, settings) for one in readings], settings)
    known = table.dropna()
    assert len(known) == len(table)
    for name in ("spearman", "pearson"):
        assert (known[f"{name}_low"] < known[name]).all()
        assert (known[name] < known[f"{name}_high"]).all()
