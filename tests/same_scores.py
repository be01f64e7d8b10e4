"""Whether two scores are the same, value for value: NaN is equal to NaN, and nothing is nearly equal."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scores import Scores
from opd_widgets.data.topk import TopK
from opd_widgets.data.track import LogprobTrack


def assert_same_scores(found: Scores, expected: Scores) -> None:
    """Compare all that scores hold."""
    assert len(found) == len(expected)
    for name in ("student", "questions", "noise", "settings", "notes", "pieces"):
        assert getattr(found, name) == getattr(expected, name), name
    assert list(found.teachers.items()) == list(expected.teachers.items())
    for one, other in zip(found.rollouts, expected.rollouts, strict=True):
        assert_same_rollout(one, other)
    for mine, theirs in zip(found.items, expected.items, strict=True):
        _same_track(mine.student, theirs.student)
        _same_values(mine.signals, theirs.signals)
        assert list(mine.teachers) == list(theirs.teachers)
        for name, teacher in mine.teachers.items():
            wanted = theirs.teachers[name]
            _same_track(teacher.track, wanted.track)
            _same_values(teacher.signals, wanted.signals)
            for part in ("at_student_top", "student_at_top", "prompt_ids"):
                _same_array(getattr(teacher, part), getattr(wanted, part))
            assert (teacher.context, teacher.context_tokens) == (wanted.context, wanted.context_tokens)
            _same_array(teacher.groups, wanted.groups)
            assert (teacher.own is None) == (wanted.own is None)
            if teacher.own is not None and wanted.own is not None:
                _same_array(teacher.own.ids, wanted.own.ids)
                _same_array(teacher.own.groups, wanted.own.groups)
                assert teacher.own.pieces == wanted.own.pieces
            assert teacher.leaks_answer is wanted.leaks_answer


def assert_same_rollout(found: Rollout, expected: Rollout) -> None:
    """Compare every field of two rollouts."""
    for field in fields(Rollout):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "tracks":
            assert one.keys() == other.keys()
            for name in one:
                _same_track(one[name], other[name])
        elif isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
            _same_array(one, other)
        else:
            np.testing.assert_equal(one, other, field.name)


def _same_track(found: LogprobTrack, expected: LogprobTrack) -> None:
    for name in ("logprobs", "rank", "entropy", "censored"):
        _same_array(getattr(found, name), getattr(expected, name))
    _same_topk(found.topk, expected.topk)
    assert found.provenance == expected.provenance
    assert found.context_hash == expected.context_hash


def _same_topk(found: TopK | None, expected: TopK | None) -> None:
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        _same_array(found.ids, expected.ids)
        _same_array(found.logprobs, expected.logprobs)


def _same_values(found, expected) -> None:
    assert list(found) == list(expected)
    for name in found:
        _same_array(found[name], expected[name])


def _same_array(found, expected) -> None:
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected, strict=True)
