"""k1, k2, k3 by hand, by definition, and where they run away."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opd_widgets.measures.estimators import advantage, k1, k2, k3

LOGP = st.floats(-30, 0)


def test_by_hand():
    s, t = np.array([math.log(0.5)]), np.array([math.log(0.25)])
    assert advantage(s, t)[0] == pytest.approx(-math.log(2))
    assert k1(s, t)[0] == pytest.approx(math.log(2))
    assert k2(s, t)[0] == pytest.approx(math.log(2) ** 2 / 2)
    assert k3(s, t)[0] == pytest.approx(0.5 + math.log(2) - 1)


def test_k3_explodes_where_the_teacher_is_far_surer():
    assert k3(np.array([-12.0]), np.array([-0.1]))[0] == pytest.approx(math.exp(11.9) - 12.9, rel=1e-9)


@given(LOGP, LOGP)
def test_signs(s, t):
    student, teacher = np.array([s]), np.array([t])
    assert k2(student, teacher)[0] >= 0
    assert k3(student, teacher)[0] >= -1e-12
    assert advantage(student, teacher)[0] == -advantage(teacher, student)[0]
    assert advantage(student, student)[0] == 0


def test_a_teacher_surer_of_the_token_is_positive():
    assert advantage(np.array([-3.0]), np.array([-0.1]))[0] > 0


def test_infinities_are_values_and_their_difference_is_undefined():
    inf = np.array([-np.inf])
    one = np.array([-1.0])
    assert advantage(one, inf)[0] == -np.inf
    assert advantage(inf, one)[0] == np.inf
    assert np.isnan(advantage(inf, inf)[0])
    assert k3(inf, one)[0] == np.inf
    assert k3(one, inf)[0] == np.inf


def test_k1_and_k3_estimate_the_reverse_kl_without_bias():
    s, t = np.log([0.7, 0.2, 0.1]), np.log([0.2, 0.5, 0.3])
    exact = float((np.exp(s) * (s - t)).sum())
    assert float((np.exp(s) * k1(s, t)).sum()) == pytest.approx(exact)
    assert float((np.exp(s) * k3(s, t)).sum()) == pytest.approx(exact)
