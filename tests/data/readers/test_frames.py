"""Tables in memory."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from opd_widgets.data.readers.frames import is_table, records_of
from opd_widgets.errors import InvalidInputError


class Dataset:
    """What `datasets.Dataset` offers to a reader."""

    def __init__(self, rows):
        self.rows = rows

    @property
    def column_names(self):
        return list(self.rows[0])

    def __iter__(self):
        return iter(self.rows)


class Formatted(Dataset):
    """One set to pandas: its rows are frames until the format is taken off."""

    format: ClassVar = {"type": "pandas"}

    def __iter__(self):
        return iter([pd.DataFrame(self.rows)])

    def with_format(self, form):
        assert form is None
        return Dataset(self.rows)


class DatasetDict(dict):
    @property
    def column_names(self):
        return {split: data.column_names for split, data in self.items()}


def test_a_frame_gives_plain_values():
    frame = pd.DataFrame(
        {
            "step": [20, 20],
            "prompt": ["2+3?", None],
            "reward": [1.0, np.nan],
            "ids": [np.array([1, 2]), [3]],
            "turns": [np.array([{"role": "user", "content": np.str_("x")}], dtype=object), []],
            "logprobs": [[-0.5, np.nan], None],
        }
    )
    one, two = records_of(frame)
    assert one["step"] == 20
    assert type(one["step"]) is int
    assert (one["reward"], two["reward"], two["prompt"], two["logprobs"]) == (1.0, None, None, None)
    assert (one["ids"], one["turns"]) == ([1, 2], [{"role": "user", "content": "x"}])
    assert np.isnan(one["logprobs"][1])


def test_pandas_own_missing_values():
    frame = pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "when": [pd.NaT, pd.NaT]})
    assert list(records_of(frame)) == [{"n": 1, "when": None}, {"n": None, "when": None}]


def test_a_long_frame_is_read_in_order():
    assert [row["n"] for row in records_of(pd.DataFrame({"n": range(2500)}))] == list(range(2500))


def test_an_empty_frame_has_no_rows():
    assert list(records_of(pd.DataFrame({"a": []}))) == []


def test_a_data_set():
    rows = [{"prompt": "a", "logprobs": np.array([-0.5, -1.0], np.float32)}, {"prompt": "b", "logprobs": None}]
    assert is_table(Dataset(rows))
    assert list(records_of(Dataset(rows))) == [
        {"prompt": "a", "logprobs": [-0.5, -1.0]},
        {"prompt": "b", "logprobs": None},
    ]


def test_a_data_set_that_is_set_to_another_format():
    assert list(records_of(Formatted([{"a": 1}]))) == [{"a": 1}]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (DatasetDict(train=Dataset([{"a": 1}])), r"splits \['train'\]"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"several columns of one name: \['a'\]"),
        ([1], "found a list"),
    ],
)
def test_what_is_no_single_table_says_why(table, said):
    with pytest.raises(InvalidInputError, match=said):
        list(records_of(table))


@pytest.mark.parametrize("value", ["path", [], {}, 5, None])
def test_other_values_are_no_tables(value):
    assert not is_table(value)


def test_neither_package_is_imported():
    code = (
        "import sys; before = set(sys.modules); import opd_widgets.data.readers.frames;"
        "print({'pandas', 'datasets'} & (set(sys.modules) - before))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
