"""The tree on its way to the browser: decoded, it is the evidence again."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.tokens import SPECIAL
from opd_widgets.diagnosis.evidence import NOWHERE, Evidence
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.read_nodes import read_nodes
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.tables.verdict import VERDICTS
from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets.wire.tree import ENDINGS, tokens_along
from tests.diagnosis.toy_evidence import drawn, two_tokens
from tests.diagnosis.toy_run import run


@pytest.fixture(scope="module")
def result():
    return run()


def policy(*p):
    return FunctionPolicy(lambda asked: np.log(np.tile(p, (len(asked), 1))), end_ids=[], vocab_size=len(p))


def by_hand():
    """Ids 0 1 | 0 0, 0 1 | 0 2 and 0 2, where a node stands after 0; one of them forced, one cut, one unverified."""
    nodes = read_nodes(policy(0.2, 0.5, 0.3), {"even": policy(1 / 3, 1 / 3, 1 / 3)}, [(0,)])
    logp = [-1.0] * 4
    rollouts = [
        drawn([0, 1, 0, 0], 1, logprobs=logp),
        drawn([0, 1, 0, 2], 0, logprobs=logp),
        drawn([0, 2], 0, logprobs=logp[:2], truncated=True),
        drawn([0, 1, 0, 0], 1, start=2, logprobs=logp),
        drawn([0, 2], -1, start=2, logprobs=logp[:2]),
    ]
    return Evidence("hand", nodes, tuple(rollouts))


def decoded(widget, question=0):
    """A question's buffers as the front end reads them."""
    size, sent = widget.tree["meta"]["questions"][question], widget.tree["questions"][question]
    teachers = len(widget.result.teachers)
    kinds = {
        "parent": ("<i4", (size["places"],)),
        "depth": ("<i4", (size["places"],)),
        "tokens": (f"<u{widget.tree['meta']['token_bytes']}", (size["tokens"],)),
        "leaf": ("<i4", (size["rollouts"],)),
        "begin": ("<i4", (size["rollouts"],)),
        "ending": ("u1", (size["rollouts"],)),
        "estimate_place": ("<i4", (size["estimates"],)),
        "estimate_at_node": ("u1", (size["estimates"],)),
        "estimates": ("<f4", (3, size["estimates"])),
        "node_place": ("<i4", (size["nodes"],)),
        "alignments": ("<f4", (3, size["nodes"], teachers)),
        "verdict": ("u1", (size["nodes"], teachers)),
    }
    assert sent.keys() == kinds.keys()
    return {name: np.frombuffer(sent[name], kind).reshape(shape) for name, (kind, shape) in kinds.items()}


def prefixes(widget, question=0):
    """The prefix of each place, from the tokens on the way there."""
    sent, ids = decoded(widget, question), widget.tree["meta"]["ids"]
    found, start = [()], 0
    for parent, depth in zip(sent["parent"][1:], sent["depth"][1:], strict=True):
        more = int(depth) - len(found[parent])
        found.append((*found[parent], *(ids[token] for token in sent["tokens"][start : start + more])))
        start += more
    assert start == len(sent["tokens"])
    return found


def test_a_tree_worked_by_hand():
    widget = opd.TreeView(Diagnosis((by_hand(),)))
    sent, places = decoded(widget), prefixes(widget)
    assert sorted(places) == [(), (0,), (0, 1), (0, 1, 0), (0, 1, 0, 0), (0, 1, 0, 2), (0, 2)]
    assert [places[at] for at in sent["leaf"]] == [(0, 1, 0, 0), (0, 1, 0, 2), (0, 2), (0, 1, 0, 0), (0, 2)]
    assert [places[at] for at in sent["begin"]] == [(), (), (), (0, 1), (0, 2)]
    assert [ENDINGS[at] for at in sent["ending"]] == ["correct", "incorrect", "truncated", "correct", "unverified"]
    assert places[sent["node_place"][0]] == (0,)
    assert len(sent["tokens"]) == 6  # 0, then 1 or 2, then 0, then 0 or 2: each once


def test_all_rollouts_come_back(result):
    widget = opd.TreeView(result)
    for number, evidence in enumerate(result.evidence):
        sent, places = decoded(widget, number), prefixes(widget, number)
        for rollout, at in zip(evidence.rollouts, sent["leaf"], strict=True):
            assert places[at] == tuple(rollout.ids.tolist())
        assert [len(places[at]) for at in sent["begin"]] == [rollout.start for rollout in evidence.rollouts]
        for prefix, at in zip(evidence.nodes.prefixes, sent["node_place"], strict=True):
            assert at == NOWHERE or places[at] == prefix
        assert len(tokens_along(evidence)) == len(sent["tokens"])


def test_success_is_that_of_the_tables(result):
    """By place: V of `nodes` where a node stands, P_succ of `candidates` behind a candidate."""
    widget = opd.TreeView(result)
    nodes, candidates = result.nodes, result.candidates
    for number, evidence in enumerate(result.evidence):
        sent, places = decoded(widget, number), prefixes(widget, number)
        mine = nodes[(nodes.question == evidence.question) & (nodes.teacher == "A")]
        at_node = dict(zip(evidence.nodes.prefixes, mine.success, strict=True))
        theirs = candidates[(candidates.question == evidence.question) & (candidates.teacher == "A")]
        behind = {
            (*evidence.nodes.prefixes[row.node], row.token_id): (row.success_mean, row.success_low, row.success_high)
            for row in theirs.itertuples()
        }
        assert len(set(sent["estimate_place"].tolist())) == len(sent["estimate_place"])
        for k, place in enumerate(sent["estimate_place"]):
            mean, low, high = sent["estimates"][:, k]
            prefix = places[place]
            if sent["estimate_at_node"][k]:
                assert mean == pytest.approx(at_node[prefix], abs=1e-6)
                assert low <= high
            else:
                assert prefix not in at_node
                assert (mean, low, high) == pytest.approx(behind[prefix], abs=1e-6)
        seen = {place for place in behind if place in places} | {place for place in at_node if place in places}
        assert {places[place] for place in sent["estimate_place"]} == seen


def test_an_interval_of_two_tokens():
    """p_S = (3/4, 1/4), the first right, the other wrong: V is 3/4, and nothing is left open."""
    sent = decoded(opd.TreeView(Diagnosis((two_tokens(),))))
    at = np.flatnonzero(sent["estimate_at_node"])
    assert sent["estimates"][:, at].ravel() == pytest.approx([0.75] * 3)


def test_alignments_are_those_of_the_table(result):
    widget = opd.TreeView(result)
    for number, evidence in enumerate(result.evidence):
        sent = decoded(widget, number)
        rows = result.nodes[result.nodes.question == evidence.question]
        for end, name in enumerate(("alignment", "alignment_low", "alignment_high")):
            assert np.allclose(sent["alignments"][end].ravel(), rows[name], atol=1e-6, equal_nan=True)
        assert [VERDICTS[at] for at in sent["verdict"].ravel()] == rows.verdict.tolist()


def test_texts_and_names_are_in_its_places(result):
    widget = opd.TreeView(result, question="two", teacher="B", visits="initial", colour="success")
    meta = widget.places["meta"]
    assert [one["id"] for one in meta["questions"]] == list(result.questions)
    assert all(one["rollouts"] == [] and one["drawn"] > 0 for one in meta["questions"])
    assert {str(token) for token in widget.tree["meta"]["ids"]} <= meta["vocab"].keys()
    assert all(kind == SPECIAL for _, kind in meta["vocab"].values())  # a policy of ids has no texts
    state = widget.page_state()
    assert (state["question"], state["teacher"], state["visits"], state["colour"]) == ("two", "B", "initial", "success")
    assert state["tree"] == widget.tree


def test_many_ids_take_four_bytes():
    """More distinct ids than two bytes can name."""
    count = (1 << 16) + 1
    nodes = read_nodes(policy(0.5, 0.5), {"even": policy(0.5, 0.5)}, [()])
    rollout = drawn(range(count), 1, logprobs=[-1.0] * count)
    widget = opd.TreeView(Diagnosis((Evidence("long", nodes, (rollout,)),)))
    assert widget.tree["meta"]["token_bytes"] == 4
    assert prefixes(widget)[-1] == tuple(range(count))


def test_a_place_is_kept_in_python(result):
    widget = opd.TreeView(result)
    question = result.questions[1]
    widget.go_to({"question": question, "node": 0, "teacher": "B"})
    assert (widget.question, widget.node, widget.teacher) == (question, 0, "B")
    assert widget.place()["token"] == int(result.evidence[1].nodes.depths[0])


@pytest.mark.parametrize("name", ["question", "teacher"])
def test_a_name_it_does_not_have(result, name):
    with pytest.raises(InvalidInputError, match="expected one of"):
        opd.TreeView(result, **{name: "nobody"})


def test_something_else_than_a_diagnosis():
    with pytest.raises(InvalidInputError, match=r"found str, expected an opd\.Diagnosis"):
        opd.TreeView("diagnosis")
