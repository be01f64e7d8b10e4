"""Groups of equal bytes: by hand, and for any two ways to cut any text."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opd_widgets.data.crosstok import Alignment, last_of, meet, meet_spans
from opd_widgets.errors import InvalidInputError


def groups(student, teacher):
    met = meet(student, teacher)
    return met.student.tolist(), met.teacher.tolist()


@pytest.mark.parametrize(
    ("student", "teacher", "expected"),
    [
        ([b"ab", b"c"], [b"a", b"bc"], ([0, 0], [0, 0])),
        ([b"ab", b"c", b"d"], [b"a", b"b", b"cd"], ([0, 1, 1], [0, 0, 1])),
        ([b"a", b"b", b"c"], [b"abc"], ([0, 0, 0], [0])),
        ([b"\xf0\x9f", b"\x91\xa9", b"!"], ["👩".encode(), b"!"], ([0, 0, 1], [0, 1])),
        ([b"", b"a", b""], [b"a"], ([0, 0, 0], [0])),
        ([], [], ([], [])),
        ([b""], [], ([-1], [])),
    ],
)
def test_by_hand(student, teacher, expected):
    assert groups(student, teacher) == expected


def test_two_texts_are_refused():
    with pytest.raises(InvalidInputError, match="differ from byte 1 on"):
        meet([b"ab"], [b"ac"])


def test_a_stretch_that_nothing_says_is_in_no_group():
    # bytes 2 to 4 are said by no token; the student's "cd" reaches into them from the left, "ef" from the right
    met = meet_spans([b"a", b"b", b"cd", b"ef", b"g"], [(0, 2), None, (5, 6), (6, 7)])
    assert met.student.tolist() == [0, 0, -1, -1, 1]
    assert met.teacher.tolist() == [0, -1, -1, 1]


CUTS = st.binary(max_size=30).flatmap(
    lambda data: st.tuples(st.just(data), *[st.sets(st.integers(0, len(data))) for _ in range(2)])
)


def cut(data, places):
    edges = [0, *sorted(places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges) if a < b]


@given(CUTS)
def test_any_two_cuts_of_any_text(drawn):
    data, *places = drawn
    sides = [cut(data, some) for some in places]
    met = meet(*sides)
    count = max(met.student.max(initial=-1), met.teacher.max(initial=-1)) + 1
    edges = [set(itertools.accumulate(map(len, side), initial=0)) for side in sides]
    for side, found in zip(sides, met, strict=True):
        assert len(found) == len(side)
        assert (np.diff(found) >= 0).all()  # in order, so that a group is a stretch
        assert set(found.tolist()) == set(range(count))  # every token is in a group, and every group is there
    start = 0
    for group in range(count):
        parts = [
            b"".join(token for token, own in zip(side, found, strict=True) if own == group)
            for side, found in zip(sides, met, strict=True)
        ]
        assert parts[0] == parts[1] != b""
        stop = start + len(parts[0])
        assert not {x for x in edges[0] & edges[1] if start < x < stop}  # no smaller one would do
        start = stop
    assert start == len(data)


@given(CUTS)
def test_one_tokenization_gives_one_to_one(drawn):
    data, places, _ = drawn
    side = cut(data, places)
    assert groups(side, side) == ([*range(len(side))], [*range(len(side))])


@given(CUTS)
def test_sums_add_up_to_the_whole(drawn):
    data, *places = drawn
    sides = [cut(data, some) for some in places]
    met = meet(*sides)
    lines = Alignment(*met)
    rng = np.random.default_rng(0)
    s, t = (-rng.random(len(side)) for side in sides)
    for sums, values in ((lines.student_sums(s), s), (lines.teacher_sums(t), t)):
        assert np.isfinite(sums).sum() == len(lines.last)
        assert np.nansum(sums) == pytest.approx(values.sum(), abs=1e-5)


def test_sums_stand_at_the_last_token_and_what_is_not_comparable_is_missing():
    lines = Alignment([0, 0, -1, 1], [0, -1, 1, 1])
    np.testing.assert_array_equal(lines.student_sums(np.array([-1, -2, -4, -8.0])), [np.nan, -3, np.nan, -8])
    np.testing.assert_array_equal(lines.teacher_sums(np.array([-1, -2, -4, -np.inf])), [np.nan, -1, np.nan, -np.inf])
    assert last_of(np.array([-1, -1])).tolist() == []


@pytest.mark.parametrize(("student", "teacher"), [([1, 0], [0, 1]), ([0, 1], [0]), ([-2], [0]), ([1], [1])])
def test_groups_that_no_alignment_gives_are_refused(student, teacher):
    with pytest.raises(InvalidInputError, match="expected"):
        Alignment(student, teacher)
