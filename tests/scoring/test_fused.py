"""Measures that PyTorch's compiler fuses are those taken one by one: by formula in float64, and compiled for real."""

from __future__ import annotations

import shutil

import array_api_compat.numpy as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import opd_widgets as opd
from opd_widgets.measures import divergence, fused
from opd_widgets.measures.distribution import Distribution
from tests import tiny

LOGITS = arrays(np.float64, (3, 7), elements=st.floats(-30, 30))


def formulas(a, b, beta, skew, clip):
    s, t = Distribution.of_logits(a), Distribution.of_logits(b)
    return [
        divergence.reverse_kl(s, t),
        divergence.forward_kl(s, t),
        divergence.jsd(s, t, beta),
        divergence.skew_reverse_kl(s, t, skew),
        divergence.clipped_kl(t, s, clip),
    ]


@given(LOGITS, LOGITS, st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.01, 1))
def test_the_formulas(a, b, beta, skew, clip):
    sides = [(x, *fused.normaliser(xp, x)) for x in (a, b)]
    found = fused.pair(xp, *sides, beta=beta, skew=skew, clip=clip)
    for name, values, expected in zip(fused.PAIR, found, formulas(a, b, beta, skew, clip), strict=True):
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12, err_msg=name)
    for side, x in zip(sides, (a, b), strict=True):
        np.testing.assert_allclose(fused.entropy(xp, *side), divergence.entropy(Distribution.of_logits(x)), rtol=1e-9)


def test_tokens_that_one_side_or_both_forbid():
    zero = -np.inf
    a, b = (np.array([row]) for row in ([0.0, 0.0, zero, zero], [0.0, zero, 0.0, zero]))
    with np.errstate(invalid="ignore"):  # what a guard discards
        sides = [(x, *fused.normaliser(xp, x)) for x in (a, b)]
        found = fused.pair(xp, *sides, beta=0.5, skew=0.1, clip=0.05)
        assert fused.entropy(xp, *sides[0]) == pytest.approx(np.log(2))
    assert np.isposinf(found[0])
    assert np.isposinf(found[1])
    assert found[2] == pytest.approx(0.5 * np.log(2))
    with np.errstate(divide="ignore"):
        s, t = (Distribution.of(np.log(np.array([row]))) for row in ([0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0]))
    assert found[3] == pytest.approx(divergence.skew_reverse_kl(s, t, 0.1))
    assert found[4] == pytest.approx(divergence.clipped_kl(t, s, 0.05))


@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch compiles for a CPU with g++")
@pytest.mark.parametrize("vocab", [64, 80])  # a head of the tokenizer's size, and one with rows that are no token
def test_compiled(vocab):
    student, teacher = tiny.model(0), opd.HFModel((tiny.qwen(1, vocab), tiny.tokenizer()), device="cpu", name="t")
    rng = np.random.default_rng(0)
    rollouts = [
        opd.Rollout(id=str(i), prompt_ids=rng.integers(6, 50, 5), response_ids=rng.integers(6, 50, 7 + 20 * i))
        for i in range(4)
    ]
    teachers = {"t": opd.Teacher(teacher)}
    plain, compiled = (
        opd.score(rollouts, student, teachers, options=opd.Options(fuse=fuse), noise_rollouts=0, progress=False)
        for fuse in (False, True)
    )
    for one, other in zip(plain.items, compiled.items, strict=True):
        assert one.teachers["t"].signals.keys() == other.teachers["t"].signals.keys()
        for name, values in one.teachers["t"].signals.items():
            np.testing.assert_allclose(other.teachers["t"].signals[name], values, rtol=1e-4, atol=2e-5, err_msg=name)
        np.testing.assert_array_equal(one.student.rank, other.student.rank)
        np.testing.assert_array_equal(one.teachers["t"].track.topk.ids, other.teachers["t"].track.topk.ids)
