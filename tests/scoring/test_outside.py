"""Probability on ids that are no token of both: said, where it is more than a trifle."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from tests import tiny


@pytest.mark.parametrize(("rows", "noted"), [(64, True), (None, False)])
def test_a_head_with_rows_that_are_no_token(rows, noted):
    """Random weights put a fifth of their probability on the rows beyond the tokenizer's; trained ones next to none."""
    size = tiny.tokenizer().backend_tokenizer.get_vocab_size()
    student = tiny.model(0, vocab=rows or size)
    teacher = opd.Teacher(tiny.model(1, vocab=rows or size))
    rollout = opd.Rollout(id="r", prompt_ids=[3, 9], response_ids=[9, 12, 7])
    scores = opd.score([rollout], student, {"t": teacher}, noise_rollouts=0, progress=False)
    assert any("lies on ids that the student and t do not both have" in note for note in scores.notes) is noted
