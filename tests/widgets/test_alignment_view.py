"""What the AlignmentView is given, and how its selection hangs together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from traitlets import TraitError

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets.wire import alignment as wire
from tests.diagnosis.marked import KINDS, marked
from tests.diagnosis.toy_run import run


@pytest.fixture(scope="module")
def result():
    return run()


def table(buffer, names, columns=1):
    """Return a buffer's arrays by name, [rows, columns] each."""
    values = np.frombuffer(buffer, "<f4").reshape(len(names), -1, columns)
    return dict(zip(names, values, strict=True))


def test_nodes_and_candidates_are_the_tables(result):
    sent = opd.AlignmentView(result).alignment
    meta, nodes, candidates = sent["meta"], result.nodes, result.candidates
    teachers = meta["teachers"]
    assert (meta["nodes"] * teachers, meta["candidates"] * teachers) == (len(nodes), len(candidates))
    for name, values in table(sent["node_values"], wire.NODE_VALUES, teachers).items():
        assert np.array_equal(values.ravel(), nodes[name].to_numpy(np.float32), equal_nan=True), name
    for name, values in table(sent["node_counts"], wire.NODE_COUNTS).items():
        assert np.array_equal(values.ravel(), nodes[name].to_numpy(np.float32)[::teachers], equal_nan=True), name
    for name, values in table(sent["candidate_by_teacher"], wire.CANDIDATE_BY_TEACHER, teachers).items():
        assert np.array_equal(values.ravel(), candidates[name].to_numpy(np.float32), equal_nan=True), name
    for name, values in table(sent["candidate_values"], wire.CANDIDATE_VALUES).items():
        assert np.array_equal(values.ravel(), candidates[name].to_numpy(np.float32)[::teachers], equal_nan=True), name
    assert np.frombuffer(sent["in_support"], np.uint8).tolist() == candidates["in_support"].astype(int).tolist()
    said = [meta["verdicts"][code] for code in sent["verdict"]]
    assert said == nodes["verdict"].tolist()


def test_the_candidates_of_a_node_are_found_by_its_start(result):
    sent = opd.AlignmentView(result).alignment
    starts, ids = np.frombuffer(sent["candidate_start"], "<u4"), np.frombuffer(sent["candidate_ids"], "<u4")
    rows = result.candidates.groupby(["question", "node", "teacher"], sort=False)["token_id"].apply(list)
    firsts = [rows[key] for key in rows.index if key[2] == "A"]
    assert [ids[a:b].tolist() for a, b in pairwise(starts)] == firsts


def test_the_summary_is_the_results(result):
    sent, frame = opd.AlignmentView(result).alignment, result.summary()
    assert frame["outcome"].tolist() == sent["meta"]["outcomes"] * len(result.teachers)
    for name, values in table(sent["summary"], wire.SUMMARY_VALUES).items():
        assert np.array_equal(values.ravel(), frame[name].to_numpy(np.float32), equal_nan=True), name
    for name, values in table(sent["summary_counts"], wire.SUMMARY_COUNTS).items():
        assert values.ravel().tolist() == frame[name].tolist(), name


def test_a_result_without_nodes_is_shown_as_such():
    empty = opd.Diagnosis(())
    view = opd.AlignmentView(empty)
    assert view.alignment["meta"]["nodes"] == 0
    assert view.places["meta"]["questions"] == []


def test_every_kind_of_node_stands_at_its_token():
    view = opd.AlignmentView(marked())
    places = view.places
    first = places["meta"]["questions"][0]["rollouts"][0]
    at = np.frombuffer(places["node_at"], "<i4")[first["offset"] : first["offset"] + first["length"]]
    assert at.tolist() == [0, 1, 2, 3, -1]
    verdicts = [view.alignment["meta"]["verdicts"][view.alignment["verdict"][node]] for node in at[:4]]
    assert verdicts == KINDS
    assert places["meta"]["vocab"] == {"0": ["<b>a</b>", "t"], "1": [" z", "t"]}


def test_a_node_brings_its_token_and_a_token_its_node():
    view = opd.AlignmentView(marked())
    view.node = 2
    assert (view.rollout, view.token) == ("q/0", 2)
    view.token = 1
    assert view.node == 1
    view.rollout = "q/1"  # it ends before that token
    assert (view.token, view.node) == (-1, -1)
    view.node = 1
    assert (view.rollout, view.token) == ("q/0", 1)
    view.node = -1
    assert (view.token, view.node) == (-1, -1)
    view.rollout = ""
    view.token = 3
    assert (view.rollout, view.node) == ("q/0", 3)


def test_another_question_begins_anew(result):
    one, other = result.questions[:2]
    view = opd.AlignmentView(result, question=other, node=3)
    assert view.rollout.startswith(f"{other}/")
    view.question = one
    assert (view.rollout, view.token, view.node) == ("", -1, -1)


def test_a_linked_place_is_followed_as_far_as_it_is_there(result):
    one, other = result.questions[:2]
    view = opd.AlignmentView(result, question=one, node=2)
    before = view.place()
    view.go_to({"question": "elsewhere", "rollout": "x", "token": 3, "teacher": "nobody"})
    view.go_to({"question": one, "rollout": "not one of these", "token": 3})
    assert view.place() == before
    view.go_to({"question": other, "node": 1, "teacher": "B"})
    assert (view.question, view.node, view.teacher) == (other, 1, "B")
    assert view.token == len(result.evidence[1].nodes.prefixes[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"teacher": "C"}, "found teacher='C'"),
        ({"question": "none"}, "found question='none'"),
        ({"rollout": "one/100000"}, "found rollout='one/100000'"),
        ({"node": 10_000}, "found node=10000"),
    ],
)
def test_what_is_not_there_is_refused_by_name(result, change, words):
    with pytest.raises((InvalidInputError, TraitError), match=words):
        opd.AlignmentView(result, **change)


def test_anything_but_a_diagnosis_is_refused():
    with pytest.raises(InvalidInputError, match=r"found dict, expected an opd\.Diagnosis"):
        opd.AlignmentView({})
