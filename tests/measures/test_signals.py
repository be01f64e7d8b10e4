"""The registry: complete, consistent, honest about what it lacks."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from opd_widgets.errors import InvalidInputError, MissingSignalError
from opd_widgets.measures.measured import Measured
from opd_widgets.measures.signal import SignalSettings
from opd_widgets.measures.signals import REGISTRY, compute_signals, get_signal

WANTED = {
    "advantage", "k2", "k3", "reverse_kl", "forward_kl", "jsd", "student_entropy", "teacher_entropy", "student_rank",
    "teacher_rank", "topk_overlap", "teacher_mass", "position_weighted", "baseline_subtracted", "entropy_divergence",
}  # fmt: skip


def test_the_signals_of_tiers_l1_to_l3_are_there():
    assert set(REGISTRY) >= WANTED


def test_every_need_is_something_that_is_measured():
    known = {field.name for field in fields(Measured)}
    for signal in REGISTRY.values():
        assert set(signal.needs) <= known
        assert (signal.compute is None) == bool(signal.reason)
        assert signal.low
        assert signal.high
        assert signal.formula


def test_sampled_logprobs_alone_give_the_l1_signals_and_nothing_else():
    values = np.array([-1.0, -2.0])
    measured = Measured(np.ones(2, bool), student_logprob=values, teacher_logprob=values - 1)
    computed = compute_signals(measured, per_teacher=True)
    l1 = {name for name, signal in REGISTRY.items() if signal.tier == "L1" and signal.per_teacher}
    assert set(computed) == l1
    np.testing.assert_allclose(computed["advantage"], -1)
    assert "reverse kl" in (REGISTRY["reverse_kl"].unmet(measured) or "")


def test_alignment_is_not_estimated_by_scoring():
    assert "targeted rollouts" in (get_signal("alignment").unmet(Measured(np.ones(0, bool))) or "")


def test_baseline_subtracted_is_the_advantage_less_its_mean():
    s, t = np.log([0.7, 0.3]), np.log([0.2, 0.8])
    kl = np.full(2, (np.exp(s) * (s - t)).sum())
    measured = Measured(np.ones(2, bool), student_logprob=s, teacher_logprob=t, reverse_kl=kl)
    values = compute_signals(measured, per_teacher=True)["baseline_subtracted"]
    assert (np.exp(s) * values).sum() == pytest.approx(0, abs=1e-6)


def test_unknown_name_and_bad_setting():
    with pytest.raises(MissingSignalError, match="no signal 'kl'; there are advantage"):
        get_signal("kl")
    with pytest.raises(InvalidInputError, match="reverse_kl"):
        SignalSettings(beta=1.0)


def test_no_signal_of_size_is_called_useful():
    for signal in REGISTRY.values():
        if signal.tier != "L4":
            assert not any(word in f"{signal.low} {signal.high}" for word in ("help", "useful", "hurt", "good"))
