"""Cross-fitting, by a slow loop over rollouts."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.crossfit import crossfit_sums, halves, through_nodes
from tests.diagnosis.chains import Chain

SETTINGS = DiagnosisSettings(estimator="on_policy", min_visits=2, draws=20)


@pytest.fixture(scope="module")
def evidence():
    whole = Chain(3).evidence(31, 4, 6)
    return Evidence("q", whole.nodes, tuple(np.random.default_rng(0).permutation(np.array(whole.rollouts, object))))


def test_halves_share_the_initial_rollouts_and_nothing_else(evidence):
    half = halves(evidence)
    assert (half.sum(axis=0) == evidence.initial).all()
    assert half.sum(axis=1).tolist() == [16, 15]


def test_weights_count_rollouts_of_an_outcome_through_each_node(evidence):
    found = crossfit_sums(evidence, SETTINGS)
    place = 0
    expected = {name: np.zeros((2, len(evidence.nodes))) for name in ("correct", "incorrect")}
    for drawn in evidence.rollouts:
        if drawn.start:
            continue
        for node, prefix in enumerate(evidence.nodes.prefixes):
            if tuple(drawn.ids[: len(prefix)].tolist()) == prefix:
                expected["correct" if drawn.outcome else "incorrect"][place % 2, node] += 1
        place += 1
    for name, weights in expected.items():
        assert (found.weights[name] == weights).all()
        assert weights.sum() > 0
    assert found.total.sum(axis=0).tolist() == through_nodes(evidence, evidence.initial).tolist()
    assert found.teachers == ("t0",)


def test_each_fold_is_read_without_the_half_that_weighs_it(evidence):
    found = crossfit_sums(evidence, SETTINGS)
    for fold, half in enumerate(halves(evidence)):
        rest = tuple(drawn for drawn, taken in zip(evidence.rollouts, half, strict=True) if not taken)
        alone = Reading.of(Evidence("q", evidence.nodes, rest), SETTINGS)
        assert (found.readings[fold].fit.visits == alone.fit.visits).all()
        np.testing.assert_allclose(found.readings[fold].fit.success, alone.fit.success)
