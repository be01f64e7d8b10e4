"""A file is written whole or not at all."""

from __future__ import annotations

import pytest

from opd_widgets.data.whole_file import check_target, whole_file
from opd_widgets.errors import InvalidInputError


def fail(path):
    with whole_file(path) as file:
        file.write("half")
        raise RuntimeError(path)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        fail(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_missing_folder_is_made(tmp_path):
    with whole_file(tmp_path / "new" / "deep" / "a.txt") as file:
        file.write("x")
    assert (tmp_path / "new" / "deep" / "a.txt").read_text() == "x"


def test_a_folder_and_a_file_in_the_way_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"found a folder at .*, expected the name of a file"):
        check_target(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInputError, match="no file can be written at"):
        check_target(tmp_path / "file" / "a.txt")
