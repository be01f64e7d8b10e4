"""Divergences against hand-worked cases, definitions in float64, and another library's arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures import divergence as d

LOGITS = arrays(np.float64, (3, 5), elements=st.floats(-20, 20))
S, T = np.log([0.9, 0.1]), np.log([0.5, 0.5])


def test_two_tokens_by_hand():
    assert d.reverse_kl(S, T) == pytest.approx(0.9 * math.log(1.8) + 0.1 * math.log(0.2))
    assert d.reverse_kl(S, T) == pytest.approx(0.368, abs=5e-4)
    assert d.forward_kl(S, T) == pytest.approx(0.511, abs=5e-4)
    mixture = [0.7, 0.3]
    by_hand = 0.5 * sum(0.5 * math.log(0.5 / m) for m in mixture) + 0.5 * (
        0.9 * math.log(0.9 / 0.7) + 0.1 * math.log(0.1 / 0.3)
    )
    assert d.jsd(S, T) == pytest.approx(by_hand)
    assert d.entropy(T) == pytest.approx(math.log(2))


def test_jsd_weights_the_right_side():
    beta = 0.1
    mixture = np.log(beta * np.exp(T) + (1 - beta) * np.exp(S))
    by_hand = beta * d.kl(T, mixture) + (1 - beta) * d.kl(S, mixture)
    assert d.jsd(S, T, beta) == pytest.approx(by_hand)
    assert d.jsd(S, T, beta) != pytest.approx(d.jsd(T, S, beta))


@pytest.mark.parametrize(("beta", "name"), [(0.0, "forward_kl"), (1.0, "reverse_kl"), (2.0, "0 < beta < 1")])
def test_jsd_at_its_ends_is_an_error_that_names_the_kl(beta, name):
    with pytest.raises(InvalidInputError, match=name):
        d.jsd(S, T, beta)


@given(LOGITS, LOGITS)
def test_divergences_are_never_negative_and_zero_with_oneself(a, b):
    s, t = d.log_softmax(a), d.log_softmax(b)
    for value in (d.reverse_kl(s, t), d.forward_kl(s, t), d.jsd(s, t), d.skew_reverse_kl(s, t)):
        assert (value >= -1e-12).all()
    for value in (d.reverse_kl(s, s), d.jsd(s, s), d.clipped_kl(s, s)):
        np.testing.assert_allclose(value, 0, atol=1e-12)
    assert (d.entropy(s) <= math.log(5) + 1e-12).all()


@given(LOGITS, LOGITS)
def test_mean_advantage_over_the_students_choices_is_minus_the_reverse_kl(a, b):
    s, t = d.log_softmax(a), d.log_softmax(b)
    np.testing.assert_allclose((np.exp(s) * (t - s)).sum(-1), -d.reverse_kl(s, t), atol=1e-9)


def test_impossible_tokens():
    never = np.array([0.0, -np.inf])
    sure = np.log([0.5, 0.5])
    assert d.kl(never, sure) == pytest.approx(math.log(2))
    assert d.kl(sure, never) == np.inf
    assert d.kl(never, never) == 0
    assert d.entropy(never) == 0
    assert np.isfinite(d.jsd(never, sure))


def test_a_probability_that_float32_cannot_hold_counts_as_none():
    student, teacher = torch.tensor([0.0, -200.0]), torch.tensor([0.0, -np.inf])
    assert d.reverse_kl(student, teacher) == 0
    assert np.isfinite(d.jsd(student, teacher))
    assert d.entropy(teacher) == 0


def test_clipped_kl_counts_at_most_the_clip_an_entry():
    teacher, student = np.log([0.5, 0.5]), np.log([0.1, 0.9])
    by_hand = min(0.5 * math.log(5), 0.05) + min(0.5 * math.log(5 / 9), 0.05)
    assert d.clipped_kl(teacher, student) == pytest.approx(by_hand)
    assert d.clipped_kl(teacher, student) < 0


def test_renormalise_reports_the_mass():
    logp, log_mass = d.renormalise(np.log([[0.2, 0.2]]))
    np.testing.assert_allclose(np.exp(logp), [[0.5, 0.5]])
    np.testing.assert_allclose(np.exp(log_mass), [0.4])


@given(LOGITS, LOGITS)
def test_torch_float32_agrees_with_numpy_float64(a, b):
    s, t = d.log_softmax(a), d.log_softmax(b)
    s32, t32 = (d.log_softmax(torch.tensor(x, dtype=torch.float32)) for x in (a, b))
    for name in ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl"):
        function = getattr(d, name)
        np.testing.assert_allclose(function(s32, t32).numpy(), function(s, t), rtol=1e-4, atol=2e-5)


def test_log_softmax_agrees_with_torchs_own():
    logits = torch.randn(4, 50, dtype=torch.float64) * 10
    torch.testing.assert_close(d.log_softmax(logits), torch.log_softmax(logits, -1))
