"""What a stored diagnosis belongs to."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.policies.policy_of import policy_of
from opd_widgets.diagnosis.run.identity import check_same, identity_of, node_keys, same
from opd_widgets.errors import InvalidInputError
from tests import tiny
from tests.diagnosis.toy_run import QUESTIONS, even, odd, speaker

SUM = opd.Question("sum", "3+4=?", answer="7")


def identity(student=None, verifier=even, **numbers):
    return identity_of([SUM], [policy_of(student or tiny.model(0), SUM)], verifier, **numbers)


def test_it_is_the_same_for_the_same_and_names_what_it_is_of():
    found = identity(seed=0)
    assert found == identity(seed=0)
    assert found["student"]["name"] == "tiny-0"
    assert found["student"]["tokenizer"]["size"] == tiny.model(0).tokenizer.size
    assert found["questions"]["sum"]["answer"] == "7"
    assert found["verifier"]["name"] == "tests.diagnosis.toy_run.even"
    assert found["seed"] == 0


def test_another_machines_rounding_is_the_same_and_other_weights_are_not():
    found, near = identity(), identity()
    near["student"]["answers"] = (np.array(near["student"]["answers"]) + 1e-5).tolist()
    assert same(found, near)
    assert not same(found, identity(tiny.model(3, name="tiny-0")))


def test_a_verifier_is_known_by_its_code():
    class Judges:
        def __call__(self, *_):
            return True

    assert identity(verifier=odd)["verifier"] != identity()["verifier"]
    assert identity(verifier=partial(even))["verifier"] == identity()["verifier"]
    assert identity(verifier=Judges())["verifier"]["name"].endswith("Judges")
    assert "source" in identity(verifier=Judges())["verifier"]
    assert identity(verifier=max)["verifier"] == {"name": "builtins.max"}


def test_differences_are_named_and_the_next_step(tmp_path):
    with pytest.raises(InvalidInputError, match=r"seed was 0 and is 1.*Give the same, or another folder"):
        check_same(identity(seed=0), identity(seed=1), tmp_path)
    with pytest.raises(InvalidInputError, match="saved from memory"):
        check_same({}, identity(), tmp_path)
    check_same(identity(seed=0), identity(seed=0), tmp_path)


def test_nodes_are_known_by_teachers_their_prompts_and_what_makes_a_candidate():
    student = tiny.model(0)

    def key(important=0.02, **teachers):
        return node_keys([{name: policy_of(who, SUM, student) for name, who in teachers.items()}], important=important)[
            0
        ]

    hint = opd.Teacher(student, opd.contexts.free_text("say 7"))
    other_hint = opd.Teacher(student, opd.contexts.free_text("say 8"))
    base = key(A=tiny.model(1), Hint=hint)
    assert same(base, key(A=tiny.model(1), Hint=hint))
    for unlike in (
        key(A=tiny.model(2), Hint=hint),
        key(A=tiny.model(1), Hint=other_hint),
        key(A=tiny.model(1)),
        key(Hint=hint, A=tiny.model(1)),
        key(0.05, A=tiny.model(1), Hint=hint),
    ):
        assert not same(base, unlike)


def test_functions_are_known_by_what_they_say_first():
    one, two = (node_keys([{"A": speaker(seed)(QUESTIONS[0])}])[0] for seed in (1, 2))
    assert not same(one, two)
    assert same(one, node_keys([{"A": speaker(1)(QUESTIONS[0])}])[0])
