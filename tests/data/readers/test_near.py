"""A record that one value keeps from being in a known format."""

from __future__ import annotations

import json

import pytest

import opd_widgets as opd
from opd_widgets.data.readers.near import near_miss
from opd_widgets.errors import ReadError

VERL = {"input": "q", "output": "a", "score": 1.0, "step": 20}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({**VERL, "output": None}, "found null under 'output', where the format 'verl' has a text"),
        ({**VERL, "output": ["a"]}, "found a list under 'output', where the format 'verl' has a text"),
        ({**VERL, "output": 5}, "found a number under 'output', where the format 'verl' has a text"),
        ({**VERL, "input": None, "output": None}, "found null under 'input', 'output', where the format 'verl'"),
        ({"prompt": "q", "completion": None}, "found null under 'completion', where the format 'chat' has a text"),
        ({"messages": None}, "found null under 'messages', where the format 'messages' has a list"),
        ({"meta_info": None, "text": "a"}, "found null under 'meta_info', where the format 'sglang' has an object"),
    ],
)
def test_the_key_and_both_kinds_are_named(tmp_path, record, said):
    path = tmp_path / "dump.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(ReadError, match=f"line 1: {said}"):
        opd.read_rollouts(path)


@pytest.mark.parametrize("record", [{}, {"hello": "world"}, {"loss": None, "step": 3}, {"choices": 5, "question": "q"}])
def test_a_record_that_is_near_no_format(record):
    assert not near_miss(record)


def test_a_null_in_a_line_costs_that_line(tmp_path):
    path = tmp_path / "20.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (VERL, {**VERL, "output": None}, VERL)))
    with pytest.warns(UserWarning, match="2 rollouts read, 1 lines not: line 2: found null under 'output'"):
        assert [rollout.id for rollout in opd.read_rollouts(path)] == ["20:1", "20:3"]


def test_a_forced_format_names_file_and_line_in_place_of_an_id(tmp_path):
    path = tmp_path / "20.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (VERL, {**VERL, "output": None})))
    with pytest.warns(UserWarning, match="line 2: rollout '20:2' has neither response_ids nor response_text"):
        opd.read_rollouts(path, format="verl")
