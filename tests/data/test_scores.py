"""Scores as a record and as a table."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.scores import RolloutScores, Scores
from opd_widgets.errors import InvalidInputError

ROLLOUT = opd.Rollout(id="r", prompt_ids=[1], response_ids=[2, 3])


def test_every_rollout_has_its_item():
    with pytest.raises(InvalidInputError, match="found 2 rollouts and 0 items"):
        Scores(rollouts=(ROLLOUT, ROLLOUT), student="s", teachers={}, items=(), pieces={})


def test_without_teachers_the_table_has_the_students_own_signals():
    item = RolloutScores(opd.LogprobTrack([-1.0, -2.0]), {"student_entropy": np.array([0.5, 1.5], np.float32)}, {})
    frame = Scores(rollouts=(ROLLOUT,), student="s", teachers={}, items=(item,), pieces={}).to_pandas()
    assert frame["token_id"].tolist() == [2, 3]
    assert frame["student_entropy"].tolist() == [0.5, 1.5]
    assert frame["teacher"].tolist() == [None, None]


def test_without_rollouts_the_table_is_empty():
    frame = Scores(rollouts=(), student="s", teachers={}, items=(), pieces={}).to_pandas()
    assert frame.columns.tolist() == ["rollout", "position", "token_id", "token", "teacher"]
