"""verifiers' traces and results."""

from __future__ import annotations

import copy

import pytest

from opd_widgets.data.readers.verifiers import from_record
from opd_widgets.errors import InvalidInputError, ReadError
from tests.reader_cases import EXPECTED, assert_ids, assert_track, records

FILE = "verifiers_trace.json"
USER = {"role": "user", "content": "2+3?"}
FIVE = {"role": "assistant", "content": "5"}


def trace():
    return copy.deepcopy(records(FILE)[0])


def node(parent, message, **fields):
    return {"parent": parent, "message": message, "sampled": message["role"] == "assistant", **fields}


def result(**fields):
    plain = {"example_id": 3, "prompt": [USER], "completion": [FIVE], "answer": "5", "reward": 1.0, "accuracy": 1.0}
    return {**plain, "is_truncated": False, "stop_condition": None, "error": None, **fields}


def test_case():
    rollouts = from_record(records(FILE)[0])
    assert len(rollouts) == len(EXPECTED[FILE])
    for rollout, expected in zip(rollouts, EXPECTED[FILE], strict=True):
        assert_ids(rollout, expected)
        assert rollout.reward == {"acc": 1.0}
        assert rollout.status == "stop"
        assert rollout.question == "2+3?"
    assert [rollout.response_text for rollout in rollouts] == ["5", "six"]


def test_the_generation_prompt_on_the_models_node_belongs_to_the_prompt():
    raw = trace()
    raw["nodes"][1] |= {"token_ids": [8, 9, 20, 2], "mask": [False, False, True, True]}
    rollout = from_record(raw)[0]
    assert rollout.prompt_ids.tolist() == [10, 11, 8, 9]
    assert rollout.response_ids.tolist() == [20, 2]
    assert_track(rollout, "student", [-0.3, -0.1])


def test_missing_is_not_zero():
    raw = trace()
    raw["nodes"][1] |= {"logprobs": [], "reference_logprobs": [None, 0.0]}
    raw["nodes"].pop()
    (rollout,) = from_record(raw)
    assert "student" not in rollout.tracks
    assert_track(rollout, "teacher", [None, 0.0, None])


def test_a_tools_turn_between_two_of_the_models_is_in_no_aggregate():
    raw = trace()
    raw["nodes"][2] = node(1, {"role": "tool", "content": "ok"}, token_ids=[30, 31], mask=[False, False])
    raw["nodes"].append(node(2, FIVE, token_ids=[21, 2], mask=[True, True], logprobs=[-0.9, -0.4]))
    (rollout,) = from_record(raw)
    assert rollout.response_ids.tolist() == [20, 2, 13, 30, 31, 21, 2]
    assert_track(rollout, "student", [-0.3, -0.1, None, None, None, -0.9, -0.4])
    assert_track(rollout, "teacher", [-0.2, -4.0, None, None, None, None, None])


def test_ids_and_groups():
    raw = {**trace(), "id": "abc", "task": {"type": "T", "data": {}, "key": "gsm8k/1"}}
    assert [(r.id, r.question) for r in from_record(raw)] == [("abc/0", "gsm8k/1"), ("abc/1", "gsm8k/1")]
    raw["nodes"].pop()
    assert [r.id for r in from_record(raw)] == ["abc"]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"stop_condition": "max_output_tokens"}, "truncated"),
        ({"stop_condition": None, "calls": [{"node": 1, "finish_reason": "length"}]}, "truncated"),
        ({"stop_condition": "error", "errors": [{"type": "E"}]}, "aborted"),
        ({"stop_condition": "agent_completed"}, "stop"),
        ({"stop_condition": None}, "unknown"),
    ],
)
def test_how_it_ended(fields, status):
    assert from_record({**trace(), **fields})[0].status == status


def test_a_reward_that_was_not_computed_is_missing():
    raw = {**trace(), "rewards": {"acc": None, "style": {"score": 0.5, "weight": 2.0}}}
    rollout = from_record(raw)[0]
    assert rollout.reward == {"acc": None, "style": 0.5}
    assert rollout.metadata["weights"] == {"style": 2.0}


def test_a_prompt_with_tool_calls_keeps_its_ids():
    raw = trace()
    raw["nodes"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    rollout = from_record(raw)[0]
    assert rollout.messages is None
    assert rollout.prompt_ids.tolist() == [10, 11]


def test_without_ids_it_is_text():
    (rollout,) = from_record({"nodes": [node(None, USER), node(0, FIVE)], "rewards": {}})
    assert (rollout.text_source, rollout.responses, rollout.reward) == ("text", ("5",), None)


def test_a_root_of_the_models_own():
    (rollout,) = from_record({"nodes": [node(None, FIVE, token_ids=[1, 2], logprobs=[-1, -2])], "rewards": {}})
    assert rollout.prompt_ids.tolist() == []
    assert_track(rollout, "student", [-1, -2])


@pytest.mark.parametrize(
    ("number", "fields", "said"),
    [
        (1, {"logprobs": [-0.3]}, "2 sampled tokens and 1 logprobs"),
        (1, {"reference_logprobs": [-1, -1, -1]}, "2 sampled tokens and 3 reference_logprobs"),
        (1, {"mask": [True]}, "3 tokens and 1 mask values"),
        (1, {"token_ids": [], "mask": []}, "without token_ids beside"),
        (1, {"parent": 1}, "turn 1 with parent 1"),
        (1, {"parent": 7}, "turn 1 with parent 7"),
        (0, {"parent": -1}, "turn 0 with parent -1"),
    ],
)
def test_a_broken_trace_says_why(number, fields, said):
    raw = trace()
    raw["nodes"][number] |= fields
    with pytest.raises(ReadError, match=said):
        from_record(raw)


@pytest.mark.parametrize("nodes", [[], [node(None, USER)]])
def test_nothing_the_model_wrote(nodes):
    with pytest.raises(ReadError, match="none that the model wrote"):
        from_record({"nodes": nodes, "rewards": {}})


def test_text_with_tool_calls_is_refused():
    called = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
    with pytest.raises(InvalidInputError, match="tool calls"):
        from_record({"nodes": [node(None, USER), node(0, called)], "rewards": {}})


def test_a_result():
    (rollout,) = from_record(result())
    assert [message.content for message in rollout.messages] == ["2+3?"]
    assert (rollout.response_text, rollout.reward, rollout.status) == ("5", 1.0, "unknown")
    assert rollout.metadata == {"example_id": 3, "answer": "5", "accuracy": 1.0}


def test_a_result_of_several_turns():
    turns = [FIVE, {"role": "user", "content": "sure?"}, {"role": "assistant", "content": "yes"}]
    (rollout,) = from_record(result(completion=turns))
    assert rollout.responses == ("5", "yes")
    assert [turn.role for turn in rollout.turns] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"is_truncated": True, "stop_condition": "done"}, "truncated"),
        ({"error": "boom"}, "aborted"),
        ({"stop_condition": "has_final_env_response"}, "stop"),
        ({"stop_condition": "max_turns"}, "truncated"),
    ],
)
def test_how_a_result_ended(fields, status):
    assert from_record(result(**fields))[0].status == status


def test_an_example_in_the_prompt_is_not_the_students():
    turns = [FIVE, USER, FIVE]
    with pytest.raises(ReadError, match="an assistant turn in the prompt and a completion of 3 turns"):
        from_record(result(prompt=[USER, FIVE, USER], completion=turns))
