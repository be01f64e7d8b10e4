"""The alignment of a diagnosis along rollouts that were scored."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.track import LogprobTrack
from opd_widgets.diagnosis.along_scores import nodes_along
from opd_widgets.errors import InvalidInputError
from tests.diagnosis.marked import NODES, marked
from tests.diagnosis.toy_run import run


@pytest.fixture(scope="module")
def result():
    return run()


def scored(rollouts, teacher="t0"):
    """Return scores of made-up log-probabilities."""
    given = []
    for one in rollouts:
        values = np.linspace(-1, -0.5, len(one)).astype(np.float32)
        tracks = {"student": LogprobTrack(values), teacher: LogprobTrack(values / 2)}
        given.append(opd.Rollout(id=one.id, response_ids=one.response_ids, question=one.question, tracks=tracks))
    return opd.scores_from_tracks(given)


def test_rollouts_are_the_initial_ones_under_the_ids_that_views_use(result):
    found = result.rollouts()
    wanted = [
        (f"{one.question}/{index}", drawn)
        for one in result.evidence
        for index, drawn in enumerate(one.rollouts)
        if drawn.start == 0
    ]
    assert [one.id for one in found] == [name for name, _ in wanted]
    assert len(found) < sum(len(one.rollouts) for one in result.evidence)
    for one, (_, drawn) in zip(found, wanted, strict=True):
        assert np.array_equal(one.response_ids, drawn.ids)
        assert one.outcome == {1: "correct", 0: "incorrect", -1: "unverified"}[drawn.outcome]
        assert one.status == ("truncated" if drawn.truncated else "stop")
    assert found[0].messages[0].content == "ask one"
    assert found[0].metadata == {"answer": "0"}


def test_each_token_at_a_node_has_the_tables_alignment_and_no_other_has_one(result):
    rollouts = result.rollouts()[:40]
    scores = result.along(scored(rollouts, "B"))
    table = result.nodes.set_index(["question", "node", "teacher"])["alignment"]
    nodes = {one.question: one.nodes.prefixes for one in result.evidence}
    judged = 0
    for index, rollout in enumerate(rollouts):
        values = scores.signal("alignment", index, "B")
        for token, value in enumerate(values):
            prefix = tuple(rollout.response_ids[:token].tolist())
            known = nodes[rollout.question]
            wanted = table[rollout.question, known.index(prefix), "B"] if prefix in known else np.nan
            assert value == pytest.approx(wanted, abs=1e-6, nan_ok=True)
            judged += not np.isnan(wanted)
    assert judged > len(rollouts)


def test_a_node_without_an_alignment_to_average_is_missing():
    result = marked()
    scores = result.along(scored(result.rollouts()))
    assert np.array_equal(scores.signal("alignment", 0, "t0"), [-1, np.nan, np.nan, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(scores.signal("alignment", 1, "t0"), [-1], equal_nan=True)


def test_the_explorer_offers_the_signal_only_then():
    result = marked()
    plain = scored(result.rollouts())
    rows = {row["name"]: row for row in opd.Explorer(plain).get_state()["scores"]["meta"]["signals"]}
    assert "along(scores)" in rows["alignment"]["reason"]
    view = opd.Explorer(result.along(plain), signal="alignment")
    row = {row["name"]: row for row in view.get_state()["scores"]["meta"]["signals"]}["alignment"]
    assert row["available"]
    assert row["limit"] == 1
    assert (row["low"], row["high"]) == ("against the ideal gradient", "along the ideal gradient")


def test_rollouts_of_another_question_or_teacher_are_refused_by_name():
    result = marked()
    with pytest.raises(InvalidInputError, match=r"found scores under \['x'\] and a diagnosis of \['t0'\]"):
        result.along(scored(result.rollouts(), "x"))
    other = opd.Rollout(id="a", response_ids=np.array([0, 1], np.int32), question="other")
    with pytest.raises(InvalidInputError, match=r"rollouts of questions \['other'\]"):
        result.along(scored([other]))


def test_nodes_along_is_the_plain_search():
    nodes = marked().evidence[0].nodes
    responses = [np.array(ids, np.int32) for ids in ([0, 0, 0, 0, 0], [0, 0], [1, 0], [], [0, 1, 0])]
    prefixes = list(NODES)
    for ids, found in zip(responses, nodes_along(nodes, responses), strict=True):
        wanted = [prefixes.index(tuple(ids[:t])) if tuple(ids[:t]) in prefixes else -1 for t in range(len(ids))]
        assert found.tolist() == wanted


def test_an_explorer_takes_the_diagnosis_and_refuses_what_is_none_or_does_not_fit(result):
    scores = scored(result.rollouts(), "A")
    explorer = opd.Explorer(scores, diagnosis=result, signal="alignment")
    along = result.along(scores)
    for found, wanted in zip(explorer.scores.items, along.items, strict=True):
        np.testing.assert_array_equal(*(one.teachers["A"].signals["alignment"] for one in (found, wanted)))
    with pytest.raises(InvalidInputError, match=r"found dict as diagnosis, expected an opd\.Diagnosis"):
        opd.Explorer(scores, diagnosis={})
    with pytest.raises(InvalidInputError, match="expected a teacher of one name in both"):
        opd.Explorer(scored(result.rollouts(), "another"), diagnosis=result)
