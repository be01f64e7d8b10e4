"""Signals over a whole response, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opd_widgets.measures.overlap import mass_at, top_k_overlap
from opd_widgets.measures.sequence import discounted, entropy_divergence, min_max, position_weighted

ALL = np.ones(3, bool)
NAN = float("nan")


def test_reward_to_go_and_discount():
    values = np.array([1.0, -2.0, 4.0])
    np.testing.assert_allclose(discounted(values, ALL), [3, 2, 4])
    np.testing.assert_allclose(discounted(values, ALL, 0.5), [1 - 1 + 1, -2 + 2, 4])


@given(st.integers(0, 300), st.sampled_from([0.0, 1e-9, 0.5, 0.95, 0.9999, 1.0]), st.integers(0, 2**32 - 1))
def test_blocks_give_what_a_loop_over_every_token_gives(length, gamma, seed):
    rng = np.random.default_rng(seed)
    values, counted = rng.normal(size=length), rng.random(length) > 0.2
    total, expected = 0.0, np.full(length, NAN)
    for n in reversed(range(length)):
        total = gamma * total + (values[n] if counted[n] else 0.0)
        expected[n] = total if counted[n] else NAN
    np.testing.assert_allclose(discounted(values, counted, gamma), expected, rtol=1e-10, atol=1e-12)


def test_a_masked_token_adds_nothing_and_has_no_value():
    counted = np.array([True, False, True])
    np.testing.assert_allclose(discounted(np.array([1.0, 99.0, 4.0]), counted), [5, NAN, 4])
    np.testing.assert_allclose(discounted(np.array([1.0, NAN, 4.0]), ALL), [5, NAN, 4])


def test_an_infinity_decides_no_other_tokens_sum_and_is_undefined_itself():
    values = np.array([1.0, -2.0, -np.inf, 4.0])
    np.testing.assert_allclose(discounted(values, np.ones(4, bool)), [3, 2, NAN, 4])
    np.testing.assert_allclose(discounted(values, np.ones(4, bool), 0.5), [1 - 1 + 0 + 0.5, -2 + 0 + 1, NAN, 4])


def test_position_weights_fall_with_what_was_spent():
    advantage = np.array([1.0, -2.0, 1.0])
    np.testing.assert_allclose(position_weighted(advantage, ALL), [1.5, -2 * (1 + 0.5 * 0.75), 1 + 0.5 * 0.25])


def test_position_weights_of_no_advantage_at_all():
    np.testing.assert_allclose(position_weighted(np.zeros(3), ALL), 0)


@given(arrays(np.float64, 4, elements=st.floats(-9, 9)), st.floats(-1e6, 1e6))
def test_a_masked_tokens_value_changes_nothing(values, hidden):
    counted = np.array([True, True, False, True])
    other = values.copy()
    other[2] = hidden
    for function in (discounted, position_weighted, min_max):
        np.testing.assert_array_equal(function(values, counted), function(other, counted))


def test_entropy_divergence_is_a_soft_or():
    entropy, divergence = np.array([0.0, 1.0, 2.0]), np.array([4.0, 0.0, 2.0])
    np.testing.assert_allclose(entropy_divergence(entropy, divergence, ALL), [1, 0.5, 1])


def test_scaling_alike_values_gives_zero():
    np.testing.assert_allclose(min_max(np.array([2.0, 2.0, NAN]), ALL), [0, 0, NAN])
    rounded = np.array([2.0, np.nextafter(np.float32(2), np.float32(3)), 2.0], np.float32)
    np.testing.assert_allclose(min_max(rounded, ALL), 0)


def test_overlap_counts_shared_tokens_whatever_their_order():
    first, second = np.array([[1, 2, 3], [1, -1, -1]]), np.array([[3, 9, 1], [4, -1, -1]])
    np.testing.assert_allclose(top_k_overlap(first, second, 3), [2 / 3, 0])
    assert top_k_overlap(first, first, 3)[1] == 1
    assert top_k_overlap(first, second, 1)[0] == 0


def test_overlap_is_that_of_the_sets():
    rng = np.random.default_rng(0)
    first, second = (np.array([rng.choice(30, 8, replace=False) for _ in range(50)]) for _ in range(2))
    first[:, 6:] = -1
    shared = [len({*a} & {*b} - {-1}) / 6 for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(top_k_overlap(first, second, 8), shared)


def test_overlap_of_nothing_is_missing():
    assert np.isnan(top_k_overlap(np.array([[-1]]), np.array([[2]]), 1)[0])


def test_mass_ignores_unused_columns():
    row = np.log(np.array([[0.25, 0.5, 1.0]]))
    row[0, 2] = np.nan
    assert mass_at(row)[0] == pytest.approx(0.75)
    assert np.isnan(mass_at(np.array([[np.nan]]))[0])
