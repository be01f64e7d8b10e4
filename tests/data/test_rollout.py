"""Rollouts refuse contradictions and say which."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, RolloutError


def rollout(**fields):
    return opd.Rollout(**{"id": "r", "prompt_ids": [1, 2], "response_ids": [3, 4, 5], **fields})


def test_ids_lengths_and_default_mask():
    made = rollout()
    assert len(made) == 3
    assert made.prompt_len == 2
    assert made.token_ids.tolist() == [1, 2, 3, 4, 5]
    assert made.response_mask.all()


def test_an_empty_response_is_a_rollout():
    assert len(rollout(response_ids=[])) == 0


def test_a_track_of_another_length_names_both_lengths():
    with pytest.raises(RolloutError, match=r"3 response tokens and track 'student' has 2"):
        rollout(tracks={"student": opd.LogprobTrack(np.array([-1.0, -2.0]))})


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(RolloutError, match="response_mask has 1"):
        rollout(response_mask=[True])


@pytest.mark.parametrize("bad", [[-1, 2], [[1, 2]], [1.5], [2**40]])
def test_ids_are_a_flat_list_of_non_negative_integers(bad):
    with pytest.raises(RolloutError, match="expected"):
        rollout(response_ids=bad)


def test_neither_ids_nor_text_is_refused():
    with pytest.raises(RolloutError, match="neither"):
        opd.Rollout(id="r")


def test_text_only_says_that_it_has_no_tokens_yet():
    made = opd.Rollout(id="r", prompt_text="p", response_text="x", text_source="text")
    with pytest.raises(RolloutError, match="text only"):
        len(made)
    with pytest.raises(RolloutError, match="no token ids"):
        _ = made.token_ids


def test_responses_of_a_conversation():
    turns = [
        {"role": "user", "content": "2+3?"},
        {"role": "assistant", "content": "5"},
        {"role": "user", "content": "sure?"},
        {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
    ]
    assert opd.Rollout(id="r", turns=turns).responses == ("5", "yes")


def test_a_picture_in_a_message_is_refused_by_its_kind():
    with pytest.raises(InvalidInputError, match="image_url"):
        opd.Message.parse({"role": "user", "content": [{"type": "image_url", "image_url": "x"}]})


def test_a_question_takes_a_string_and_needs_text():
    assert opd.Question("q", "2+3?").title == "2+3?"
    with pytest.raises(InvalidInputError, match="no text"):
        opd.Question("q", "  ")
    with pytest.raises(InvalidInputError, match="found an id of type int"):
        opd.Question(1, "2+3?")


@pytest.mark.parametrize(
    ("field", "allowed"),
    [("outcome", "'correct', 'incorrect'"), ("status", "'stop', 'truncated'"), ("text_source", "'exact_ids'")],
)
def test_an_unknown_word_is_refused_with_those_there_are(field, allowed):
    with pytest.raises(RolloutError, match=f"{field}='Right', expected one of {allowed}"):
        rollout(**{field: "Right"})
    with pytest.raises(RolloutError, match="expected one of"):
        rollout().with_outcome("Right")


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(2), 2.0),
        (np.array(0.25), 0.25),
        (1, 1.0),
        (float("nan"), None),
        (float("-inf"), float("-inf")),
        ({"a": np.float32(0.5), "b": None, "c": float("nan")}, {"a": 0.5, "b": None, "c": None}),
    ],
)
def test_a_reward_is_a_plain_number_and_nan_is_missing(raw, kept):
    found = rollout(reward=raw).reward
    assert found == kept
    assert type(found) is type(kept)
    if isinstance(found, dict):
        assert type(found["a"]) is float


@pytest.mark.parametrize(("raw", "kept"), [(np.int64(7), 7), (3.0, 3), (2**60 + 1, 2**60 + 1), (None, None)])
def test_a_step_is_a_plain_whole_number(raw, kept):
    found = rollout(step=raw).step
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    "bad",
    [
        {"reward": "high"}, {"reward": {"a": [1]}}, {"step": float("nan")}, {"step": 1.5}, {"step": "3"},
        {"response_ids": [[1], [2, 3]]}, {"response_ids": 5}, {"response_mask": True}, {"response_mask": [[True]] * 3},
        {"response_mask": [True, [False], True]}, {"response_mask": [0, 1, 2]}, {"tokens": "abc"},
        {"tokens": [1, 2, 3]},
        {"tokens": 5}, {"tracks": [1]}, {"tracks": {"student": [-1.0, -1.0, -1.0]}}, {"metadata": 5}, {"id": 5},
        {"id": None}, {"response_text": 5}, {"question": None}, {"messages": 5}, {"messages": {"role": "user"}},
        {"messages": [5]}, {"turns": 5},
    ],
)  # fmt: skip
def test_a_field_of_another_kind_is_refused_by_name(bad):
    with pytest.raises(InvalidInputError, match="expected"):
        rollout(**bad)


def test_a_mask_is_checked_before_there_are_tokens():
    made = opd.Rollout(id="r", response_text="x", response_mask=[1, 0], text_source="text")
    assert made.response_mask.dtype == bool


def test_a_message_is_text():
    with pytest.raises(InvalidInputError, match="message's content of type int"):
        opd.Message("user", 5)


def test_a_tool_call_is_refused_and_not_lost():
    turn = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    with pytest.raises(InvalidInputError, match="tool calls"):
        opd.Message.parse(turn)
