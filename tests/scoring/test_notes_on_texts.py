"""What is said of text that was made into ids anew."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from tests import tiny

LEFT_OUT = r"the log-probabilities that came with 1 of 2 rollouts \('student'\) are left out"


def rollouts():
    track = opd.LogprobTrack(np.asarray([-1.0, -2.0], np.float32))
    strings = opd.Rollout(
        id="a", prompt_text="q", tokens=("1", "9"), response_text="19", text_source="strings", tracks={"student": track}
    )
    return [strings, opd.Rollout(id="b", prompt_text="q", response_text="19", text_source="text")]


def test_tracks_of_other_tokens_are_left_out_with_a_note_and_a_warning():
    with pytest.warns(UserWarning, match=LEFT_OUT):
        scores = opd.score(rollouts(), tiny.model(0), {"T": opd.Teacher(tiny.model(1))}, progress=False)
    assert [note for note in scores.notes if note.startswith("the log-probabilities that came with 1 of 2")]
    assert [rollout.tracks for rollout in scores.rollouts] == [{}, {}]


def test_text_that_came_without_tracks_has_no_such_note():
    scores = opd.score(rollouts()[1:], tiny.model(0), {"T": opd.Teacher(tiny.model(1))}, progress=False)
    assert not [note for note in scores.notes if "left out" in note]
