"""Dumps of open-instruct, TRL, verl, slime and miles."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.data.readers import open_instruct, slime, trl, verl
from opd_widgets.data.readers.registry import sniff
from opd_widgets.errors import ReadError, RolloutError

OPEN = {"step": 3, "prompt_idx": 0, "prompt_tokens": [1], "response_tokens": [2, 3], "logprobs": [-1.0, 0.0]}
TRL = {"step": 20, "prompt": "q", "completion": "a", "accuracy": 1.0, "advantage": 0.5}
VERL = {"input": "q", "output": "a", "score": 1.0, "step": 20}
SLIME = {
    "tokens": [10, 11, 20, 30, 21],
    "response_length": 3,
    "loss_mask": [1, 0, 1],
    "rollout_log_probs": [0.0, 0.0, -0.5],
    "teacher_log_probs": [-0.1, 0.0, -0.2],
    "prompt": "q",
    "reward": 1.0,
    "group_index": 4,
    "status": "truncated",
}


def test_open_instruct_lengths_that_differ_are_both_named():
    with pytest.raises(RolloutError, match=r"2 response tokens and track 'student' has 1 values"):
        open_instruct.from_record({**OPEN, "logprobs": [-1.0]})


def test_open_instruct_without_log_probabilities_or_response():
    assert open_instruct.from_record({**OPEN, "logprobs": None})[0].tracks == {}
    assert len(open_instruct.from_record({**OPEN, "response_tokens": [], "logprobs": []})[0]) == 0


@pytest.mark.parametrize("logprobs", [5, "x", {"a": 1}, ["a"], [[1], 2]])
def test_open_instruct_log_probabilities_that_are_none(logprobs):
    with pytest.raises(ReadError, match="logprobs"):
        open_instruct.from_record({**OPEN, "logprobs": logprobs})


def test_trl_keeps_what_is_no_reward_as_metadata():
    (rollout,) = trl.from_record({**TRL, "form": float("nan"), "solution": "5", "extracted": ["5"], "solved": True})
    assert rollout.reward == {"accuracy": 1.0, "form": None}
    assert rollout.metadata == {"solution": "5", "extracted": ["5"], "solved": True, "advantage": 0.5}


def test_trl_step_as_text():
    (rollout,) = trl.from_record({"step": "7", "prompt": "q", "completion": "a"})
    assert (rollout.step, rollout.reward) == (7, None)


def test_trl_turns():
    (rollout,) = trl.from_record(
        {
            **TRL,
            "prompt": [{"role": "user", "content": "q"}],
            "completion": [{"role": "assistant", "content": "a"}],
        }
    )
    assert (rollout.responses, rollout.question) == (("a",), "q")


def test_trl_completion_that_is_neither():
    with pytest.raises(ReadError, match="completion of type int"):
        trl.from_record({**TRL, "completion": 5})


def test_verl_score_as_text():
    assert verl.from_record({**VERL, "score": "0.5"})[0].reward == 0.5
    with pytest.raises(ReadError, match="score 'high', expected a number"):
        verl.from_record({**VERL, "score": "high"})


def test_slime_placeholders_are_missing_and_a_certain_token_is_not():
    (rollout,) = slime.from_record(SLIME)
    np.testing.assert_array_equal(rollout.tracks["student"].logprobs, np.float32([0.0, np.nan, -0.5]))
    np.testing.assert_array_equal(rollout.tracks["teacher"].logprobs, np.float32([-0.1, np.nan, -0.2]))
    assert rollout.response_mask.tolist() == [True, False, True]
    assert (rollout.status, rollout.question, rollout.prompt_text) == ("truncated", "4", "q")


@pytest.mark.parametrize("values", [[], [-1.0] * 5, None])
def test_slime_empty_response_is_not_everything(values):
    (rollout,) = slime.from_record({
        **SLIME, "response_length": 0, "loss_mask": None, "rollout_log_probs": values, "teacher_log_probs": values,
    })  # fmt: skip
    assert (len(rollout), rollout.prompt_len) == (0, 5)


def test_slime_one_token():
    (rollout,) = slime.from_record({
        **SLIME, "response_length": 1, "loss_mask": [1], "rollout_log_probs": [-1.0], "teacher_log_probs": [-2.0],
    })  # fmt: skip
    assert rollout.tracks["teacher"].logprobs.tolist() == [-2.0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"response_length": 6}, "response_length 6 and 5 tokens"),
        ({"response_length": -1}, "response_length -1"),
        ({"response_length": None}, "response_length None"),
        ({"loss_mask": [1]}, "3 response tokens and response_mask has 1"),
        ({"rollout_log_probs": [-1.0] * 5}, "3 response tokens and track 'student' has 5"),
    ],
)
def test_slime_lengths_that_do_not_fit_are_both_named(change, said):
    with pytest.raises((ReadError, RolloutError), match=said):
        slime.from_record({**SLIME, **change})


def test_slime_rewards_by_name():
    (rollout,) = slime.from_record({**SLIME, "reward": {"score": 1.0, "acc": True, "pred": "5"}})
    assert rollout.reward == {"score": 1.0}
    assert rollout.metadata["reward"] == {"acc": True, "pred": "5"}


def test_slime_training_columns_and_miles_rows():
    columns = {
        "tokens": [[1, 2], [3, 4, 5]], "response_lengths": [1, 2], "loss_masks": [[1], [1, 0]],
        "log_probs": [[-1.0], [-2.0, 0.0]], "ref_log_probs": [[-1.5], [-2.5, 0.0]], "format_version": 2,
    }  # fmt: skip
    assert sniff(columns) is slime
    one, two = slime.from_record(columns)
    assert (one.response_ids.tolist(), two.response_ids.tolist()) == ([2], [4, 5])
    np.testing.assert_array_equal(two.tracks["reference"].logprobs, np.float32([-2.5, np.nan]))
    row = {"sample_index": 0, "response_length": 1, "total_length": 2, "tokens": [1, 2], "loss_mask": [1]}
    assert sniff(row) is slime
