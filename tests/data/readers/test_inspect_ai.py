"""Inspect AI's samples."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.inspect_ai import from_record, parts
from opd_widgets.errors import InvalidInputError, ReadError
from tests.reader_cases import assert_track

USER = {"role": "user", "content": "2+3?"}
SAID = {"role": "assistant", "content": "It is 5"}
LOGPROBS = {
    "content": [
        {"token": "It", "logprob": -0.3, "bytes": [73, 116], "top_logprobs": []},
        {"token": " is", "logprob": None, "bytes": None},
        {"token": " 5", "logprob": -9999.0, "bytes": [32, 53]},
    ]
}


def sample(**fields):
    choice = {"message": SAID, "stop_reason": "stop"}
    plain = {"id": 1, "epoch": 2, "input": "2+3?", "target": "5", "messages": [USER, SAID]}
    return {**plain, "output": {"model": "m", "choices": [choice]}, "scores": {"match": {"value": "C"}}, **fields}


def output(**fields):
    return {"model": "m", "choices": [{"message": SAID, "stop_reason": "stop", **fields}]}


def test_a_sample():
    (rollout,) = from_record(sample())
    assert [message.content for message in rollout.messages] == ["2+3?"]
    assert (rollout.response_text, rollout.text_source, rollout.status) == ("It is 5", "text", "stop")
    assert (rollout.reward, rollout.question) == ({"match": 1.0}, "2+3?")
    assert (rollout.metadata["id"], rollout.metadata["epoch"]) == (1, 2)


def test_logprobs_are_read_at_their_tokens():
    (rollout,) = from_record(sample(output=output(logprobs=LOGPROBS)))
    assert (rollout.tokens, rollout.text_source) == (("It", " is", " 5"), "strings")
    assert rollout.response_text == "It is 5"
    assert_track(rollout, "student", [-0.3, None, float("-inf")])
    assert rollout.tracks["student"].censored.tolist() == [False, False, True]
    assert rollout.tracks["student"].provenance.model == "m"


def test_half_a_character_keeps_its_bytes():
    halves = [
        {"token": "\ufffd", "bytes": [240, 159], "logprob": -4.0},
        {"token": "\ufffd", "bytes": [145, 141], "logprob": 0},
    ]
    (rollout,) = from_record(sample(output=output(logprobs={"content": halves})))
    assert rollout.response_text == "👍"
    assert b"".join(rollout.token_bytes) == "👍".encode()
    assert len(rollout) == 2


def test_logprobs_after_tool_calls_show_the_last_response():
    called = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
    turns = [USER, called, {"role": "tool", "content": "5"}, SAID]
    (rollout,) = from_record(sample(messages=turns, output=output(logprobs=LOGPROBS)))
    assert rollout.messages is None
    assert len(rollout) == 3
    with pytest.raises(InvalidInputError, match="tool calls"):
        from_record(sample(messages=turns))


def test_several_turns_are_a_conversation():
    turns = [USER, SAID, {"role": "user", "content": "sure?"}, {"role": "assistant", "content": "yes"}]
    (rollout,) = from_record(sample(messages=turns))
    assert rollout.responses == ("It is 5", "yes")


def test_several_choices_are_several_responses():
    choices = [{"message": {**SAID, "content": text}, "stop_reason": "stop"} for text in ("5", "six")]
    rollouts = from_record(sample(output={"choices": choices}))
    assert [rollout.response_text for rollout in rollouts] == ["5", "six"]


def test_without_messages_the_input_is_the_prompt():
    (rollout,) = from_record(sample(messages=None))
    assert [message.content for message in rollout.messages] == ["2+3?"]
    assert rollout.response_text == "It is 5"


@pytest.mark.parametrize(
    ("value", "reward"),
    [("I", 0.0), ("P", 0.5), ("N", 0.0), (True, 1.0), (0.25, 0.25), ("some words", None), (None, None)],
)
def test_a_scorers_value_is_a_number_or_missing(value, reward):
    assert from_record(sample(scores={"match": {"value": value}}))[0].reward == {"match": reward}


def test_a_scorer_with_several_values():
    rollouts = from_record(sample(scores={"both": {"value": {"right": "C", "short": 0.5}}}))
    assert rollouts[0].reward == {"both/right": 1.0, "both/short": 0.5}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"output": output(stop_reason="max_tokens")}, "truncated"),
        ({"output": output(stop_reason="model_length")}, "truncated"),
        ({"limit": {"type": "token", "limit": 100}}, "truncated"),
        ({"error": {"message": "boom"}}, "aborted"),
        ({"output": output(stop_reason=None)}, "unknown"),
    ],
)
def test_how_it_ended(fields, status):
    assert from_record(sample(**fields))[0].status == status


def test_a_log_holds_its_samples():
    log = {"version": 2, "eval": {"task": "t"}, "samples": [sample(), sample(id=2)]}
    assert [rollout.metadata["id"] for rollout in from_record(log)] == [1, 2]
    assert list(parts(log)) == log["samples"]
    assert list(parts(sample())) == [sample()]


def test_a_sample_without_a_response_says_so():
    with pytest.raises(ReadError, match="sample 1 without choices"):
        from_record(sample(output={"choices": []}))
