"""Every known fault of scoring or reading has a test of its own number."""

from __future__ import annotations

import re
from pathlib import Path

# The others are of servers over the wire, of two tokenizers, and of the front end; their tests stand beside those.
ROWS = (
    1, 2, 4, 5, 7, 9, 10, 11, 12, 14, 15, 17, 22, 23, 26, 27, 28, 30, 31, 32, 34, 35, 36, 39, 41, 43, 44, 46, 47, 48,
    51, 52, 54,
)  # fmt: skip
TEST = re.compile(r"^def test_fault_(\d{2})_\w+\(", re.MULTILINE)


def rows_tested(folder):
    return {int(row) for path in folder.glob("test_*.py") for row in TEST.findall(path.read_text("utf-8"))}


def test_each_row_has_a_test():
    assert sorted(set(ROWS) - rows_tested(Path(__file__).parent)) == []


def test_a_row_without_a_test_would_be_found(tmp_path):
    (tmp_path / "test_shift.py").write_text("def test_fault_01_one():\n    pass\n", "utf-8")
    assert rows_tested(tmp_path) == {1}
