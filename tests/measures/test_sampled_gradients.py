"""Single-sample, MiniLLM and Dr. GRPO gradients: by hand, by enumeration, and against the rows that are their means."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures import gradients as g
from opd_widgets.measures.distribution import log_softmax

RNG = np.random.default_rng(0)
P_S, P_T = np.array([0.5, 0.45, 0.05]), np.array([0.06, 0.02, 0.92])
SUCCESS = np.array([0.2, 0.9, 0.4])


def test_single_sample_uses_the_raw_advantage():
    # raw A = (-2.1, -3.1); renormalised on the first two (+.35, -.64), of another sign
    one = g.single_sample(np.log(P_S), np.log(P_T), 0, [0, 1])
    raw, p = math.log(0.06 / 0.5), P_S[:2] / 0.95
    np.testing.assert_allclose(one.gradient, raw * (np.array([1, 0]) - p), rtol=1e-12)
    assert one.gradient[0] < 0
    found = g.single_sample_alignment(np.log(P_S), np.log(P_T), SUCCESS, [0, 1])
    # both advantages are negative: sampling the worse token 0 pushes toward success, sampling token 1 away from it
    assert found.alignment.tolist() == [1.0, -1.0]
    assert found.expected == pytest.approx((0.5 - 0.45) / 0.95)
    assert found.student_mass == pytest.approx(0.95)


def test_single_sample_outside_the_support_is_undefined():
    one = g.single_sample(np.log(P_S), np.log(P_T), 2, [0, 1])
    assert np.isnan(one.gradient).all()
    assert np.isnan(g.alignment(one, g.ideal(P_S[:2] / 0.95, SUCCESS[:2])))


@pytest.mark.parametrize("support", [None, [0, 2, 3], [1, 4]])
def test_the_mean_of_single_samples_is_the_reverse_kl_row(support):
    s, t = log_softmax(RNG.normal(0, 1, 5)), log_softmax(RNG.normal(0, 1, 5))
    kept = g.on_support(s, t, support)
    mean = sum(
        math.exp(logp) * g.single_sample(s, t, int(y), support).gradient
        for y, logp in zip(kept.tokens, kept.student_logp, strict=True)
    )
    np.testing.assert_allclose(
        mean, g.distillation("reverse_kl", kept.student_logp, kept.teacher_logp).gradient, atol=1e-14
    )


def test_the_expected_cosine_is_not_the_cosine_of_the_mean():
    s, t, success = log_softmax(RNG.normal(0, 1, 5)), log_softmax(RNG.normal(0, 1, 5)), RNG.uniform(0, 1, 5)
    found = g.single_sample_alignment(s, t, success)
    p, a = np.exp(s), t - s
    wanted = p * (success - p @ success)
    rows = a[:, None] * (np.eye(5) - p)
    cosines = rows @ wanted / np.linalg.norm(rows, axis=1) / np.linalg.norm(wanted)
    np.testing.assert_allclose(found.alignment, cosines, atol=1e-12)
    assert found.expected == pytest.approx(p @ cosines)
    assert found.expected != pytest.approx(g.node_alignment(s, t, success).alignment, abs=1e-3)


def test_a_token_without_advantage_has_no_direction_and_no_part_in_the_mean():
    s, t = np.log([0.5, 0.3, 0.2]), np.log([0.5, 0.2, 0.3])
    found = g.single_sample_alignment(s, t, SUCCESS)
    assert np.isnan(found.alignment).tolist() == [True, False, False]
    assert found.defined_mass == pytest.approx(0.5)
    assert found.expected == pytest.approx(0.6 * found.alignment[1] + 0.4 * found.alignment[2])
    same = g.single_sample_alignment(s, s, SUCCESS)
    assert math.isnan(same.expected)
    assert same.defined_mass == 0


def test_minillm_by_hand():
    # rewards-to-go: token 0: 1 and -3, mean -1; token 1: 0.5. p = (1/4, 3/4), E f = 1/8
    row = g.minillm([0.25, 0.75], [0, 1, 0], [[2, -1], [0.5], [-1, -1, -1]])
    np.testing.assert_allclose(row.signal, [-1, 0.5])
    np.testing.assert_allclose(row.gradient, [0.25 * -1.125, 0.75 * 0.375])


def test_minillm_of_rollouts_that_end_at_once_is_the_reverse_kl_row():
    s, t = log_softmax(RNG.normal(0, 1, 4)), log_softmax(RNG.normal(0, 1, 4))
    row = g.minillm(np.exp(s), [3, 1, 0, 2, 1], [(t - s)[[k]] for k in (3, 1, 0, 2, 1)])
    np.testing.assert_allclose(row.gradient, g.distillation("reverse_kl", s, t).gradient, atol=1e-14)


def test_dr_grpo_has_the_ideal_gradient_as_its_expectation():
    # every group of three rollouts over three tokens and two rewards, with its exact probability
    p, size = P_S, 3
    mean = np.zeros(3)
    total = 0.0
    for tokens in itertools.product(range(3), repeat=size):
        for rewards in itertools.product((0, 1), repeat=size):
            chance = math.prod(
                p[k] * (SUCCESS[k] if r else 1 - SUCCESS[k]) for k, r in zip(tokens, rewards, strict=True)
            )
            mean += chance * g.dr_grpo(p, tokens, rewards).gradient
            total += chance
    assert total == pytest.approx(1)
    np.testing.assert_allclose(mean, (1 - 1 / size) * g.ideal(p, SUCCESS).gradient, atol=1e-14)


def test_dr_grpo_gives_a_distribution_of_cosines():
    tokens = [[0, 0, 1, 2], [0, 1, 1, 0], [0, 1, 2, 0]]
    rewards = [[1, 0, 1, 0], [1, 1, 1, 1], [0.1, 0.1, 0.1, 0.1]]
    row = g.dr_grpo(P_S, tokens, rewards)
    np.testing.assert_allclose(row.gradient[0], [0, 0.125, -0.125])  # rewards less 1/2, by token, over 4
    cosines = g.alignment(g.ideal(P_S, SUCCESS), row)
    assert cosines.shape == (3,)
    assert np.isnan(cosines).tolist() == [False, True, True]  # equal rewards: no signal
    large = np.full(7, 1e6 + 0.1)
    assert large.mean() != large[0]  # so that the mean as it stands would leave rounding to take for a signal
    assert np.isnan(g.alignment(g.ideal(P_S, SUCCESS), g.dr_grpo(P_S, [0, 1, 2, 0, 1, 2, 0], large)))
    wanted = P_S * (SUCCESS - P_S @ SUCCESS)
    assert cosines[0] == pytest.approx(wanted @ [0, 1, -1] / np.linalg.norm(wanted) / math.sqrt(2))


BAD = {
    "sampled token": (lambda: g.single_sample(np.log(P_S), np.log(P_T), 3), "sampled token 3"),
    "one token": (lambda: g.single_sample(np.log(P_S), np.log(P_T), 0, [0]), "two or more"),
    "success": (lambda: g.single_sample_alignment(np.log(P_S), np.log(P_T), [0, 1, 2]), "from 0 to 1"),
    "success length": (lambda: g.single_sample_alignment(np.log(P_S), np.log(P_T), [0, 1]), "success of 2"),
    "lengths": (lambda: g.minillm([0.5, 0.5], [0, 1], [[1.0]]), "1 rollouts"),
    "no rollout": (lambda: g.minillm([0.5, 0.5], [0, 0], [[1.0], [2.0]]), r"places \[1\]"),
    "missing advantage": (lambda: g.minillm([0.5, 0.5], [0, 1], [[1.0, np.nan], [2.0]]), "score them"),
    "not renormalised": (lambda: g.minillm([0.5, 0.1], [0, 1], [[1.0], [2.0]]), "renormalised"),
    "a group of one": (lambda: g.dr_grpo(P_S, [[0]], [[1]]), "G >= 2"),
    "shapes": (lambda: g.dr_grpo(P_S, [0, 1], [1, 0, 1]), "G >= 2"),
    "outside": (lambda: g.dr_grpo(P_S, [0, 3], [1, 0]), "from 0 to 2"),
    "reward": (lambda: g.dr_grpo(P_S, [0, 1], [1, np.nan]), "finite"),
}


@pytest.mark.parametrize(("call", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_clear_error(call, says):
    with pytest.raises(InvalidInputError, match=says):
        call()
