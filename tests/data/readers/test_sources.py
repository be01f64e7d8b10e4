"""Which files are read: a folder, a glob, a list."""

from __future__ import annotations

import json

import pytest

import opd_widgets as opd
from opd_widgets.data.readers.sources import sources
from opd_widgets.errors import InvalidInputError, ReadError

LINE = json.dumps({"input": "q", "output": "a", "score": 1.0, "step": 1}) + "\n"


@pytest.fixture
def folder(tmp_path):
    for name in ("step_1/rollouts.jsonl", "step_2/rollouts.jsonl", "notes.txt", ".hidden/x.jsonl", "b.jsonl.gz.part"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LINE)
    return tmp_path


def test_a_folder_with_its_subfolders(folder):
    rollouts = opd.read_rollouts(folder)
    assert [rollout.id for rollout in rollouts] == ["step_1/rollouts:1", "step_2/rollouts:1"]


def test_a_glob(folder):
    assert [source.label for source in sources(str(folder / "step_*" / "*.jsonl"))] == [
        "step_1/rollouts.jsonl",
        "step_2/rollouts.jsonl",
    ]


def test_a_list_in_its_order_and_each_file_once(folder):
    one, two = folder / "step_1" / "rollouts.jsonl", folder / "step_2" / "rollouts.jsonl"
    assert [source.path for source in sources([two, str(one), two])] == [two, one]


def test_a_name_with_signs_of_a_glob_is_a_name(tmp_path):
    (tmp_path / "run[1].jsonl").write_text(LINE)
    assert [rollout.id for rollout in opd.read_rollouts(tmp_path / "run[1].jsonl")] == ["run[1]:1"]


def test_the_ending_of_a_packed_file_is_no_part_of_an_id(tmp_path):
    (tmp_path / "20.jsonl.gz").write_text(LINE)  # told from the content, not from the name
    assert [rollout.id for rollout in opd.read_rollouts(tmp_path / "20.jsonl.gz")] == ["20:1"]


def test_a_file_that_is_no_dump_is_named_once(folder):
    (folder / "metrics.jsonl").write_text('{"loss": 1}\n' * 50)
    with pytest.warns(UserWarning, match=r"3 files: 2 rollouts read, 1 lines not: metrics\.jsonl line 1: no known"):
        opd.read_rollouts(folder)


def test_broken_lines_of_several_files_are_named_with_their_file(folder):
    with (folder / "step_2" / "rollouts.jsonl").open("a") as file:
        file.write("{\n")
    with pytest.warns(UserWarning, match=r"2 files: 2 rollouts read, 1 lines not: step_2/rollouts\.jsonl line 2: "):
        opd.read_rollouts(folder)


def test_an_empty_file_among_others(folder):
    (folder / "step_2" / "rollouts.jsonl").write_text("")
    with pytest.warns(UserWarning, match=r"step_2/rollouts\.jsonl: it is empty"):
        assert len(opd.read_rollouts(folder)) == 1


@pytest.mark.parametrize("place", ["none.jsonl", "none_*.jsonl", "empty"])
def test_nothing_there(tmp_path, place):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReadError, match="found no"):
        opd.read_rollouts(tmp_path / place)


@pytest.mark.parametrize("given", [5, [5]])
def test_no_path(given):
    with pytest.raises(InvalidInputError, match="found a path of type int"):
        opd.read_rollouts(given)


def test_an_empty_list():
    with pytest.raises(ReadError, match="empty list"):
        opd.read_rollouts([])
