"""Values that stand one place off, or at another row's tokens."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.readers import nemo_rl, openai, sglang, slime, vllm
from opd_widgets.errors import ReadError, RolloutError
from tests import tiny
from tests.faults.made import FORMATS, at, dumps, hand_softmax, read, scored

# Formats that keep ids and values in lists of their own, with the two lengths an error has to name.
LISTS = {
    "open_instruct": (3, 2), "slime": (3, 2), "nemo_rl": (7, 6), "prime_rl": (5, 4), "verifiers": (3, 2),
    "rlloggingboard": (3, 2), "openai_completion": (3, 2),
}  # fmt: skip


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("beside", [[], [9] * 30], ids=["alone", "beside a longer one"])
def test_fault_01_one_response_token_has_its_one_value(padding, beside):
    """areal-project/AReaL#1729: the teacher was scored at the response's positions, not at those that predict it."""
    prompt, response = [3, 12, 4], [9]
    rollouts = [opd.Rollout(id="r", prompt_ids=prompt, response_ids=response)]
    rollouts += [opd.Rollout(id="long", prompt_ids=[3, *beside], response_ids=beside)] if beside else []
    scores = scored(rollouts, tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, padding=padding)
    for seed, track in ((0, scores.items[0].student), (1, scores.items[0].teachers["t"].track)):
        assert len(track) == 1
        wanted = at(hand_softmax(tiny.qwen(seed), prompt, response), response)
        np.testing.assert_allclose(track.logprobs, wanted, atol=1e-4)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("values", [[-0.7], [-0.7, -1.3], [-0.7, -1.3, -0.2]], ids=len)
def test_fault_01_a_dumps_values_stand_at_the_tokens_they_score(tmp_path, format_, values):
    (rollout,) = read(tmp_path, dumps(values)[format_])
    assert len(rollout) == len(values)
    assert rollout.tracks["student"].logprobs.tolist() == np.float32(values).tolist()
    if rollout.response_ids is not None:
        assert rollout.response_ids.tolist() == list(range(20, 20 + len(values)))
        assert rollout.prompt_ids.tolist() == [10, 11]


@pytest.mark.parametrize(("format_", "lengths"), LISTS.items())
def test_fault_01_one_value_too_few_is_refused_with_both_lengths(tmp_path, format_, lengths):
    """A list one short is the mark of a shift: it is never zipped to fit."""
    text = json.dumps(dumps([-0.7, -1.3, -0.2])[format_])
    assert "-0.7, -1.3, -0.2" in text
    with pytest.raises(ReadError) as raised:
        read(tmp_path, json.loads(text.replace("-0.7, -1.3, -0.2", "-0.7, -1.3")))
    assert {str(length) for length in lengths} <= set(re.findall(r"\d+", str(raised.value)))


@pytest.mark.parametrize("again", [False, True], ids=["the same object", "the same weights loaded again"])
def test_fault_02_a_teacher_that_is_the_student_has_no_advantage_anywhere(again):
    """modelscope/ms-swift#8436: unshifted logits in top-k mode, and the teacher's prompt ignored."""
    student = tiny.model(0)
    teacher = opd.HFModel((tiny.qwen(0), tiny.tokenizer()), device="cpu", name="again") if again else student
    messages = (opd.Message("user", "1+2=?"),)
    prompt = student.tokenizer.encode(student.tokenizer.render(messages, {}))
    rollouts = [
        opd.Rollout(id=str(n), prompt_ids=prompt, response_ids=[9, 12, 40][:n], messages=messages) for n in (1, 3)
    ]
    scores = scored(rollouts, student, {"t": opd.Teacher(teacher)})
    for item in scores.items:
        for name in ("advantage", "reverse_kl", "forward_kl", "jsd", "k2", "k3"):
            np.testing.assert_allclose(item.teachers["t"].signals[name], 0, atol=1e-5, err_msg=name)
        np.testing.assert_array_equal(item.student.topk.ids, item.teachers["t"].track.topk.ids)
        np.testing.assert_allclose(item.teachers["t"].at_student_top, item.student.topk.logprobs, atol=1e-5)


def test_fault_02_a_teachers_own_prompt_is_not_ignored():
    messages = (opd.Message("user", "1+2=?"),)
    student = tiny.model(0)
    prompt = student.tokenizer.encode(student.tokenizer.render(messages, {}))
    rollout = opd.Rollout(id="r", prompt_ids=prompt, response_ids=[9, 12], messages=messages)
    scores = scored([rollout], student, {"t": opd.Teacher(student, opd.contexts.free_text("hint"))})
    teacher = scores.items[0].teachers["t"]
    wanted = at(hand_softmax(tiny.qwen(0), teacher.prompt_ids, [9, 12]), [9, 12])
    np.testing.assert_allclose(teacher.track.logprobs, wanted, atol=1e-4)
    assert len(teacher.prompt_ids) > len(prompt)
    assert (np.abs(scores.signal("advantage", 0)) > 1e-3).any()


@pytest.mark.parametrize("padding", ["left", "right"])
def test_fault_04_a_row_beside_one_ten_times_longer(padding):
    """THU-BPM/RLCSD#6: the teacher's window came from the micro-batch, the response from the whole batch."""
    short = opd.Rollout(id="s", prompt_ids=[3, 12, 4], response_ids=[9, 40, 12, 11])
    long = opd.Rollout(id="l", prompt_ids=[3] * 30, response_ids=[9, 12] * 20)
    teachers = {"t": opd.Teacher(tiny.model(1))}
    alone = scored([short], tiny.model(0), teachers)
    for order in ([short, long], [long, short]):
        beside = scored(order, tiny.model(0), teachers, padding=padding)
        place = order.index(short)
        for name, values in alone.items[0].teachers["t"].signals.items():
            found = beside.items[place].teachers["t"].signals[name]
            np.testing.assert_allclose(found, values, atol=1e-4, rtol=1e-3, err_msg=name)


@pytest.mark.parametrize("padding", ["left", "right"])
def test_fault_05_two_rows_with_prompts_of_different_length(padding):
    """huggingface/trl#6191: column 0 for every row, where each row's prompt has its own length."""
    rows = [([3, 4], [9, 12, 7]), ([3, 8, 8, 8, 8, 8, 4], [9, 12, 7])]
    rollouts = [opd.Rollout(id=str(i), prompt_ids=p, response_ids=r) for i, (p, r) in enumerate(rows)]
    scores = scored(rollouts, tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, padding=padding)
    for item, (prompt, response) in zip(scores.items, rows, strict=True):
        for seed, track in ((0, item.student), (1, item.teachers["t"].track)):
            wanted = at(hand_softmax(tiny.qwen(seed), prompt, response), response)
            np.testing.assert_allclose(track.logprobs, wanted, atol=1e-4)


def test_fault_05_a_batch_in_a_dump_has_a_prompt_length_a_row():
    columns = {
        "tokens": [[1, 20, 21], [1, 2, 3, 20, 21]],
        "response_lengths": [2, 2],
        "rollout_log_probs": [[-0.1, -0.2], [-0.3, -0.4]],
    }
    for rollout, values in zip(slime.from_record(columns), [[-0.1, -0.2], [-0.3, -0.4]], strict=True):
        assert rollout.response_ids.tolist() == [20, 21]
        assert rollout.tracks["student"].logprobs.tolist() == np.float32(values).tolist()
    for prompt in ([10], [10, 11, 12]):
        padding = [0] * (4 - len(prompt))
        record = {
            "content": [["q", "a"]], "rewards": [1.0], "input_lengths": [len(prompt) + 2],
            "token_ids": [[*prompt, 20, 21, *padding]], "token_loss_mask": [[*[0] * len(prompt), 1, 1, *padding]],
            "generation_logprobs": [[*[0] * len(prompt), -0.5, -0.6, *padding]],
        }  # fmt: skip
        (rollout,) = nemo_rl.from_record(record)
        assert rollout.prompt_ids.tolist() == prompt
        assert rollout.tracks["student"].logprobs.tolist() == np.float32([-0.5, -0.6]).tolist()


def test_fault_05_nothing_precedes_a_first_token_so_its_value_is_a_placeholder():
    record = {
        "content": [["q", "a"]], "rewards": [1.0], "input_lengths": [3], "token_ids": [[20, 21, 2]],
        "token_loss_mask": [[1, 1, 1]], "generation_logprobs": [[0.0, -0.5, -0.6]],
    }  # fmt: skip
    track = nemo_rl.from_record(record)[0].tracks["student"].logprobs
    np.testing.assert_array_equal(track, np.float32([np.nan, -0.5, -0.6]))


def entry(token, logprob):
    return {str(token): {"logprob": logprob}}


@pytest.mark.parametrize("lead", [[], [None]], ids=["without", "with"])
def test_fault_07_records_with_and_without_a_leading_null(lead):
    """vllm#27477, sglang#193: the first echoed token has no value, and some leave its place out."""
    record = {"prompt_token_ids": [1, 2, 3], "prompt_logprobs": [*lead, entry(2, -1.0), entry(3, -2.0)]}
    track = vllm.from_record(record)[0].tracks["student"]
    np.testing.assert_array_equal(track.logprobs, np.float32([np.nan, -1, -2]))


def test_fault_07_an_echoed_completion_and_an_input_keep_their_places():
    said = {"tokens": ["a", "b", "c"], "token_logprobs": [None, -1.0, -2.0], "text_offset": [0, 1, 2]}
    track = openai.from_record({"choices": [{"text": "abc", "logprobs": said}]})[0].tracks["student"]
    np.testing.assert_array_equal(track.logprobs, np.float32([np.nan, -1, -2]))
    for lead in ([], [[None, 11, None]]):
        info = {"input_token_logprobs": [*lead, [-1.0, 12, None]], "output_token_logprobs": [[-2.0, 13, None]]}
        (rollout,) = sglang.from_record({"text": "x", "meta_info": info})
        expected = [np.nan, -1, -2] if lead else [-1, -2]
        np.testing.assert_array_equal(rollout.tracks["student"].logprobs, np.float32(expected))
        assert rollout.response_ids.tolist() == ([11, 12, 13] if lead else [12, 13])


def test_fault_07_an_input_scored_from_a_later_start_keeps_what_stood_before():
    """`logprob_start_len` 2 of an input of 3: scored by a model, the two before it are the prompt."""
    info = {"input_token_logprobs": [[-1.0, 12, None]], "output_token_logprobs": [[-2.0, 13, None]], "prompt_tokens": 3}
    (rollout,) = sglang.from_record({"text": "x", "input_ids": [10, 11, 12], "meta_info": info})
    assert (rollout.prompt_ids.tolist(), rollout.response_ids.tolist()) == ([10, 11], [12, 13])
    (unknown,) = sglang.from_record({"text": "x", "meta_info": info})
    assert unknown.prompt_ids is None


@pytest.mark.parametrize("by", [-1, 1])
def test_fault_07_entries_one_place_off_are_found_out_although_some_hold_their_token(by):
    """With the k likeliest in every entry, a shifted list holds some of its tokens by chance."""
    ids = [5, 6, 5, 7, 8]
    rows = [{**entry(token, -1.0), **entry(5, -0.5)} for token in ids]
    shifted = [*rows[1:], rows[0]] if by == 1 else [rows[-1], *rows[:-1]]
    with pytest.raises(ReadError, match=r"of 5 entries in logprobs without their own token.*shifted"):
        vllm.from_record({"outputs": [{"token_ids": ids, "logprobs": shifted}]})


def test_fault_07_log_probabilities_of_other_ids_than_those_beside_them():
    info = {"output_token_logprobs": [[-0.1, 21, None], [-0.2, 2, None]]}
    with pytest.raises(ReadError, match=r"2 output_ids and log-probabilities of 2 tokens that differ from number 0 on"):
        sglang.from_record({"text": "x", "output_ids": [20, 21], "meta_info": info})


def test_fault_07_a_track_and_ids_of_different_length_name_both():
    track = opd.LogprobTrack(np.float32([-1, -2]))
    with pytest.raises(RolloutError, match=r"3 response tokens and track 'student' has 2 values"):
        opd.Rollout(id="r", prompt_ids=[1], response_ids=[2, 3, 4], tracks={"student": track})
