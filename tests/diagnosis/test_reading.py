"""What a question's nodes say: masses by hand, silence, and measures against one node at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.nodes import Nodes
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.settings import N_SIG, DiagnosisSettings
from opd_widgets.measures import gradients
from tests.diagnosis.chains import Chain
from tests.diagnosis.handmade import evidence, rollout

ROWS = {
    (): {1: (0.6, 0.3), 2: (0.3, 0.1), 3: (0.05, 0.5)},
    (1,): {1: (0.5, 0.2), 2: (0.5, 0.8)},
    (2,): {1: (0.5, 0.2), 2: (0.5, 0.8)},
}
ROLLOUTS = [rollout((1, 1, 1), 1), rollout((1, 2, 1), 0), rollout((2, 1, 1), 0), rollout((2, 2, 1), 0)]


def test_masses_and_sizes_by_hand():
    reading = Reading.of(evidence(ROWS, ROLLOUTS), DiagnosisSettings())
    np.testing.assert_array_equal(reading.kept[:, 0], [[1, 1, 0], [1, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(reading.n_support[:, 0], [2, 2, 2])
    np.testing.assert_allclose(reading.student_mass[:, 0], [0.9, 1, 1])
    np.testing.assert_allclose(reading.teacher_mass[:, 0], [0.4, 1, 1])
    np.testing.assert_array_equal(reading.outside[:, 0], [True, False, False])


@pytest.mark.parametrize("estimator", ["backup", "on_policy", "pooled"])
def test_a_node_without_two_outcomes_is_silent(estimator):
    reading = Reading.of(evidence(ROWS, ROLLOUTS), DiagnosisSettings(estimator=estimator, min_visits=1))
    np.testing.assert_array_equal(reading.silent[:, 0], [False, False, True])
    assert np.isnan(reading.draws[2]).all()
    assert np.isnan(reading.plug_in[2]).all()
    assert not np.isnan(reading.draws[1]).all()
    assert reading.plug_in[1, 0] == -1  # the 1 is right and the teacher wants the 2


def test_rollouts_that_may_not_count_can_silence_a_node():
    use = np.array([True, False, True, True])
    reading = Reading.of(evidence(ROWS, ROLLOUTS), DiagnosisSettings(), use)
    np.testing.assert_array_equal(reading.silent[:, 0], [False, True, True])
    np.testing.assert_array_equal(reading.n_support[:, 0], [2, 1, 2])


def test_with_one_token_there_is_nothing_to_say():
    reading = Reading.of(evidence(ROWS, ROLLOUTS[:1]), DiagnosisSettings())
    assert (reading.n_support <= 1).all()
    for values in (reading.draws, reading.teacher_advantage, reading.success_range):
        assert np.isnan(values).all()


def test_few_visits_are_no_support_where_many_are_asked():
    found = Chain(0).evidence(initial=60, forced=3)
    assert (Reading.of(found, DiagnosisSettings(estimator="pooled")).fit.visits < N_SIG).any()
    for estimator, n_sig in (("pooled", N_SIG), ("on_policy", N_SIG), ("backup", 1)):
        reading = Reading.of(found, DiagnosisSettings(estimator=estimator))
        enough = (reading.fit.visits >= n_sig) | reading.fit.known
        np.testing.assert_array_equal(reading.kept, np.broadcast_to(enough[:, None], reading.kept.shape))


def test_measures_equal_those_of_one_node():
    found = Chain(3, scale=(1.0, 2.0), pull=(0.0, 1.0)).evidence(initial=80, forced=2)
    reading = Reading.of(found, DiagnosisSettings(draws=20, loss="forward_kl"))
    nodes, checked = found.nodes, 0
    for m, t, d in np.ndindex(*reading.draws.shape):
        at = np.flatnonzero(reading.kept[m, t])
        if len(at) < 2 or reading.silent[m, t]:
            continue
        success = reading.fit.posterior[m, :, d].astype(np.float64).clip(0, 1)
        one = gradients.node_alignment(nodes.student_logp[m], nodes.teacher_logp[m, t], success, "forward_kl", at)
        assert reading.draws[m, t, d] == pytest.approx(one.alignment, abs=1e-6, nan_ok=True)
        assert reading.teacher_advantage[m, t, d] == pytest.approx(one.teacher_advantage, abs=1e-6)
        assert reading.success_range[m, t, d] == pytest.approx(one.success_range, abs=1e-6)
        checked += 1
    assert checked > 100


def test_the_same_seed_reads_the_same():
    found = Chain(3, pull=(1.0,)).evidence(initial=80, forced=2)
    one, same, other = (Reading.of(found, DiagnosisSettings(seed=seed)).draws for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("rows", [{}, {(): {}, (1,): {}}], ids=["no node", "no candidate"])
def test_where_there_is_nothing_to_choose_nothing_is_said(rows):
    nothing = np.zeros((len(rows), 0))
    of_teacher = np.zeros((len(rows), 1))
    nodes = Nodes(
        tuple(rows), nothing, nothing, ("t0",), np.zeros((len(rows), 1, 0)), of_teacher[:, 0], *[of_teacher] * 4
    )
    reading = Reading.of(Evidence("q", nodes, tuple(ROLLOUTS)), DiagnosisSettings(draws=7))
    for values in (reading.draws, reading.teacher_advantage, reading.success_range):
        assert values.shape == (len(rows), 1, 7)
        assert np.isnan(values).all()
    assert reading.plug_in.shape == (len(rows), 1)
    assert np.isnan(reading.plug_in).all()


def test_a_reading_of_many_nodes_takes_little_memory():
    """Nodes by teachers by candidates by draws are never held at once: here 200 MB a copy."""
    wide = dict.fromkeys(range(40), (1 / 40,) * 5)
    found = evidence({(node,): wide for node in range(400)}, [rollout((0, 1, 1), 1), rollout((0, 2, 1), 0)])
    reading = Reading.of(found, DiagnosisSettings(draws=400))
    tracemalloc.start()
    try:
        assert reading.success_range.shape == (400, 4, 400)
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()
