"""The contrast of contexts: by hand on two tokens, and against plain probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.contrast import context_difference, hint_contrast
from opd_widgets.measures.signals import REGISTRY

INF, NAN = math.inf, math.nan
log = math.log
logprob = st.floats(-60, 0)


def test_by_hand_on_two_tokens():
    right = np.log([0.5, 0.1])
    wrong = np.log([[0.25, 0.4], [0.75, 0.2]])
    # means of probabilities: 0.5 and 0.3; a mean of logarithms would be log sqrt(0.1875) and log sqrt(0.08)
    np.testing.assert_allclose(hint_contrast(right, wrong), [0.0, log(0.1 / 0.3)], atol=1e-15)
    assert hint_contrast(right, wrong)[0] != pytest.approx(log(0.5) - log(math.sqrt(0.1875)))
    np.testing.assert_allclose(context_difference(right, wrong[0]), [log(2), log(0.25)])


def test_against_one_wrong_context_both_are_the_same():
    right, wrong = np.log([0.5, 0.1]), np.log([0.2, 0.3])
    np.testing.assert_allclose(hint_contrast(right, [wrong]), context_difference(right, wrong), atol=1e-15)


@given(st.lists(st.tuples(logprob, st.lists(logprob, min_size=3, max_size=3)), min_size=1, max_size=8))
def test_it_is_what_plain_probabilities_give(tokens):
    right, wrong = np.array([t[0] for t in tokens]), np.array([t[1] for t in tokens]).T
    expected = [r - log(math.fsum(map(math.exp, w)) / 3) for r, w in tokens]
    np.testing.assert_allclose(hint_contrast(right, wrong), expected, rtol=1e-12, atol=1e-12)


def test_what_no_float_holds_as_a_probability_is_still_compared():
    assert hint_contrast([-2000.0], [[-2001.0], [-2001.0]])[0] == pytest.approx(1)
    assert hint_contrast([-2000.0], [[-1000.0], [-2000.0]])[0] == pytest.approx(-1000 + log(2))


def test_impossible_and_missing_tokens():
    right = [-INF, -INF, -1.0, -1.0, -1.0, NAN, -INF]
    wrong = [
        [-INF, -1.0, -INF, -INF, NAN, -1.0, NAN],
        [-INF, -INF, -INF, log(0.5), -1.0, -1.0, -INF],
    ]
    found = hint_contrast(right, wrong)
    assert math.isnan(found[0])  # impossible under both sides: undefined
    assert found[1] == -INF  # possible under one wrong context is possible under their mean
    assert found[2] == INF
    assert found[3] == pytest.approx(-1 - log(0.25))  # the impossible one counts with probability 0
    assert np.isnan(found[4:]).all()  # one missing makes the mean unknown
    np.testing.assert_array_equal(context_difference([-INF, -INF, -1.0], [-INF, -1.0, -INF]), [NAN, -INF, INF])


@pytest.mark.parametrize("wrong", [np.zeros((0, 2)), np.zeros(2), np.zeros((2, 3))])
def test_shapes_that_do_not_fit(wrong):
    with pytest.raises(InvalidInputError, match=r"expected \[R\] and \[K, R\]"):
        hint_contrast(np.zeros(2), wrong)


def test_the_registry_says_how_to_get_them():
    for name in ("hint_contrast", "context_difference"):
        signal = REGISTRY[name]
        assert (signal.tier, signal.unit, signal.scale) == ("L1+C", "nats", "diverging")
        assert "opd.contrast(" in signal.reason
