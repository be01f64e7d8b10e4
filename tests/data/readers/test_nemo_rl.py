"""NeMo-RL's dumps."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.nemo_rl import from_record
from opd_widgets.errors import ReadError, RolloutError
from tests.reader_cases import EXPECTED, assert_ids, assert_track, records

FILE = "nemo_rl_train_data_step3.jsonl"


def changed(**fields):
    return {**records(FILE)[0], **fields}


def test_case():
    (rollout,) = from_record(records(FILE)[0])
    (expected,) = EXPECTED[FILE]
    assert_ids(rollout, expected)
    assert rollout.reward == expected["reward"]
    assert (rollout.prompt_text, rollout.response_text, rollout.question) == ("2+3?", "It is 5", "2+3?")
    assert rollout.metadata["prev_logprobs"] == [-0.25, -0.95, -0.02]
    assert rollout.metadata["advantages"] == [0.5, 0.5, 0.5]


def test_padding_that_looks_like_a_token_is_cut_by_length():
    (rollout,) = from_record(changed(token_ids=[[10, 11, 12, 20, 21, 0, 0, 0]]))
    assert rollout.response_ids.tolist() == [20, 21, 0]


def test_a_tools_tokens_are_no_values_and_zero_on_a_sampled_token_is_one():
    mask, logprobs = [0, 0, 0, 1, 0, 1, 0, 0], [0, 0, 0, 0.0, 0.0, -1, 0, 0]
    (rollout,) = from_record(changed(token_loss_mask=[mask], generation_logprobs=[logprobs]))
    assert rollout.response_mask.tolist() == [True, False, True]
    assert_track(rollout, "student", [0.0, None, -1.0])


def test_without_the_engines_values_the_trainers_are_the_students():
    (rollout,) = from_record(changed(generation_logprobs=None))
    assert_track(rollout, "student", [-0.25, -0.95, -0.02])
    assert "prev_logprobs" not in rollout.metadata


def test_nothing_sampled_is_an_empty_response():
    (rollout,) = from_record(changed(token_loss_mask=[[0] * 8]))
    assert rollout.prompt_ids.tolist() == [10, 11, 12, 20, 21, 2]
    assert len(rollout) == 0


@pytest.mark.parametrize("content", [["2+3?", "5"], ["2+3?", "5", "Environment: correct"]])
def test_a_distillation_run_is_text(content):
    (rollout,) = from_record({"content": [content], "input_lengths": [6], "idx": 4})
    assert (rollout.prompt_text, rollout.response_text, rollout.text_source) == ("2+3?", "5", "text")
    assert rollout.metadata["idx"] == 4


def test_validation_has_turns():
    log = [{"role": "user", "content": "2+3?"}, {"role": "assistant", "content": "5"}]
    judged = [*log, {"role": "environment", "content": "Environment: correct"}]
    (rollout,) = from_record({"content": [judged], "rewards": [1.0], "idx": 0})
    assert [message.content for message in rollout.messages] == ["2+3?"]
    assert rollout.responses == ("5",)
    assert rollout.reward == 1.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rewards": 1.0}, "found a float under 'rewards', expected a list of one"),
        ({"token_ids": [[1], [2]]}, "found 2 values under 'token_ids'"),
        ({"input_lengths": [9]}, "input_lengths 9 and 8 token_ids"),
        ({"token_loss_mask": [[0, 1]]}, "8 token_ids and 2 token_loss_mask values"),
        ({"generation_logprobs": [[0, 0]]}, "8 token_ids and 2 generation_logprobs"),
        ({"token_ids": None, "content": [["a", "b", "c"]]}, "3 texts without roles"),
        ({"token_ids": None, "content": [5]}, "found content 5"),
    ],
)
def test_a_broken_record_says_why(fields, said):
    with pytest.raises(ReadError, match=said):
        from_record(changed(**fields))


def test_a_probability_above_one_is_refused():
    with pytest.raises(RolloutError, match="above 0"):
        from_record(changed(generation_logprobs=[[0, 0, 0, 0.4, 0, 0, 0, 0]]))
