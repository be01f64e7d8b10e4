"""Prompt and completion of chat data sets."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.chat import from_record
from opd_widgets.errors import InvalidInputError, ReadError

USER = {"role": "user", "content": "2+3?"}
FIVE = {"role": "assistant", "content": [{"type": "text", "text": "5"}]}


@pytest.mark.parametrize("prompt", ["2+3?", [USER]])
@pytest.mark.parametrize("completion", ["5", [FIVE]])
def test_text_or_turns_on_either_side(prompt, completion):
    (rollout,) = from_record({"prompt": prompt, "completion": completion, "reward": 1.0, "id": 4, "source": "x"})
    assert (rollout.id, rollout.response_text, rollout.text_source) == ("4", "5", "text")
    assert rollout.question == "2+3?"
    assert (rollout.prompt_text is None) == (rollout.messages is not None) == (prompt != "2+3?")
    assert (rollout.reward, rollout.metadata) == (1.0, {"source": "x"})


def test_several_turns():
    (rollout,) = from_record({"prompt": "2+3?", "completion": [FIVE, USER, FIVE]})
    assert rollout.responses == ("5", "5")
    assert [turn.role for turn in rollout.turns] == ["user", "assistant", "user", "assistant"]


def test_an_example_in_the_prompt_of_one_response():
    (rollout,) = from_record({"prompt": [USER, FIVE, USER], "completion": [FIVE]})
    assert len(rollout.messages) == 3
    assert rollout.responses == ("5",)


def test_empty_texts_are_texts():
    (rollout,) = from_record({"prompt": "", "completion": ""})
    assert (rollout.prompt_text, rollout.response_text) == ("", "")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"prompt": [USER], "completion": [USER]}, "no assistant turn"),
        ({"prompt": [USER]}, "found no 'completion'"),
        ({"prompt": [USER, FIVE], "completion": [FIVE, USER, FIVE]}, "cannot be told apart"),
    ],
)
def test_a_broken_record_says_why(record, said):
    with pytest.raises(ReadError, match=said):
        from_record(record)


def test_tool_calls_are_refused():
    called = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
    with pytest.raises(InvalidInputError, match="tool calls"):
        from_record({"prompt": [USER], "completion": [called]})
