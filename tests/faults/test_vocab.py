"""Heads with more rows than the tokenizer has tokens, and with more or fewer than each other."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import RolloutError
from tests import tiny
from tests.faults.made import at, hand_softmax, letters, scored

IDS = [12, 49, 8, 30]
PROMPT = [3, 10, 4]


def tokens_64():
    made = letters(("<pad>", "<eos>", "<a>"), "<eos>")
    made.add_tokens([f"w{number}" for number in range(64 - len(made))])
    assert len(made) == 64
    return made


@pytest.mark.parametrize(("of_student", "of_teacher"), [(70, 80), (80, 70), (64, 80), (70, 64)])
def test_fault_17_heads_of_70_and_80_rows_over_a_tokenizer_of_64(of_student, of_teacher):
    """trl#2215, trl#6252, LMOps#286, LMOps#331, torchtune#2119, ms-swift#10073: padded vocabularies."""
    nets = [tiny.qwen(seed, vocab) for seed, vocab in ((2, of_student), (3, of_teacher))]
    student, teacher = (opd.HFModel((net, tokens_64()), device="cpu") for net in nets)
    rollout = opd.Rollout(id="r", prompt_ids=PROMPT, response_ids=IDS)
    scores = scored([rollout], student, {"t": opd.Teacher(teacher)})
    s, t = (hand_softmax(net, PROMPT, IDS) for net in nets)
    item = scores.items[0]
    # the sampled token: each model's own full softmax, padding rows and all
    np.testing.assert_allclose(item.student.logprobs, at(s, IDS), atol=1e-4)
    np.testing.assert_allclose(item.teachers["t"].track.logprobs, at(t, IDS), atol=1e-4)
    # distributions: over the 64 real tokens, with the mass outside beside them
    real = [logp[:, :64] - np.log(np.exp(logp[:, :64]).sum(-1, keepdims=True)) for logp in (s, t)]
    np.testing.assert_allclose(
        scores.signal("reverse_kl", 0), (np.exp(real[0]) * (real[0] - real[1])).sum(-1), atol=2e-4, rtol=1e-3
    )
    for name, logp in (("student_outside", s), ("teacher_outside", t)):
        np.testing.assert_allclose(scores.signal(name, 0), 1 - np.exp(logp[:, :64]).sum(-1), atol=1e-5)
        assert ((scores.signal(name, 0) > 0.01).all()) == (logp.shape[1] > 64)
    for track in (item.student, item.teachers["t"].track):
        assert track.topk.ids.max() < 64


def test_fault_17_an_id_of_a_padding_row_is_scored_and_named_and_one_beyond_refused():
    student = opd.HFModel((tiny.qwen(2, 70), tokens_64()), device="cpu", name="s")
    teacher = opd.Teacher(opd.HFModel((tiny.qwen(3, 66), tokens_64()), device="cpu", name="narrow"))
    padding = opd.Rollout(id="p", prompt_ids=PROMPT, response_ids=[65])
    scores = scored([padding], student, {"t": teacher})
    assert np.isfinite(scores.signal("advantage", 0)).all()
    assert scores.pieces[65].data == b"<unused 65>"
    beyond = opd.Rollout(id="b", prompt_ids=PROMPT, response_ids=[9, 69])
    with pytest.raises(RolloutError, match=r"id 69 at response token 1, and 't' has rows for ids 0 to 65"):
        scored([beyond], student, {"t": teacher})
    nobody = opd.Rollout(id="n", prompt_ids=[70], response_ids=[9])
    with pytest.raises(RolloutError, match=r"id 70 at prompt token 0, and 's' has rows for ids 0 to 69"):
        scored([nobody], student)
