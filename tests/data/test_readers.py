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
    back = from_record(json.loads(json.dumps(to_record(rollout), allow_nan=False)))
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
    assert [r.response_ids.tolist() for r in opd.read_rollouts(path)] == [[2, 3], [2, 3]]
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
        ("[1]", "found a list"),
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
