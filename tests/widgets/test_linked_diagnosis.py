"""A diagnosis among linked views: who names a node only, names its rollout and token too."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
import pytest

import opd_widgets as opd
from opd_widgets.widgets.selection import NOTHING
from opd_widgets.widgets.wire.places import initial_nodes
from tests.diagnosis.toy_run import run


@pytest.fixture(scope="module")
def result():
    return run()


def passing(result, question):
    """Return an initial rollout, and where on it the node stands that most tokens are before."""
    evidence = result.evidence[result.questions.index(question)]
    index, at = max(initial_nodes(evidence).items(), key=lambda entry: int(np.flatnonzero(entry[1] >= 0)[-1]))
    token = int(np.flatnonzero(at >= 0)[-1])
    return f"{question}/{index}", token, int(at[token])


def test_a_node_alone_brings_a_rollout_that_passes_it(result):
    question = result.questions[1]
    _, _, node = passing(result, question)
    alignment, tree = opd.AlignmentView(result), opd.TreeView(result)
    chart = alt.JupyterChart(
        alt.Chart(pd.DataFrame({"x": [0]})).mark_point().add_params(alt.param(name="node", value=-1.0))
    )
    selection = opd.link(alignment, tree, chart)
    # as a chart of result.nodes says it; and as the browser does for a view that knows no rollouts
    for say in (
        lambda: selection.select(question=question, node=node),
        lambda: selection.set_state({"value": {**NOTHING, "question": question, "node": node}}),
    ):
        selection.select(question=result.questions[0], rollout=None, node=0)
        say()
        place = selection.place
        index = int(place["rollout"].rpartition("/")[2])
        at = initial_nodes(result.evidence[1])[index]
        assert at[place["token"]] == node
        for view in (alignment, tree):
            assert [view.question, view.rollout, view.token, view.node] == [
                *[question, place["rollout"], place["token"], node]
            ]
        assert chart.params.trait_values()["node"] == node


def test_the_rollout_in_view_stays_where_it_passes_the_node(result):
    question = result.questions[1]
    rollout, token, node = passing(result, question)
    alignment, tree = opd.AlignmentView(result, question=question, rollout=rollout), opd.TreeView(result)
    selection = opd.link(alignment, tree)
    selection.select(question=question, node=node)
    assert [selection.place[name] for name in ("rollout", "token")] == [rollout, token]
    assert [tree.rollout, tree.token] == [rollout, token]


def test_what_a_diagnosis_does_not_know_is_left_as_it_is(result):
    view = opd.AlignmentView(result)
    for place in (
        {**NOTHING, "question": "elsewhere", "rollout": "elsewhere/0", "token": 3},
        {**NOTHING, "question": "elsewhere", "node": 1},
        {**NOTHING, "rollout": "other", "token": 0},
        {**NOTHING, "question": result.questions[0], "node": 10**6},
        dict(NOTHING),
    ):
        assert view.complete(place) == place
