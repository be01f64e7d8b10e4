"""Node gradients and alignment: recorded float64 answers, cases by hand, autograd of the losses, and invariances."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures import divergence
from opd_widgets.measures import gradients as g
from opd_widgets.measures.distribution import Distribution, log_softmax

CASES = json.loads((Path(__file__).parents[1] / "cases" / "node_gradients.json").read_text("utf-8"))
LOGITS = arrays(np.float64, 5, elements=st.floats(-20, 20))
SUCCESS = arrays(np.float64, 5, elements=st.floats(0, 1))
LOSS = st.sampled_from(g.LOSSES)
log = math.log


def _close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize("loss", g.LOSSES)
def test_recorded_answers(case, loss):
    student, teacher = (log_softmax(np.array(case[f"{who}_logits"])) for who in ("student", "teacher"))
    expected, beta = case["expected"], case["beta"]
    node = opd.gradients.node_alignment(student, teacher, case["success"], loss, case["kept"], beta=beta)
    assert node.tokens.tolist() == expected["kept"]
    for name in ("student", "teacher", "ideal", "value", "teacher_advantage", "success_range"):
        _close(getattr(node, name), expected[name])
    _close([node.student_mass, node.teacher_mass], [expected["student_mass"], expected["teacher_mass"]])
    _close(node.distillation, expected["gradients"][loss])
    cosine = expected["alignment"][loss]
    if cosine is None:
        assert math.isnan(node.alignment)
        assert node.reason.startswith("no signal")
    else:
        _close(node.alignment, cosine)
        assert node.reason == ""
    assert node.points_outside == (min(expected["student_mass"], expected["teacher_mass"]) < 0.9)
    assert node.verdict == ("points outside the support" if node.points_outside else "")
    s, t = Distribution.of(student), Distribution.of(teacher)
    for name, found in (("reverse_kl", divergence.reverse_kl(s, t)), ("jsd", divergence.jsd(s, t, beta))):
        _close(found, expected["full"][name])


def test_the_cases_show_every_verdict():
    assert len(CASES) == 18
    nodes = [
        g.node_alignment(
            log_softmax(np.array(c["student_logits"])), log_softmax(np.array(c["teacher_logits"])), c["success"],
            support=c["kept"],
        )
        for c in CASES
    ]  # fmt: skip
    assert {node.verdict for node in nodes} == {"", "points outside the support"}
    reasons = {node.reason for node in nodes}
    assert len(reasons) == 3, reasons


def test_two_tokens_by_hand():
    # p_S = (3/4, 1/4), p_T = (1/4, 3/4), success (1, 0): V = 3/4; the teacher pulls away from success
    node = g.node_alignment(np.log([0.75, 0.25]), np.log([0.25, 0.75]), [1, 0])
    _close([node.value, node.teacher_advantage, node.success_range], [0.75, -0.5, 1])
    _close(node.ideal, [3 / 16, -3 / 16])
    # f = (-log 3, log 3), its mean -log(3)/2: g = 3/4 * (-log(3)/2), and its negative
    _close(node.distillation, [-0.375 * log(3), 0.375 * log(3)])
    assert node.alignment == -1.0
    assert (node.n_support, node.loss, node.beta) == (2, "reverse_kl", None)
    _close(g.node_alignment(np.log([0.75, 0.25]), np.log([0.25, 0.75]), [1, 0], "forward_kl").distillation, [-0.5, 0.5])


def test_renormalising_by_hand_and_the_masses():
    p_S, p_T = np.array([0.5, 0.45, 0.05]), np.array([0.06, 0.02, 0.92])
    kept = g.on_support(np.log(p_S), np.log(p_T), [0, 1])
    _close(np.exp(kept.student_logp), [0.5 / 0.95, 0.45 / 0.95])
    _close(np.exp(kept.teacher_logp), [0.75, 0.25])
    _close([kept.student_mass, kept.teacher_mass], [0.95, 0.08])
    assert kept.points_outside
    assert not g.on_support(np.log(p_S), np.log(p_S), [0, 1]).points_outside
    # another sign than the raw -2.1 and -3.1
    np.testing.assert_allclose(kept.teacher_logp - kept.student_logp, [0.354, -0.639], atol=1e-3)


def test_support_as_positions_booleans_or_known_success():
    s, t = log_softmax(np.array([1.0, 0.5, -1, 0])), log_softmax(np.array([0.0, 1, 0.5, -1]))
    one = g.node_alignment(s, t, [0.2, 0.9, 0.5, 0.1], support=[0, 1, 3])
    for success, support in (([0.2, 0.9, 0.5, 0.1], [True, True, False, True]), ([0.2, 0.9, np.nan, 0.1], None)):
        other = g.node_alignment(s, t, success, support=support)
        assert other.tokens.tolist() == [0, 1, 3]
        assert other.alignment == one.alignment
    # a token that was not measured may stand outside the support
    s[2] = np.nan
    assert g.node_alignment(s, t, [0.2, 0.9, 0.5, 0.1], support=[0, 1, 3]).alignment == one.alignment


def _loss(name, student_logits, teacher, beta):
    student = torch.log_softmax(student_logits, -1)
    if name == "reverse_kl":
        return (student.exp() * (student - teacher)).sum()
    if name == "forward_kl":
        return (teacher.exp() * (teacher - student)).sum()
    mixture = torch.log(beta * teacher.exp() + (1 - beta) * student.exp())
    to_teacher = (teacher.exp() * (teacher - mixture)).sum()
    return beta * to_teacher + (1 - beta) * (student.exp() * (student - mixture)).sum()


@pytest.mark.parametrize("loss", g.LOSSES)
@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_the_rows_are_autograds_of_the_losses(loss, beta):
    rng = np.random.default_rng(0)
    for _ in range(20):
        logits, other = (torch.tensor(rng.normal(0, 2, 6)) for _ in range(2))
        logits.requires_grad_()
        teacher = torch.log_softmax(other, -1)
        _loss(loss, logits, teacher, beta).backward()
        found = g.distillation(loss, log_softmax(logits.detach().numpy()), teacher.numpy(), beta)
        _close(found.gradient, -logits.grad.numpy())


def test_the_ideal_row_is_autograd_of_the_expected_success():
    rng = np.random.default_rng(1)
    logits, success = torch.tensor(rng.normal(0, 2, 6), requires_grad=True), rng.uniform(0, 1, 6)
    (torch.softmax(logits, -1) * torch.tensor(success)).sum().backward()
    p = np.exp(log_softmax(logits.detach().numpy()))
    _close(g.ideal(p, success).gradient, logits.grad.numpy())


@given(LOGITS, LOGITS, SUCCESS, LOSS, st.floats(0.01, 0.99))
def test_gradients_sum_to_zero_and_cosines_are_cosines(a, b, success, loss, beta):
    s, t = log_softmax(a), log_softmax(b)
    node = g.node_alignment(s, t, success, loss, beta=beta)
    for gradient in (node.ideal, node.distillation):
        assert abs(math.fsum(gradient)) <= 1e-14 * max(1, np.abs(gradient).max())
    assert math.isnan(node.alignment) == bool(node.reason)
    assert math.isnan(node.alignment) or -1 <= node.alignment <= 1


@given(LOGITS, SUCCESS, st.floats(-50, 50))
def test_a_constant_added_to_the_signal_changes_nothing(a, f, constant):
    p = np.exp(log_softmax(a))
    np.testing.assert_allclose(
        g.ideal(p, f + constant).gradient, g.ideal(p, f).gradient, atol=1e-13 * max(1, abs(constant))
    )


@given(LOGITS, LOGITS, SUCCESS, LOSS)
def test_all_tokens_are_the_same_as_no_support(a, b, success, loss):
    s, t = log_softmax(a), log_softmax(b)
    whole, named = (g.node_alignment(s, t, success, loss, support) for support in (None, range(5)))
    np.testing.assert_array_equal(whole.distillation, named.distillation)
    np.testing.assert_equal(whole.alignment, named.alignment)
    _close([whole.student_mass, whole.teacher_mass], 1)


@given(LOGITS, LOGITS, SUCCESS, LOSS)
def test_two_tokens_can_only_agree_or_disagree(a, b, success, loss):
    node = g.node_alignment(log_softmax(a), log_softmax(b), success, loss, [1, 3])
    assert node.alignment in {-1.0, 1.0} or math.isnan(node.alignment)
    if not math.isnan(node.alignment) and loss != "jsd":
        better = success[1] > success[3]
        assert node.alignment == (1.0 if better == (node.teacher[0] > node.student[0]) else -1.0)


@pytest.mark.parametrize("loss", g.LOSSES)
@pytest.mark.parametrize("library", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_a_batch_gives_what_its_rows_give(loss, library):
    rng = np.random.default_rng(2)
    s, t = (log_softmax(rng.normal(0, 2, (3, 4, 6))) for _ in range(2))
    success = rng.uniform(0, 1, (3, 4, 6))
    success[0, 0] = 0.5
    pulled = g.distillation(loss, library(s), library(t), 0.3)
    found = np.asarray(g.alignment(g.ideal(library(np.exp(s)), library(success)), pulled))
    assert found.shape == (3, 4)
    for i in np.ndindex(3, 4):
        one = g.node_alignment(s[i], t[i], success[i], loss, beta=0.3)
        np.testing.assert_allclose(found[i], one.alignment, atol=1e-12)
        np.testing.assert_allclose(np.asarray(pulled.gradient[i]), one.distillation, atol=1e-12)
    assert np.isnan(found).sum() == 1


def test_one_student_against_many_draws_of_success():
    rng = np.random.default_rng(3)
    s, t, draws = log_softmax(rng.normal(0, 1, 4)), log_softmax(rng.normal(0, 1, 4)), rng.uniform(0, 1, (7, 4))
    found = g.alignment(g.ideal(np.exp(s), draws), g.distillation("reverse_kl", s, t))
    _close(found, [g.node_alignment(s, t, draw).alignment for draw in draws])


def test_a_sharp_node_has_a_tiny_gradient_and_a_real_direction():
    # p_S(0) = 1 in float64. The exact answer, in rational numbers to first order in e = 1e-25:
    # g_ideal = e (-(a + 2b), a, 2b), with a, b the successes less the first one's
    e = 1e-25
    student = np.array([-3 * e, log(e), log(2 * e)])
    success = [0.25, 0.75, 0.5]
    node = g.node_alignment(student, np.log([0.2, 0.5, 0.3]), success)
    ideal = [Fraction(-1), Fraction(1, 2), Fraction(1, 2)]
    np.testing.assert_allclose(node.ideal, [float(x) * e for x in ideal], rtol=1e-12)
    f = [log(0.2), log(0.5 / e), log(0.3 / (2 * e))]
    pull = [-(f[1] - f[0]) - 2 * (f[2] - f[0]), f[1] - f[0], 2 * (f[2] - f[0])]
    np.testing.assert_allclose(node.distillation, np.array(pull) * e, rtol=1e-12)
    by_hand = np.dot(pull, [-1, 0.5, 0.5]) / np.linalg.norm(pull) / math.sqrt(1.5)
    assert node.alignment == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("step", [0.4e-12, 3e-12])
def test_constant_is_decided_at_a_part_in_a_million_millions(step):
    signal = np.array([0.5, 0.5 + step, 0.5])
    assert bool(g.varies(signal)) == (step > 1e-12)
    assert not g.varies(np.array([1e6, 1e6 + 1e-7]))  # 1e-12 of max |f|


def test_two_sharp_distributions_differ_at_the_likeliest_token_too():
    e = 1e-25  # both give the first token 1 in float64; p_T - p_S is e (-3, 4, -1)
    student, teacher = log_softmax(np.log([1, e, 2 * e])), log_softmax(np.log([1, 5 * e, e]))
    assert student[0] == teacher[0] == 0
    pulled = g.distillation("forward_kl", student, teacher)
    np.testing.assert_allclose(pulled.gradient, [-3 * e, 4 * e, -e], rtol=1e-12)


def test_a_constant_signal_leaves_a_gradient_of_exactly_zero():
    p = np.exp(log_softmax(np.array([[2.0, 1, 0, -1], [0.3, 0.2, 0.1, 0]])))
    assert not g.ideal(p, np.full((2, 4), 0.9)).gradient.any()
    assert not g.distillation("jsd", np.log(p), np.log(p)).gradient.any()


def test_success_that_differs_by_rounding_is_no_signal():
    node = g.node_alignment(np.log([0.5, 0.3, 0.2]), np.log([0.2, 0.3, 0.5]), [0.3, 0.1 + 0.2, 0.3])
    assert node.ideal.any()  # the rounding alone, and not a direction
    assert math.isnan(node.alignment)
    assert node.reason.startswith("no signal: success")


def test_impossible_tokens():
    inf = math.inf
    s, t = [log(0.6), log(0.4), -inf], [log(0.3), log(0.2), log(0.5)]
    success = [0.1, 0.9, 1.0]
    # the student never takes the third token: its logit has no part, and on the others the teacher agrees with it
    node = g.node_alignment(s, t, success)
    assert node.reason.startswith("no signal: the loss")
    assert node.ideal[2] == 0
    # forward KL does pull toward it
    node = g.node_alignment(s, t, success, "forward_kl")
    _close(node.distillation, [-0.3, -0.2, 0.5])
    # the teacher never takes a token that the student does: an infinite gradient has no cosine; forward KL's is finite
    node = g.node_alignment(t, s, success)
    assert math.isnan(node.alignment)
    assert node.reason.startswith("infinite")
    _close(g.node_alignment(t, s, success, "forward_kl").distillation, [0.3, 0.2, -0.5])
    assert np.isfinite(g.node_alignment(t, s, success, "jsd").alignment)
    # neither takes it
    for loss in g.LOSSES:
        node = g.node_alignment([log(0.6), log(0.4), -inf], [log(0.3), log(0.7), -inf], success, loss)
        assert node.alignment == pytest.approx(1)
        assert node.distillation[2] == 0
    # success differs at the impossible token alone
    assert g.node_alignment(s, np.log([0.1, 0.4, 0.5]), [0.3, 0.3, 1]).reason.startswith("no signal: success")
    # further apart than any float
    node = g.node_alignment([-900.0, log(0.6), log(0.4)], np.log([0.8, 0.1, 0.1]), success, "forward_kl")
    _close(node.distillation, [0.8, -0.5, -0.3])


S, T, P = np.log([0.5, 0.3, 0.2]), np.log([0.2, 0.3, 0.5]), [0.1, 0.5, 0.9]
BAD = {
    "lengths": ({"teacher_logp": T[:2]}, "student_logp of 3 and teacher_logp of 2"),
    "success length": ({"success": P[:2]}, "success of 2 and student_logp of 3"),
    "one token": ({"support": [1]}, "two or more"),
    "no token": ({"support": []}, "two or more"),
    "one known": ({"success": [0.1, np.nan, np.nan]}, "two or more"),
    "outside": ({"support": [0, 3]}, "from 0 to 2"),
    "negative": ({"support": [0, -1]}, "from 0 to 2"),
    "twice": ({"support": [0, 0, 1]}, "each token once"),
    "booleans": ({"support": [True, False]}, "booleans"),
    "fractions": ({"support": [0.0, 1.0]}, "positions"),
    "success above": ({"success": [0.1, 1.5, 0.2]}, "success 1.5 for token 1"),
    "success below": ({"success": [0.1, 0.5, -0.2]}, "success -0.2 for token 2"),
    "success missing": ({"success": [0.1, 0.5, np.nan], "support": [0, 2]}, "no success .* for token 2"),
    "loss": ({"loss": "kl"}, "reverse_kl, forward_kl, jsd"),
    "beta 0": ({"loss": "jsd", "beta": 0.0}, "forward_kl"),
    "beta 1": ({"loss": "jsd", "beta": 1.0}, "reverse_kl"),
    "beta NaN": ({"loss": "jsd", "beta": math.nan}, "0 < beta < 1"),
    "logits": ({"student_logp": [2.0, 1.0, 0.0]}, "log-softmax"),
    "infinite": ({"teacher_logp": [math.inf, -1.0, -1.0]}, "log-softmax"),
    "missing": ({"teacher_logp": [np.nan, *T[1:]]}, "no teacher_logp"),
    "no mass": ({"student_logp": [0.0, -math.inf, -math.inf], "support": [1, 2]}, "leave the node out"),
    "text": ({"student_logp": ["a", "b", "c"]}, "cannot read"),
    "a batch": ({"student_logp": [S, S]}, "one node at a time"),
    "bfloat16": ({"student_logp": torch.tensor(S).bfloat16()}, "cannot read"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_clear_error(change, says):
    with pytest.raises(InvalidInputError, match=says):
        g.node_alignment(**{"student_logp": S, "teacher_logp": T, "success": P, **change})


def test_beta_is_read_by_the_jsd_only():
    assert g.node_alignment(S, T, P, beta=0.0).alignment == g.node_alignment(S, T, P).alignment
    assert g.node_alignment(S, T, P, "jsd", beta=0.3).beta == 0.3
