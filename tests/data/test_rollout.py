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
