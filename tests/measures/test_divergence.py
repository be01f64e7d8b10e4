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
from opd_widgets.measures.distribution import Distribution, log_softmax

LOGITS = arrays(np.float64, (3, 5), elements=st.floats(-20, 20))
S, T = (Distribution.of(np.log(p)) for p in ([0.9, 0.1], [0.5, 0.5]))


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
    mixture = Distribution.of(np.log(beta * T.p + (1 - beta) * S.p))
    by_hand = beta * d.kl(T, mixture) + (1 - beta) * d.kl(S, mixture)
    assert d.jsd(S, T, beta) == pytest.approx(by_hand)
    assert d.jsd(S, T, beta) != pytest.approx(d.jsd(T, S, beta))


@pytest.mark.parametrize(("beta", "name"), [(0.0, "forward_kl"), (1.0, "reverse_kl"), (2.0, "0 < beta < 1")])
def test_jsd_at_its_ends_is_an_error_that_names_the_kl(beta, name):
    with pytest.raises(InvalidInputError, match=name):
        d.jsd(S, T, beta)


@given(LOGITS, LOGITS)
def test_divergences_are_never_negative_and_zero_with_oneself(a, b):
    s, t = Distribution.of_logits(a), Distribution.of_logits(b)
    for value in (d.reverse_kl(s, t), d.forward_kl(s, t), d.jsd(s, t), d.skew_reverse_kl(s, t)):
        assert (value >= -1e-12).all()
    for value in (d.reverse_kl(s, s), d.jsd(s, s), d.clipped_kl(s, s)):
        np.testing.assert_allclose(value, 0, atol=1e-12)
    assert (d.entropy(s) <= math.log(5) + 1e-12).all()


@given(LOGITS, LOGITS)
def test_mean_advantage_over_the_students_choices_is_minus_the_reverse_kl(a, b):
    s, t = Distribution.of_logits(a), Distribution.of_logits(b)
    np.testing.assert_allclose((s.p * (t.logp - s.logp)).sum(-1), -d.reverse_kl(s, t), atol=1e-9)


def test_impossible_tokens():
    never, sure = (Distribution.of(np.array(logp)) for logp in ([0.0, -np.inf], np.log([0.5, 0.5])))
    assert d.kl(never, sure) == pytest.approx(math.log(2))
    assert d.kl(sure, never) == np.inf
    assert d.kl(never, never) == 0
    assert d.entropy(never) == 0
    assert np.isfinite(d.jsd(never, sure))


def test_a_probability_that_float32_cannot_hold_counts_as_none():
    student, teacher = (Distribution.of(torch.tensor(logp)) for logp in ([0.0, -200.0], [0.0, -np.inf]))
    assert d.reverse_kl(student, teacher) == 0
    assert np.isfinite(d.jsd(student, teacher))
    assert d.entropy(teacher) == 0


def test_clipped_kl_counts_at_most_the_clip_an_entry():
    teacher, student = (Distribution.of(np.log(p)) for p in ([0.5, 0.5], [0.1, 0.9]))
    by_hand = min(0.5 * math.log(5), 0.05) + min(0.5 * math.log(5 / 9), 0.05)
    assert d.clipped_kl(teacher, student) == pytest.approx(by_hand)
    assert d.clipped_kl(teacher, student) < 0


def test_a_part_of_the_vocabulary_is_renormalised_and_the_rest_reported():
    kept, outside = Distribution.of(np.log([[0.2, 0.2, 0.6]])).first(2)
    np.testing.assert_allclose(kept.p, [[0.5, 0.5]])
    np.testing.assert_allclose(np.exp(kept.logp), kept.p)
    np.testing.assert_allclose(outside, [0.6])


@given(LOGITS, LOGITS, st.integers(0, 4))
def test_guards_change_nothing_where_they_are_not_needed(a, b, column):
    """One token of probability 0 beside the others: the rest of the sums is what it was without it."""
    s, t = Distribution.of_logits(a), Distribution.of_logits(b)
    padded = [Distribution.of(np.insert(x.logp, column, -np.inf, axis=-1)) for x in (s, t)]
    assert s.full
    assert not padded[0].full
    for name in ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl"):
        function = getattr(d, name)
        np.testing.assert_allclose(function(*padded), function(s, t), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(d.entropy(padded[0]), d.entropy(s))


@given(LOGITS, LOGITS)
def test_torch_float32_agrees_with_numpy_float64(a, b):
    s, t = Distribution.of_logits(a), Distribution.of_logits(b)
    s32, t32 = (Distribution.of_logits(torch.tensor(x, dtype=torch.float32)) for x in (a, b))
    for name in ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl"):
        function = getattr(d, name)
        np.testing.assert_allclose(function(s32, t32).numpy(), function(s, t), rtol=1e-4, atol=2e-5)


def test_log_softmax_agrees_with_torchs_own():
    logits = torch.tensor(np.random.default_rng(0).normal(0, 10, (4, 50)))
    expected = torch.log_softmax(logits, -1)
    for found in (log_softmax(logits.numpy()), log_softmax(logits), Distribution.of_logits(logits).logp):
        np.testing.assert_allclose(np.asarray(found), expected.numpy(), rtol=1e-12, atol=1e-14)
