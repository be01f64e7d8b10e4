"""Responses that ran into a limit: said so, and no end expected of them."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from opd_widgets.scoring.report import Report
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import chatml, dumps, model, read, scored

TURN = {"role": "assistant", "content": "a"}
CUT = {
    "open_instruct": {"prompt_tokens": [1], "response_tokens": [2], "finish_reason": "length"},
    "slime": {"tokens": [1, 2], "response_length": 1, "status": "truncated"},
    "skyrl": {"input_prompt": "q", "output_response": "a", "score": 0.0, "stop_reason": "length"},
    "ms_swift": {"gen_step": 1, "prompt": "q", "completion": "a", "is_truncated": True},
    "vllm": {"prompt_token_ids": [1], "outputs": [{"token_ids": [2], "logprobs": None, "finish_reason": "length"}]},
    "sglang": {"text": "a", "meta_info": {"finish_reason": {"type": "length", "length": 1}}},
    "openai": {"choices": [{"message": TURN, "finish_reason": "length"}]},
    "inspect_ai": {"input": "q", "epoch": 1, "output": {"choices": [{"message": TURN, "stop_reason": "max_tokens"}]}},
    "verifiers": {
        "example_id": 0, "prompt": "q", "completion": [TURN], "reward": 0.0, "is_truncated": True,
        "stop_condition": None,
    },
}  # fmt: skip


@pytest.mark.parametrize("format_", sorted(CUT))
def test_fault_54_every_source_that_says_so_is_heard(tmp_path, format_):
    """ms-swift#6956: truncated rollouts were treated as complete."""
    (rollout,) = read(tmp_path, CUT[format_])
    assert rollout.status == "truncated"


@pytest.mark.parametrize("format_", ["rlloggingboard", "nemo_rl", "prime_rl"])
def test_fault_54_a_source_that_does_not_say_is_unknown_and_not_complete(tmp_path, format_):
    (rollout,) = read(tmp_path, dumps([-0.5])[format_])
    assert rollout.status == "unknown"


def test_fault_54_the_badge_and_the_summary_have_it(tmp_path):
    rollouts = [
        opd.Rollout(id=status, prompt_ids=[3], response_ids=[9, 10], status=status)
        for status in ("stop", "truncated", "aborted", "unknown")
    ]
    scores = scored(rollouts, tiny.model(0))
    assert [row["status"] for row in wire_scores(scores)["meta"]["rollouts"]] == [
        "stop", "truncated", "aborted", "unknown",
    ]  # fmt: skip
    assert "1 truncated" in Report.of(scores, tmp_path, 0.0).to_text()
    assert Report.of(scores, tmp_path, 0.0).to_dict()["truncated"] == 1


def test_fault_54_no_end_is_expected_of_a_truncated_response():
    student, teacher = model(0, chatml("<|endoftext|>")), model(1, chatml("<|im_end|>"))
    rollout = opd.Rollout(id="r", prompt_ids=[2, 9], response_ids=[11, 12], status="truncated")
    notes = scored([rollout], student, {"t": opd.Teacher(teacher)}).notes
    assert not [note for note in notes if "lies on ids" not in note]  # random weights, rows that are no token


def test_fault_54_sampling_marks_what_the_limit_cut():
    (rollout,) = opd.sample_rollouts([opd.Question("q", "1+2=?")], tiny.model(0), n=1, max_new_tokens=1, seed=0)
    assert len(rollout) == 1
    many = opd.sample_rollouts([opd.Question("q", "1+2=?")], tiny.model(0), n=20, max_new_tokens=2, seed=0)
    assert {r.status for r in many} >= {"truncated"}
    for one in many:
        assert (one.status == "stop") == (int(one.token_ids[-1]) in tiny.model(0).tokenizer.end_ids)
