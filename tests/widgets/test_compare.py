"""Compare's numbers by hand, what travels to the browser, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets._compare_table import common_groups, difference, regrouped
from opd_widgets.widgets._traits import planes
from opd_widgets.widgets.wire.scale import signal_rows

ENGINE = opd.Provenance("vllm", "m", "float32", 1.0, "raw")
INF = float("inf")


def made(student, ids=(1, 2, 3, 4), rollout="r", **teachers):
    """Scores of one rollout from log-probabilities, nats."""
    tracks = {name: opd.LogprobTrack(values, provenance=ENGINE) for name, values in teachers.items()}
    student_track = opd.LogprobTrack(student, provenance=ENGINE)
    one = opd.Rollout(id=rollout, prompt_ids=[9], response_ids=list(ids), tracks={"student": student_track, **tracks})
    return opd.scores_from_tracks([one])


@pytest.fixture
def two():
    nan = np.nan
    return made([-1.0, -1.0, -2.0, -1.0], a=[-0.5, nan, -INF, -1.0], b=[-2.0, -1.0, -INF, -4.5])


def test_the_difference_by_hand(two):
    table = opd.Compare(two).difference()
    np.testing.assert_array_equal(table["a"], [0.5, np.nan, -INF, 0.0])
    np.testing.assert_array_equal(table["b"], [-1.0, 0.0, -INF, -3.5])
    np.testing.assert_array_equal(table["difference"], [1.5, np.nan, np.nan, 3.5])
    other = opd.Compare(two, compared=["b", "a"]).difference()
    np.testing.assert_array_equal(other["difference"], [-1.5, np.nan, np.nan, -3.5])


def test_groups_of_two_tokenizers_are_joined_where_they_overlap():
    a, b = np.asarray([0, 0, 1, 1, 2], np.int32), np.asarray([0, 1, 1, 2, -1], np.int32)
    common = common_groups(a, b)
    np.testing.assert_array_equal(common, [0, 0, 0, 0, -1])
    nan = np.nan
    mine = regrouped(np.asarray([nan, 3, nan, 4, 9], np.float32), a, common, "sum")
    theirs = regrouped(np.asarray([1, nan, 2, 0.5, nan], np.float32), b, common, "sum")
    np.testing.assert_array_equal(difference(mine, theirs), [nan, nan, nan, 3.5, nan])
    alone = regrouped(np.asarray([1, 2, 3, 4, 5], np.float32), None, b, "sum")
    np.testing.assert_array_equal(alone, [1, nan, 5, 4, nan])
    assert common_groups(None, None) is None


def test_steps_travel_in_the_order_of_the_first():
    early = made([-3.0, -2.0, -1.0, -1.0], a=[-1.0, -1.0, -1.0, -INF])
    late = made([-1.0, -1.0, -1.0, -INF], a=[-1.0, -1.5, -1.0, -INF])
    view = opd.Compare({200: late, 100: early})
    assert (view.across, view.step, view.steps["first"]) == ("steps", 200, 100)
    assert view.steps["generation"] == view.get_state("scores")["scores"]["meta"]["generation"]
    assert [other["step"] for other in view.steps["others"]] == [200]
    wire = np.frombuffer(view.steps["others"][0]["values"], "<f4").reshape(len(planes(early)), 4)
    for row, (name, teacher) in zip(wire, planes(early), strict=True):
        expected = late.signal(name, 0, teacher).astype(np.float64)
        np.testing.assert_allclose(row.astype(np.float64), expected, rtol=1e-6)
    advantage = [row["limit"] for scores in (early, late) for row in signal_rows(scores) if row["name"] == "advantage"]
    assert view.steps["limits"]["advantage"] == max(advantage)
    table = view.difference()
    np.testing.assert_array_equal(table[table["step"] == 200]["difference"], [-2.0, -1.5, 0.0, np.nan])
    np.testing.assert_array_equal(table[table["step"] == 100]["difference"][:3], [0.0, 0.0, 0.0])


def test_other_scores_take_the_steps_away(two):
    early = made([-3.0, -2.0, -1.0, -1.0], a=[-1.0] * 4)
    view = opd.Compare({100: early, 200: early})
    view.scores = two
    assert view.across == "teachers"
    assert view.compared == ["a", "b"]
    assert view.steps["others"] == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"rollout": "s"}, "rollout 0 is 'r' in one and 's' in the other"),
        ({"ids": (1, 2, 7, 4)}, "rollout 'r' has token id 3 at position 2 in one and 7 in the other"),
    ],
)
def test_steps_of_other_rollouts_are_refused_by_the_first_difference(other, said):
    early = made([-1.0] * 4, a=[-1.0] * 4)
    with pytest.raises(InvalidInputError, match=f"steps 100 and 200 are not of the same rollouts.*{said}"):
        opd.Compare({100: early, 200: made([-1.0] * 4, a=[-1.0] * 4, **other)})


def test_steps_of_other_teachers_signals_or_numbers_are_refused():
    early = made([-1.0] * 4, a=[-1.0] * 4)
    with pytest.raises(InvalidInputError, match=r"the teachers are \['a'\] in one and \['b'\] in the other"):
        opd.Compare({1: early, 2: made([-1.0] * 4, b=[-1.0] * 4)})
    lacking = replace(early.items[0], teachers={"a": replace(early.items[0].teachers["a"], signals={})})
    with pytest.raises(InvalidInputError, match="the signal 'advantage' of 'a' is there in one only"):
        opd.Compare({1: early, 2: replace(early, items=(lacking,))})
    more = replace(early, rollouts=early.rollouts * 2, items=early.items * 2)
    with pytest.raises(InvalidInputError, match="1 rollouts in one and 2 in the other"):
        opd.Compare({1: early, 2: more})
    with pytest.raises(InvalidInputError, match="found step 'x'"):
        opd.Compare(cast("Any", {"x": early}))
    with pytest.raises(InvalidInputError, match="found no steps"):
        opd.Compare({})
    with pytest.raises(InvalidInputError, match=r"found str at step 1"):
        opd.Compare(cast("Any", {1: "scores"}))


@pytest.mark.parametrize(
    ("traits", "said"),
    [
        ({"across": "grid"}, "found across='grid', expected one of 'teachers', 'rollouts', 'steps'"),
        ({"across": "steps"}, "scores of one checkpoint"),
        ({"compared": ["a"]}, r"found compared=\['a'\], expected 2 or more"),
        ({"compared": ["a", "a"]}, "each once"),
        ({"compared": ["a", "c"]}, "no teacher 'c'"),
        ({"limits": {"advantage": 0}}, r"found limits\['advantage'\]=0, expected a positive number"),
        ({"limits": {"advantage": INF}}, "expected a positive number"),
        ({"limits": {"fun": 1.0}}, "found a limit for 'fun'"),
    ],
)
def test_what_is_no_arrangement_is_refused(two, traits, said):
    with pytest.raises(InvalidInputError, match=said):
        opd.Compare(two, **traits)


def test_one_teacher_shows_rollouts_and_has_no_difference():
    view = opd.Compare(made([-1.0] * 4, a=[-1.0] * 4))
    assert (view.across, view.compared) == ("rollouts", ["a"])
    with pytest.raises(InvalidInputError, match="expected two teachers"):
        view.difference()


def test_a_limit_is_kept_for_its_signal_and_its_differences(two):
    view = opd.Compare(two, limits={"advantage": 2, "advantage difference": 0.5})
    view.rollout, view.teacher = 0, "b"
    assert view.limits == {"advantage": 2.0, "advantage difference": 0.5}
    assert view.page_state()["limits"] == view.limits
    assert "Scores(1 rollouts" in repr(view)


def test_every_widget_keeps_the_names_that_notebooks_use():
    """A trait of ours named as one of ipywidgets' own takes its place, and the notebook cannot draw the box."""
    from ipywidgets import DOMWidget

    views: list[Any] = [opd.AlignmentView, opd.Compare, opd.Explorer, opd.ProgressView, opd.RolloutList, opd.TokenPanel]
    for view in [*views, opd.TokenStrip, opd.TreeView]:
        for name in ("layout", "tabbable", "tooltip", "comm", "keys"):
            assert type(view.class_traits()[name]) is type(DOMWidget.class_traits()[name]), (view, name)
