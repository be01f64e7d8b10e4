"""Ids of one reading name one rollout each."""

from __future__ import annotations

import gzip
import json
import warnings

import pytest

import opd_widgets as opd
from opd_widgets.data.readers.unique import Part, unique

VERL = json.dumps({"input": "q", "output": "a", "score": 1.0}) + "\n"


def ids(path):
    return [rollout.id for rollout in opd.read_rollouts(path)]


def text(name):
    return opd.Rollout(id=name, response_text="x", text_source="text")


def answer(name):
    return json.dumps({"id": name, "choices": [{"message": {"content": "5"}}]}) + "\n"


def test_an_id_that_stands_once_is_left_as_it_is(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(answer(f"c{name}"))
    assert ids(tmp_path) == ["ca", "cb"]


def test_an_id_in_several_files_gets_the_files_name(tmp_path):
    for name in ("step_1", "step_2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "out.jsonl").write_text(answer("c") + answer(name))
    with pytest.warns(UserWarning, match=r"2 files: 2 rollouts had an id that others have too.*'step_1/out:c' for 'c'"):
        assert ids(tmp_path) == ["step_1/out:c", "step_1", "step_2/out:c", "step_2"]


def test_a_repeat_within_a_file_gets_a_number(tmp_path):
    (tmp_path / "out.json").write_text(f"[{answer('c')},{answer('d')},{answer('c')},{answer('c')}]")
    with pytest.warns(UserWarning, match=r"out\.json: 2 rollouts had an id .*: 'c#2' for 'c', 'c#3' for 'c'$"):
        assert ids(tmp_path / "out.json") == ["c", "d", "c#2", "c#3"]


def test_files_whose_names_differ_in_their_endings_only(tmp_path):
    (tmp_path / "verl.jsonl").write_text(VERL)
    (tmp_path / "verl.json").write_text(VERL)
    (tmp_path / "verl.jsonl.gz").write_bytes(gzip.compress(VERL.encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing was renamed: they came without ids
        assert ids(str(tmp_path / "verl*")) == ["verl.json:1", "verl.jsonl:1", "verl.jsonl.gz:1"]


def test_a_name_made_here_is_no_name_of_another_rollout():
    made, said = unique([Part("f", [text("a"), text("a"), text("a#2")]), Part("g", [text("f:b"), text("b")])])
    assert [rollout.id for rollout in made] == ["a", "a#3", "a#2", "f:b", "b"]
    assert "'a#3' for 'a'" in said
    made, _ = unique([Part("f", [text("b"), text("b")]), Part("g", [text("f:b"), text("b")])])
    names = [rollout.id for rollout in made]
    assert len(set(names)) == 4
    assert names == ["f:b#2", "f:b#3", "f:b", "g:b"]


def test_reading_again_gives_the_same_ids(tmp_path):
    (tmp_path / "out.jsonl").write_text(answer("c") * 3)
    with pytest.warns(UserWarning, match="2 rollouts had an id"):
        first = opd.read_rollouts(tmp_path)
    opd.write_rollouts(first, tmp_path / "again.jsonl")
    assert ids(tmp_path / "again.jsonl") == ["c", "c#2", "c#3"]
