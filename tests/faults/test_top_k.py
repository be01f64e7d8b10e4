"""A few likely tokens of either side: what they cover, and what is not known of them."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.measures.overlap import mass_at, top_k_overlap
from opd_widgets.measures.signals import REGISTRY
from tests import tiny
from tests.faults.made import hand_softmax, read, scored

PROMPT = [3, 12, 4]
RESPONSE = np.random.default_rng(0).integers(6, 50, 60)


@pytest.fixture(scope="module")
def both():
    """Scores with two columns of top-k, and the real tokens' log-probabilities of both sides."""
    rollout = opd.Rollout(id="r", prompt_ids=PROMPT, response_ids=RESPONSE)
    options = {"top_k": 2, "settings": opd.SignalSettings(overlap_k=2)}
    scores = scored([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, **options)
    rows = [hand_softmax(tiny.qwen(seed), PROMPT, RESPONSE) for seed in (0, 1)]
    return scores, *rows


def test_fault_47_a_divergence_over_two_tokens_goes_negative_and_ours_does_not(both):
    """verl#7856, verl#7855: the truncated KL was below 0, and a clamp hid it at 89 % of the steps."""
    scores, s, t = both
    ids = scores.items[0].student.topk.ids
    cut_s, cut_t = (np.take_along_axis(x, ids, -1) for x in (s, t))
    truncated = (np.exp(cut_s) * (cut_s - cut_t)).sum(-1)
    assert (truncated < -0.01).any()  # the fault itself
    for name in ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl"):
        assert (scores.signal(name, 0) >= -1e-6).all(), name
    assert not any("top" in signal.label and "KL" in signal.label for signal in REGISTRY.values())


def test_fault_47_the_covered_mass_is_shown(both):
    scores, s, t = both
    ids = scores.items[0].student.topk.ids
    covered = np.exp(np.take_along_axis(t, ids, -1)).sum(-1)
    np.testing.assert_allclose(scores.signal("teacher_mass", 0), covered, atol=1e-4)
    assert (covered < 0.9).any()
    own = np.exp(scores.items[0].student.topk.logprobs).sum(-1)
    np.testing.assert_allclose(own, np.exp(np.take_along_axis(s, ids, -1)).sum(-1), atol=1e-4)


def test_fault_48_disjoint_sets_are_scored_on_each_other(both):
    """verl#6676, verl#7425, OpenClaw-RL#7, #4: a reverse KL needs the teacher on the student's tokens."""
    scores, s, t = both
    teacher, student = scores.items[0].teachers["t"], scores.items[0].student
    disjoint = [n for n in range(len(s)) if not set(student.topk.ids[n]) & set(teacher.track.topk.ids[n])]
    assert disjoint
    np.testing.assert_allclose(teacher.at_student_top, np.take_along_axis(t, student.topk.ids, -1), atol=1e-4)
    np.testing.assert_allclose(teacher.student_at_top, np.take_along_axis(s, teacher.track.topk.ids, -1), atol=1e-4)
    assert (scores.signal("topk_overlap", 0)[disjoint] == 0).all()


def test_fault_48_missing_is_not_a_probability_of_one():
    """exp(0.0) is 1: a 0 in place of a missing value would cover everything."""
    values = np.array([[np.log(0.2), np.nan], [np.nan, np.nan], [-np.inf, np.log(0.1)]])
    np.testing.assert_allclose(mass_at(values), [0.2, np.nan, 0.1])
    assert top_k_overlap(np.array([[1, 2]]), np.array([[3, 4]]), 2).tolist() == [0.0]
    assert np.isnan(top_k_overlap(np.array([[-1, -1]]), np.array([[3, 4]]), 2)[0])


def test_fault_48_what_a_dump_did_not_ask_for_is_absent(tmp_path):
    rows = [{"20": {"logprob": -2.0, "rank": 3}, "7": {"logprob": -0.1, "rank": 1}, "8": {"logprob": -0.2, "rank": 2}}]
    (rollout,) = read(tmp_path, {"prompt_token_ids": [1], "outputs": [{"token_ids": [20], "logprobs": rows}]})
    track = rollout.tracks["student"]
    assert track.topk.ids.tolist() == [[7, 8, 20]]
    other = opd.LogprobTrack(np.float32([-1.0]), topk=opd.TopK([[5, 6, 9]], [[-0.1, -3.0, -4.0]]))
    made = opd.Rollout(id="r", prompt_ids=[1], response_ids=[20], tracks={"student": track, "teacher": other})
    signals = opd.scores_from_tracks([made]).items[0].teachers["teacher"].signals
    assert signals["topk_overlap"].tolist() == [0.0]
    assert not {"teacher_mass", "reverse_kl", "forward_kl", "jsd"} & signals.keys()
    teacher = opd.scores_from_tracks([made]).items[0].teachers["teacher"]
    assert teacher.at_student_top.shape == (1, 0)
