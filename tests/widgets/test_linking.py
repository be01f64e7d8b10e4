"""Linked views go to one place, by names; a chart takes part by its selections and parameters."""

from __future__ import annotations

import threading

import altair as alt
import pandas as pd
import pytest
from altair.utils.selection import IndexSelection, IntervalSelection, PointSelection

import opd_widgets as opd
from opd_widgets.data.tokens import SPECIAL, TEXT
from opd_widgets.errors import InvalidInputError


@pytest.fixture(scope="module")
def scores():
    lab = opd.demo(questions=2, rollouts=3)
    return opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)


def fewer(scores, *indices):
    """The same scores of some rollouts: indices differ, ids do not."""
    return type(scores)(
        **{
            **{field: getattr(scores, field) for field in scores.__dataclass_fields__},
            "rollouts": tuple(scores.rollouts[i] for i in indices),
            "items": tuple(scores.items[i] for i in indices),
        }
    )


def choose(chart, selection):
    """What the chart's own front end does when a reader clicks."""
    chart.selections._set_value(selection.name, selection)


def test_a_place_is_selected_in_all_by_id(scores):
    whole, part = opd.Explorer(scores), opd.TokenStrip(fewer(scores, 4, 1))
    selection = opd.link(whole, part)
    whole.rollout, whole.token = 1, 3
    assert (part.rollout, part.token) == (1, 3)
    part.rollout = 0
    assert whole.rollout == 4
    assert selection.place["rollout"] == scores.rollouts[4].id
    assert selection.place["question"] == scores.rollouts[4].group
    whole.rollout = 2  # which the part does not have: it stays
    assert part.rollout == 0
    part.teacher = "Self-1C"
    assert whole.teacher == "Self-1C"


def test_what_the_browser_says_is_not_said_back(scores):
    one, other = opd.Explorer(scores), opd.Explorer(scores)
    selection = opd.link(one, other)
    sent = []
    selection.send_state = lambda key=None: sent.append(key)
    place = {**selection.place, "rollout": scores.rollouts[2].id, "token": 4}
    selection.set_state({"value": place})
    assert (one.rollout, one.token, other.rollout, other.token) == (2, 4, 2, 4)
    assert sent == []
    assert selection.place == place


def test_python_selects(scores):
    explorer = opd.Explorer(scores)
    selection = opd.link(explorer, opd.TokenPanel(scores))
    selection.select(rollout=scores.rollouts[3].id, token=2, signal="reverse_kl")
    assert (explorer.rollout, explorer.token, explorer.signal) == (3, 2, "reverse_kl")
    assert selection.place["question"] == scores.rollouts[3].group
    with pytest.raises(opd.OpdError, match="'rolout'"):
        selection.select(rolout="x")
    with pytest.raises(opd.OpdError, match="token='2', expected int"):
        selection.select(token="2")


def test_a_later_one_goes_where_the_others_are_and_may_leave(scores):
    first, second, third = (opd.TokenStrip(scores, rollout=i) for i in (2, 0, 1))
    selection = opd.link(first, second)
    assert (first.rollout, second.rollout) == (2, 2)
    assert opd.link(second, third) is selection
    assert third.rollout == 2
    selection.leave(second)
    first.rollout = 5
    assert (second.rollout, third.rollout, second.selection) == (2, 5, None)
    third.close()
    assert selection.views == (first,)


def test_two_groups_do_not_disturb_each_other(scores):
    a, b, c, d = (opd.TokenStrip(scores) for _ in range(4))
    assert opd.link(a, b) is not opd.link(c, d)
    a.rollout = 3
    assert (b.rollout, c.rollout, d.rollout) == (3, 0, 0)


def test_messages_in_two_threads(scores):
    one, other = opd.TokenStrip(scores), opd.TokenStrip(scores)
    selection = opd.link(one, other)
    ids = [rollout.id for rollout in scores.rollouts]

    def scrub(first):
        for i in range(100):
            selection.set_state({"value": {**selection.place, "rollout": ids[(first + i) % len(ids)], "token": i % 5}})

    threads = [threading.Thread(target=scrub, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    place = selection.place
    assert {(v.rollout, v.token) for v in (one, other)} == {(ids.index(place["rollout"]), place["token"])}


def test_nonsense_is_refused(scores):
    chart = alt.JupyterChart(alt.Chart(pd.DataFrame({"x": [1]})).mark_point())
    with pytest.raises(opd.OpdError, match="found int, expected views"):
        opd.link(opd.TokenStrip(scores), 3)
    with pytest.raises(opd.OpdError, match="found 1 charts"):
        opd.link(chart)


def chart_of(scores, select, *params):
    frame = scores.to_pandas()[["rollout", "position", "teacher", "advantage"]]
    marks = alt.Chart(frame).mark_point().encode(x="position", y="advantage")
    return alt.JupyterChart(marks.add_params(select, *params)), frame


def test_a_chart_selects_by_fields(scores):
    chart, _ = chart_of(scores, alt.selection_point(name="pick", fields=["rollout", "position", "teacher"]))
    explorer = opd.Explorer(scores)
    opd.link(explorer, chart)
    points = [{"rollout": 0, "position": 1, "teacher": "Teacher"}, {"rollout": 4, "position": 6, "teacher": "Self-1C"}]
    choose(chart, PointSelection("pick", points, []))
    assert (explorer.rollout, explorer.token, explorer.teacher) == (4, 6, "Self-1C")
    choose(chart, PointSelection("pick", [], []))
    assert (explorer.rollout, explorer.token) == (4, 6)


def test_a_chart_selects_by_row_and_by_interval(scores):
    chart, frame = chart_of(scores, alt.selection_point(name="pick"), alt.selection_interval(name="brush"))
    explorer = opd.Explorer(scores)
    opd.link(explorer, chart)
    row = len(frame) - 3
    choose(chart, IndexSelection("pick", [row], []))
    wanted = frame.iloc[row]
    assert (explorer.rollout, explorer.token, explorer.teacher) == (
        wanted["rollout"], wanted["position"], wanted["teacher"],
    )  # fmt: skip
    explorer.rollout = 1
    choose(chart, IntervalSelection("brush", {"position": [2.2, 5.0], "advantage": [-1, 1]}, []))
    assert explorer.token == 3


def test_a_charts_parameters_follow(scores):
    params = [
        alt.param(name="teacher", value=""),
        alt.param(name="token", value=-1),
        alt.param(name="hue", value="red"),
    ]
    chart, _ = chart_of(scores, alt.selection_point(name="pick", fields=["position"]), *params)
    explorer = opd.Explorer(scores, teacher="Self-1C")
    opd.link(explorer, chart)
    explorer.token = 5
    assert (chart.params.teacher, chart.params.token, chart.params.hue) == ("Self-1C", 5, "red")
    explorer.token = -1
    assert chart.params.token == -1


def test_ids_that_name_different_rollouts_are_not_linked(scores):
    lab = opd.demo(questions=2, rollouts=3)
    drawn = {"verifier": lab.verifier, "budget": 1500, "seed": 0, "progress": False}
    result = opd.diagnose(lab.questions, lab.student, lab.teachers, **drawn)
    explorer = opd.Explorer(scores)
    with pytest.raises(InvalidInputError, match=r"shared ids, such as .* different rollouts in Explorer and TreeView"):
        opd.link(explorer, opd.TreeView(result))
    own = opd.score(result.rollouts(), lab.student, lab.teachers, progress=False)
    alignment = opd.AlignmentView(result)
    opd.link(opd.Explorer(own), opd.TreeView(result), alignment)
    kinds = dict(alignment.places["meta"]["vocab"].values())
    assert (kinds["<think>"], kinds["="]) == (SPECIAL, TEXT)


def test_a_chart_that_is_shown_follows_again(scores):
    strip = opd.TokenStrip(scores)
    marks = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x")
    chart = alt.JupyterChart(
        marks.add_params(
            alt.param(name="teacher", value=""),
            alt.param(name="position", value=-1.0),
            alt.param(name="other", value=[0, 1]),
        )
    )
    strip.teacher, strip.token = "Self-1C", 2
    opd.link(strip, chart)
    for name, value in (("teacher", ""), ("position", -1.0), ("other", [2])):  # what its front end begins with
        chart.params.set_trait(name, value)
    assert (getattr(chart.params, "teacher"), getattr(chart.params, "position")) == ("Self-1C", 2)  # noqa: B009
