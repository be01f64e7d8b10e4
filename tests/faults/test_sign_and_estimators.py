"""Which way is which: the advantage's sign, a divergence's direction, an estimator's name."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.measures import divergence
from opd_widgets.measures.distribution import Distribution
from opd_widgets.measures.estimators import advantage, k1, k2, k3
from opd_widgets.measures.signals import REGISTRY
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import at, hand_softmax, scored

S, T = np.array([0.9, 0.1]), np.array([0.5, 0.5])


def test_fault_43_a_teacher_surer_of_the_token_is_positive():
    """slime#2254, #1068, #1449, twinkle#112: the docs said the other direction, and called the term a KL."""
    rng = np.random.default_rng(0)
    prompt, response = [3, 12], rng.integers(6, 50, 30)
    rollout = opd.Rollout(id="r", prompt_ids=prompt, response_ids=response)
    scores = scored([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1))})
    s, t = (at(hand_softmax(tiny.qwen(seed), prompt, response), response) for seed in (0, 1))
    np.testing.assert_array_equal(np.sign(scores.signal("advantage", 0)), np.sign(t - s))
    assert ((t > s).any(), (t < s).any()) == (True, True)


def test_fault_43_the_formula_and_both_ends_are_shown_with_it():
    rollout = opd.Rollout(id="r", prompt_ids=[3], response_ids=[9])
    rows = wire_scores(scored([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1))}))["meta"]["signals"]
    row = next(row for row in rows if row["name"] == "advantage")
    assert "t − s" in row["formula"]
    assert (row["scale"], row["unit"]) == ("diverging", "nats")
    assert row["low"] != row["high"]
    assert (row["low"], row["high"]) == (REGISTRY["advantage"].low, REGISTRY["advantage"].high)
    assert "prefers this" in row["high"]
    # what one token gives is called a KL nowhere: only sums over the vocabulary are
    for signal in REGISTRY.values():
        if "KL" in signal.label and signal.compute is not None:
            assert signal.tier == "L3", signal.name


@pytest.mark.parametrize("make", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_fault_44_each_direction_has_its_name_and_its_value(make):
    """trl#4935, Self-Distillation#5, Rethinking-OPD#17, verl#6828: F.kl_div's order of arguments."""
    s, t = (Distribution.of(make(np.log(p))) for p in (S, T))
    by_hand = {
        "reverse": 0.9 * math.log(1.8) + 0.1 * math.log(0.2),
        "forward": 0.5 * math.log(1 / 1.8) + 0.5 * math.log(5),
    }
    assert float(divergence.reverse_kl(s, t)) == pytest.approx(by_hand["reverse"])
    assert float(divergence.forward_kl(s, t)) == pytest.approx(by_hand["forward"])
    assert [round(value, 3) for value in by_hand.values()] == [0.368, 0.511]
    assert float(divergence.kl(s, t)) == pytest.approx(by_hand["reverse"])
    assert float(
        torch.nn.functional.kl_div(torch.tensor(np.log(T)), torch.tensor(S), reduction="sum")
    ) == pytest.approx(by_hand["reverse"])  # torch takes the second distribution first


def test_fault_44_the_registry_says_the_direction_and_means_it():
    rollout = opd.Rollout(id="r", prompt_ids=[3, 12], response_ids=[9, 40, 7])
    whole = {"real": tiny.model(0).tokenizer.size}
    scores = scored([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1))})
    s, t = (hand_softmax(tiny.qwen(seed), [3, 12], [9, 40, 7])[:, : whole["real"]] for seed in (0, 1))
    s, t = (x - np.log(np.exp(x).sum(-1, keepdims=True)) for x in (s, t))
    forward, reverse = (np.exp(t) * (t - s)).sum(-1), (np.exp(s) * (s - t)).sum(-1)
    assert np.abs(forward - reverse).max() > 0.1
    np.testing.assert_allclose(scores.signal("reverse_kl", 0), reverse, atol=2e-4)
    np.testing.assert_allclose(scores.signal("forward_kl", 0), forward, atol=2e-4)
    assert REGISTRY["reverse_kl"].formula.startswith("KL(S‖T)")
    assert REGISTRY["forward_kl"].formula.startswith("KL(T‖S)")


def test_fault_46_k1_k2_k3_by_hand():
    """trl#3015, #6637, #6549, #2854, OpenRLHF#1335, rlhf-book#489, open-instruct#534: mixed up, or k3 given as k1."""
    s, t = np.array([-12.0]), np.array([-0.1])
    assert k1(s, t)[0] == pytest.approx(-11.9)
    assert k2(s, t)[0] == pytest.approx(70.805)
    assert k3(s, t)[0] == pytest.approx(math.exp(11.9) - 12.9)
    assert 1.4e5 < k3(s, t)[0] < 1.6e5
    assert k1(s, t)[0] == -advantage(s, t)[0]


def test_fault_46_a_runaway_k3_is_whole_in_the_data_and_beyond_the_scale_in_the_view():
    student = np.full(400, -1.0)
    student[7] = -12
    tracks = {
        "student": opd.LogprobTrack(np.float32(student)),
        "teacher": opd.LogprobTrack(np.full(400, -0.9, np.float32)),
    }
    rollout = opd.Rollout(id="r", prompt_ids=[1], response_ids=[2] * 400, tracks=tracks)
    scores = opd.scores_from_tracks([rollout])
    assert scores.signal("k3", 0)[7] == pytest.approx(math.exp(11.1) - 12.1, rel=1e-4)
    row = next(row for row in wire_scores(scores)["meta"]["signals"] if row["name"] == "k3")
    assert row["above"]
    assert row["limit"] < 1  # one value does not turn all the others pale
    assert (REGISTRY["k3"].formula, REGISTRY["k2"].formula) == ("exp(t − s) − (t − s) − 1", "(s − t)² / 2")
