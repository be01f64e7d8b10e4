"""ms-swift's completions, as columns and as rows."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.ms_swift import from_record
from opd_widgets.errors import ReadError

COLUMNS = {
    "step": ["3", "3"],
    "prompt": ["2+3?", "2+4?"],
    "completion": ["5", ""],
    "accuracy": [1.0, 0.0],
    "format": [None, 0.5],
    "advantages": [0.7, -0.7],
    "solution": ["5", "6"],
}
ROW = {"gen_step": 3, "prompt": "2+3?", "completion": "5", "reward": 1.0}


def test_columns_are_many_rollouts():
    one, two = from_record(COLUMNS)
    assert (one.prompt_text, one.response_text, one.step) == ("2+3?", "5", 3)
    assert one.reward == {"accuracy": 1.0, "format": None}
    assert one.metadata == {"advantages": 0.7, "solution": "5"}
    assert (two.response_text, two.text_source) == ("", "text")
    assert two.reward == {"accuracy": 0.0, "format": 0.5}


def test_gkd_has_no_rewards():
    (rollout,) = from_record({"step": ["1"], "prompt": ["a"], "completion": ["b"]})
    assert rollout.reward is None


def test_a_row_is_one():
    (rollout,) = from_record(ROW)
    assert (rollout.response_text, rollout.reward, rollout.step) == ("5", 1.0, 3)


def test_a_row_with_several_rewards_names_them():
    (rollout,) = from_record({**ROW, "accuracy": 0.0})
    assert rollout.reward == {"reward": 1.0, "accuracy": 0.0}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({**COLUMNS, "accuracy": [1.0]}, "2 prompts and 1 accuracy"),
        ({**COLUMNS, "completion": ["a", "b", "c"]}, "2 prompts and 3 completion"),
        ({**COLUMNS, "completion": ["a", 5]}, "completion of type int"),
        ({**COLUMNS, "step": ["3", "x"]}, "'x' as a step"),
        ({**ROW, "completion": None}, "completion of type NoneType"),
    ],
)
def test_a_broken_record_says_why(record, said):
    with pytest.raises(ReadError, match=said):
        from_record(record)
