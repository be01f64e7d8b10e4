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
    "student_surprisal", "teacher_surprisal", "power_advantage", "soft_log_advantage",
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


def test_surprisal_is_zero_for_a_certain_token_and_infinite_for_an_impossible_one():
    values = np.array([0.0, -2.0, -np.inf, np.nan])
    measured = Measured(np.ones(4, bool), student_logprob=values, teacher_logprob=values)
    for name, per_teacher in (("student_surprisal", False), ("teacher_surprisal", True)):
        found = compute_signals(measured, per_teacher=per_teacher)[name]
        np.testing.assert_array_equal(found, np.array([0, 2, np.inf, np.nan], np.float32))
        assert not np.signbit(found[0])
        assert (get_signal(name).scale, get_signal(name).low, get_signal(name).high) == (
            "sequential", "certain", "improbable",
        )  # fmt: skip
    assert not {"student_logprob", "teacher_logprob"} & set(REGISTRY)


def test_a_signal_that_is_never_positive_takes_no_diverging_scale():
    s = np.log([0.5, 0.25, 0.25])
    measured = Measured(np.ones(3, bool), student_logprob=s, teacher_logprob=s[::-1])
    for per_teacher in (True, False):
        for name, values in compute_signals(measured, per_teacher=per_teacher).items():
            if get_signal(name).scale != "diverging":
                assert (values >= 0).all()
            else:
                assert (values > 0).any()


def test_power_and_soft_log_advantage_by_hand():
    s, t = np.log([0.25, 1.0]), np.array([np.log(0.81), -np.inf])
    measured = Measured(np.ones(2, bool), student_logprob=s, teacher_logprob=t)
    computed = compute_signals(measured, SignalSettings(power=0.5), per_teacher=True)
    np.testing.assert_allclose(computed["power_advantage"], [0.9 - 0.5, 0 - 1], rtol=1e-6)
    np.testing.assert_allclose(computed["soft_log_advantage"], [np.log1p(np.log(0.81 / 0.25)), -np.inf], rtol=1e-6)
    for name in ("power_advantage", "soft_log_advantage"):
        assert "our reading" in get_signal(name).source


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("hint_contrast", "opd.contrast("),
        ("context_difference", "opd.contrast("),
        ("reward_anchored_weight", "reward"),
        ("extrapolated_advantage", "base model"),
        ("teacher_free_baseline", "not been checked"),
    ],
)
def test_a_signal_that_scoring_cannot_give_says_what_it_lacks(name, lacks):
    assert lacks in (get_signal(name).unmet(Measured(np.ones(0, bool))) or "")


@pytest.mark.parametrize(
    "bad",
    [
        {"skew": 0}, {"skew": 1}, {"gamma": -0.1}, {"gamma": 1.1}, {"clip": 0}, {"overlap_k": 0}, {"overlap_k": 1.5},
        {"position_gain": -1}, {"power": 0}, {"beta": float("nan")}, {"skew": float("nan")}, {"clip": "much"},
        {"beta": None}, {"overlap_k": float("inf")},
    ],
)  # fmt: skip
def test_a_setting_outside_its_range_is_named(bad):
    (name,) = bad
    with pytest.raises(InvalidInputError, match=name):
        SignalSettings(**bad)


def test_settings_at_the_edge_of_their_range_are_plain_numbers():
    made = SignalSettings(gamma=1, position_gain=0, overlap_k=np.int64(3), clip=np.float32(0.5))
    assert {type(value) for value in made.to_dict().values()} == {int, float}


def test_clipped_kl_says_that_it_can_be_negative():
    assert "below 0" in get_signal("clipped_kl").label


def test_unknown_name_and_bad_setting():
    with pytest.raises(MissingSignalError, match="no signal 'kl'; there are advantage"):
        get_signal("kl")
    with pytest.raises(InvalidInputError, match="reverse_kl"):
        SignalSettings(beta=1.0)


def test_no_signal_of_size_is_called_useful():
    for signal in REGISTRY.values():
        if signal.tier != "L4":
            assert not any(word in f"{signal.low} {signal.high}" for word in ("help", "useful", "hurt", "good"))
