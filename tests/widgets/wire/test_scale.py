"""Where a colour scale ends: worked by hand from what each teacher says."""

from __future__ import annotations

from dataclasses import replace

import pytest

import opd_widgets as opd
from opd_widgets.widgets.wire.scale import signal_rows
from tests import byte_pair

ENGINE = opd.Provenance("vllm", "m", "float32", 1.0, "raw")
TOKENS = 8


def advantage_row(*advantages: float, noise: float | None = None):
    """Return the advantage's row for teachers of which each is so far from the student at every token, nats."""
    track = opd.LogprobTrack([-60.0] * TOKENS, provenance=ENGINE)
    tracks = {
        f"t{number}": opd.LogprobTrack([-60.0 + value] * TOKENS, provenance=ENGINE)
        for number, value in enumerate(advantages)
    }
    rollout = opd.Rollout(id="r", prompt_ids=[1], response_ids=range(TOKENS), tracks={"student": track, **tracks})
    scores = opd.scores_from_tracks([rollout])
    if noise is not None:
        scores = replace(scores, noise={"advantage": noise})
    return next(row for row in signal_rows(scores) if row["name"] == "advantage")


@pytest.mark.parametrize(
    ("advantages", "limit"),
    [
        ((-0.9,), 1.0),
        ((-0.9, -52.0), 1.0),  # the mean of both would be 26.45, and the first teacher's 0.9 not one step of twelve
        ((-52.0, -0.9), 1.0),  # whichever comes first
        ((-0.9, -1.9, -52.0), 2.0),
        ((-0.9, -1.9, 2.9, -52.0), 2.0),
    ],
)
def test_one_odd_teacher_does_not_set_the_scale(advantages, limit):
    assert advantage_row(*advantages)["limit"] == limit


def test_what_lies_beyond_is_said_on_its_own_side():
    row = advantage_row(-0.9, -52.0)
    assert (row["below"], row["above"]) == (True, False)
    row = advantage_row(-0.9, 52.0)
    assert (row["below"], row["above"]) == (False, True)


@pytest.mark.parametrize(("same", "noise"), [(0.0, None), (1e-3, 2e-3)])
def test_a_teacher_that_cannot_be_told_from_the_student_has_no_say(same, noise):
    assert advantage_row(same, -4.0, noise=noise)["limit"] == 5.0
    assert advantage_row(same, -4.0, -52.0, noise=noise)["limit"] == 5.0


def test_the_student_alone_still_has_a_scale():
    assert advantage_row(0.0)["limit"] == 1e-6


def test_a_teacher_of_another_tokenizer_does_not_wash_out_the_other():
    """Real models: an untrained one, whose values are sums over groups, lies far out beside a trained one."""
    lab = opd.demo()
    same = next(teacher for teacher in lab.teachers.values() if teacher.context is None)
    other = opd.Teacher(byte_pair.teacher())
    limits = []
    for teachers in ({"same": same}, {"other": other}, {"same": same, "other": other}):
        rows = signal_rows(opd.score(lab.rollouts[:3], lab.student, teachers, progress=False))
        limits.append(next(row["limit"] for row in rows if row["name"] == "advantage"))
    assert limits[1] > 2 * limits[0]
    assert limits[2] == limits[0]
