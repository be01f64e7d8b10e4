"""Divergences taken together are those taken one by one, in float64 and where a probability is 0."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures import divergence
from opd_widgets.measures.distribution import Distribution
from opd_widgets.measures.together import divergences

LOGITS = arrays(np.float64, (3, 7), elements=st.floats(-30, 30))


def apart(s, t, beta, skew, clip):
    return {
        "reverse_kl": divergence.reverse_kl(s, t),
        "forward_kl": divergence.forward_kl(s, t),
        "jsd": divergence.jsd(s, t, beta),
        "skew_reverse_kl": divergence.skew_reverse_kl(s, t, skew),
        "clipped_kl": divergence.clipped_kl(t, s, clip),
    }


@given(LOGITS, LOGITS, st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.01, 1))
def test_in_float64(a, b, beta, skew, clip):
    s, t = Distribution.of_logits(a), Distribution.of_logits(b)
    together = divergences(s, t, beta=beta, skew=skew, clip=clip)
    for name, expected in apart(s, t, beta, skew, clip).items():
        np.testing.assert_allclose(together[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_two_tokens_by_hand():
    s, t = (Distribution.of(np.log(p)) for p in ([0.9, 0.1], [0.5, 0.5]))
    found = divergences(s, t, beta=0.5, skew=0.1, clip=0.05)
    assert found["reverse_kl"] == pytest.approx(0.9 * np.log(0.9 / 0.5) + 0.1 * np.log(0.1 / 0.5))
    assert found["forward_kl"] == pytest.approx(0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1))
    m = np.array([0.7, 0.3])
    jsd = 0.5 * (0.5 * np.log(0.5 / m)).sum() + 0.5 * (np.array([0.9, 0.1]) * np.log(np.array([0.9, 0.1]) / m)).sum()
    assert found["jsd"] == pytest.approx(jsd)
    assert found["clipped_kl"] == pytest.approx(0.5 * np.log(0.5 / 0.9) + 0.05)


def test_where_a_probability_is_zero():
    zero = -np.inf
    half = np.log(0.5)
    s, t = (Distribution.of(np.array(logp)) for logp in ([half, half, zero], [half, zero, half]))
    found = divergences(s, t, beta=0.5, skew=0.1, clip=0.05)
    assert np.isinf(found["reverse_kl"])
    assert np.isinf(found["forward_kl"])
    assert found["jsd"] == pytest.approx(0.5 * np.log(2))


def test_float32_is_close_to_float64_where_the_two_are_almost_alike():
    rng = np.random.default_rng(0)
    a = rng.normal(0, 4, (20, 5000))
    b = a + rng.normal(0, 1e-2, a.shape)
    exact = divergences(Distribution.of_logits(a), Distribution.of_logits(b), beta=0.5, skew=0.1, clip=0.05)
    s, t = (Distribution.of_logits(torch.tensor(x, dtype=torch.float32)) for x in (a, b))
    for name, values in divergences(s, t, beta=0.5, skew=0.1, clip=0.05).items():
        np.testing.assert_allclose(np.asarray(values), exact[name], atol=2e-6, err_msg=name)


def test_beta_outside():
    s = Distribution.of(np.log([0.5, 0.5]))
    with pytest.raises(InvalidInputError, match="forward_kl"):
        divergences(s, s, beta=0.0, skew=0.1, clip=0.05)
