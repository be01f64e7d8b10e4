"""Nodes chosen beforehand: exactly these are diagnosed, on a rollout's way or not."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.diagnose import diagnose
from opd_widgets.diagnosis.run.fixed_nodes import fixed_nodes
from opd_widgets.errors import InvalidInputError
from tests.diagnosis.exact import Toy

TOY = Toy(3, 4, 5)
QUESTION = opd.Question("toy", "What?")


def diagnosed(nodes, **more):
    told = {"verifier": TOY.verifier, "budget": 300, "max_new_tokens": 5, "progress": False, **more}
    return diagnose([QUESTION], TOY.policy, {"t": TOY.teacher}, nodes=nodes, **told)


def test_the_nodes_asked_for_are_the_nodes():
    rare = min(((1, a, b) for a in (1, 2, 3) for b in (1, 2, 3)), key=lambda u: TOY.row(0, u[:2])[u[2]])
    asked = [(), rare, (2,)]
    (evidence,) = diagnosed({"toy": asked}, initial=4).evidence
    assert evidence.nodes.prefixes == tuple(asked)
    truth = TOY.truth()
    for m, prefix in enumerate(asked):
        used = evidence.nodes.tokens[m] >= 0
        np.testing.assert_allclose(
            evidence.nodes.student_logp[m, used], truth[prefix].logp[evidence.nodes.tokens[m, used]], atol=1e-9
        )
    begun = {tuple(one.ids[: one.start - 1].tolist()) for one in evidence.rollouts if one.start}
    assert begun == set(asked)
    for one in evidence.rollouts:
        along = [truth[tuple(one.ids[:depth].tolist())].logp[one.ids[depth]] for depth in range(len(one.ids))]
        np.testing.assert_allclose(one.logprobs, along, atol=1e-5)


def test_a_run_goes_on_with_other_nodes(tmp_path):
    (before,) = diagnosed({"toy": [()]}, out=tmp_path / "run").evidence
    (after,) = diagnosed({"toy": [(), (1,)]}, out=tmp_path / "run", budget=600).evidence
    assert before.nodes.prefixes == ((),)
    assert after.nodes.prefixes == ((), (1,))
    spelled = [[(one.start, one.ids.tolist()) for one in found.rollouts] for found in (before, after)]
    assert spelled[1][: len(spelled[0])] == spelled[0]


def test_without_any_the_initial_rollouts_say():
    (evidence,) = diagnosed(None).evidence
    assert len(evidence.nodes) > 3
    assert fixed_nodes(None, [QUESTION], 5) == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([()], "question ids with their"),
        ({"other": [()]}, "'other', expected one of those asked: toy"),
        ({"toy": [(), ()]}, "twice"),
        ({"toy": ["ab"]}, "expected the ids"),
        ({"toy": [5]}, "expected the ids"),
        ({"toy": [(1, 1, 1, 1, 1)]}, "max_new_tokens=5"),
        ({"toy": [(9,)]}, "9"),
        ({"toy": [(1, 0)]}, "found the end 0"),
    ],
)
def test_what_can_be_no_node_is_refused(given, said):
    with pytest.raises(InvalidInputError, match=said):
        diagnosed(given)
