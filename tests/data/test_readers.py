"""Reading: the project's own format and chat messages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opd_widgets as opd
from opd_widgets.data.readers.own import from_record, to_record
from opd_widgets.errors import InvalidInputError, ReadError

CASES = Path(__file__).parents[1] / "cases" / "readers"

VALUES = st.one_of(st.floats(-50, 0, width=32), st.just(float("nan")), st.just(float("-inf")), st.just(0.0))


def test_messages_case():
    expected = json.loads((CASES / "expected.json").read_text())["messages.jsonl"][0]
    (rollout,) = opd.read_rollouts(CASES / "messages.jsonl")
    assert [turn.role for turn in rollout.turns] == expected["turns"]
    assert list(rollout.responses) == expected["responses"]
    assert rollout.reward == expected["reward"]
    assert rollout.text_source == expected["source"]


@given(st.lists(VALUES, min_size=1, max_size=6))
def test_round_trip_keeps_missing_infinite_and_zero_apart(values):
    n = len(values)
    rollout = opd.Rollout(
        id="r/1",
        prompt_ids=[1, 2],
        response_ids=list(range(n)),
        messages=[opd.Message("user", "ש\u202e<b>")],
        response_mask=[True] * (n - 1) + [False],
        question="q",
        outcome="correct",
        reward={"a": 1.0, "b": None},
        status="truncated",
        step=3,
        tracks={
            "student": opd.LogprobTrack(
                np.array(values, np.float32),
                rank=np.arange(n),
                entropy=np.array(values, np.float32),
                topk=opd.TopK(np.full((n, 2), 7), np.array([values, values], np.float32).T),
                provenance=opd.Provenance("vllm", "m", "float32", 0.7, "processed"),
                context_hash="abc",
            )
        },
        metadata={"k": [1, 2]},
    )
    (back,) = from_record(json.loads(json.dumps(to_record(rollout), allow_nan=False)))
    for name in ("prompt_ids", "response_ids", "response_mask"):
        np.testing.assert_array_equal(getattr(back, name), getattr(rollout, name))
    for name in ("id", "messages", "question", "outcome", "reward", "status", "step", "metadata"):
        assert getattr(back, name) == getattr(rollout, name)
    one, two = back.tracks["student"], rollout.tracks["student"]
    for name in ("logprobs", "rank", "entropy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.topk.logprobs, two.topk.logprobs)
    assert one.provenance == two.provenance
    assert one.context_hash == "abc"


def test_write_then_read(tmp_path):
    rollout = opd.Rollout(id="a", prompt_ids=[1], response_ids=[2, 3])
    path = opd.write_rollouts([rollout, rollout], tmp_path / "r.jsonl")
    with pytest.warns(UserWarning, match="1 rollouts had an id that others have too.*: 'a#2' for 'a'"):
        read = opd.read_rollouts(path)
    assert [(r.id, r.response_ids.tolist()) for r in read] == [("a", [2, 3]), ("a#2", [2, 3])]
    assert [p.name for p in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_broken_line_costs_that_line(tmp_path):
    path = opd.write_rollouts([opd.Rollout(id="a", prompt_ids=[1], response_ids=[2])], tmp_path / "r.jsonl")
    path.write_text(path.read_text() + '{"format": "opd_widgets.rol')
    with pytest.warns(UserWarning, match=r"r\.jsonl: 1 rollouts read, 1 lines not: line 2"):
        assert len(opd.read_rollouts(path)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"no rollouts in the file 'x\.jsonl'"),
        ('{"hello": "world"}', "no known format has the keys 'hello'; expected one of opd_widgets"),
        ("[1]", "item 1: found a int"),
        ('{"messages": [{"role": "user", "content": "hi"}]}', "no assistant turn"),
        ('{"format": "opd_widgets.rollout", "version": 99}', "version 99"),
    ],
)
def test_a_file_with_nothing_readable_says_why(tmp_path, text, said):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(ReadError, match=said):
        opd.read_rollouts(path)


def test_no_file_and_no_such_format(tmp_path):
    with pytest.raises(ReadError, match="no file"):
        opd.read_rollouts(tmp_path / "none.jsonl")
    with pytest.raises(InvalidInputError, match="expected one of"):
        opd.read_rollouts(tmp_path / "none.jsonl", format="verl2")


def round_trip(tmp_path, **fields):
    made = opd.Rollout(**{"id": "a", "prompt_ids": [1], "response_ids": [2, 3], **fields})
    (back,) = opd.read_rollouts(opd.write_rollouts([made], tmp_path / "r.jsonl"))
    return back


def test_an_empty_text_is_a_response(tmp_path):
    back = round_trip(
        tmp_path, prompt_ids=None, response_ids=None, prompt_text="", response_text="", text_source="text"
    )
    assert (back.prompt_text, back.response_text, back.question) == ("", "", "")


def test_an_empty_response_keeps_its_top_k(tmp_path):
    track = opd.LogprobTrack([], topk=opd.TopK(np.zeros((0, 3), np.int32), np.zeros((0, 3), np.float32)))
    assert round_trip(tmp_path, response_ids=[], tracks={"student": track}).tracks["student"].topk.ids.shape == (0, 3)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (float("nan"), None), (float("-inf"), float("-inf")), (np.float32(0.5), 0.5),
        ({"a": float("nan"), "b": np.float64("inf"), "c": 0}, {"a": None, "b": float("inf"), "c": 0.0}),
    ],
)  # fmt: skip
def test_a_reward_comes_back(tmp_path, raw, kept):
    assert round_trip(tmp_path, reward=raw).reward == kept


def test_numbers_of_numpy_in_step_and_metadata(tmp_path):
    metadata = {
        "loss": np.float32(0.5),
        "ids": np.arange(2),
        "deep": [{"n": np.int64(3)}],
        "nan": float("nan"),
        4: (1,),
    }
    back = round_trip(tmp_path, step=np.int64(7), metadata=metadata)
    assert back.step == 7
    assert back.metadata == {"loss": 0.5, "ids": [0, 1], "deep": [{"n": 3}], "nan": None, "4": [1]}


def test_half_a_surrogate_pair_comes_back(tmp_path):
    assert round_trip(tmp_path, response_text="a\ud83d\u2028é").response_text == "a\ud83d\u2028é"


def test_what_json_cannot_hold_is_named_and_leaves_no_file(tmp_path):
    with pytest.raises(InvalidInputError, match=r"rollout 'a': metadata\['when'\] is of type object"):
        round_trip(tmp_path, metadata={"when": object()})
    assert not list(tmp_path.iterdir())


def test_writing_where_no_file_can_be(tmp_path):
    with pytest.raises(InvalidInputError, match="found a folder"):
        opd.write_rollouts([], tmp_path)


RECORD = {"format": "opd_widgets.rollout", "version": 1, "id": "a", "prompt_ids": [1], "response_ids": [2, 3]}


@pytest.mark.parametrize(
    "broken",
    [
        {"tracks": [1]}, {"tracks": {"student": 5}}, {"tracks": {"student": {}}},
        {"tracks": {"student": {"logprobs": 5}}},
        {"tracks": {"student": {"logprobs": [-1, "x"]}}},
        {"tracks": {"student": {"logprobs": [-1, -1], "provenance": {"who": 1}}}},
        {"tracks": {"student": {"logprobs": [-1, -1], "topk": {"ids": [[1], [2]], "logprobs": [[-1, -2], [-1]]}}}},
        {"tracks": {"student": {"logprobs": [-1, -1], "topk": []}}}, {"metadata": [1]},
        {"messages": 5}, {"messages": [5]},
        {"response_mask": 5}, {"tokens": 5}, {"reward": "high"}, {"reward": [1]}, {"step": "x"}, {"outcome": "Right"},
        {"response_ids": [[1], [2, 3]]}, {"id": 5}, {"status": []}, {"version": []},
    ],
)  # fmt: skip
def test_a_malformed_record_costs_its_line_only(tmp_path, broken):
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps({**RECORD, **part}) for part in ({}, broken, {"id": "b"})))
    with pytest.warns(UserWarning, match=r"2 rollouts read, 1 lines not: line 2: \S"):
        assert [rollout.id for rollout in opd.read_rollouts(path)] == ["a", "b"]


def test_a_fault_of_the_reader_itself_costs_the_line_too(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([json.dumps(RECORD), "[" * 100_000, '{"messages": [{"role": "user"}], "id": null}']))
    with pytest.warns(UserWarning, match="1 rollouts read, 2 lines not: line 2: RecursionError"):
        opd.read_rollouts(path)


def test_messages_without_an_id_get_one(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(
        '{"id": null, "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}'
    )
    assert [rollout.id for rollout in opd.read_rollouts(path)] == ["r:1"]
