"""The bundled lab as users get it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.summary import summarise

FIVE_KINDS = {
    "one_correct",
    "summary",
    "one_correct_one_wrong",
    "summary_one_correct_one_wrong",
    "one_correct_by_author",
}


@pytest.fixture(scope="module")
def lab():
    return opd.demo()


@pytest.fixture(scope="module")
def scores(lab):
    return opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)


def test_external_teachers_and_the_five_contexts(lab):
    contexts = {t.context.kind for t in lab.teachers.values() if t.context is not None}
    assert contexts >= FIVE_KINDS
    assert [name for name, t in lab.teachers.items() if t.context is None] == ["Teacher", "Other style"]
    assert all(t.model is lab.student for t in lab.teachers.values() if t.context is not None)
    assert len(lab.teachers) <= 9  # one digit key a teacher


def test_rollouts_are_judged_and_of_both_outcomes(lab):
    outcomes = [rollout.outcome for rollout in lab.rollouts]
    assert len(outcomes) == 96
    assert 0.4 <= outcomes.count("correct") / len(outcomes) <= 0.65
    assert {"correct", "incorrect"} == set(outcomes)
    for rollout in lab.rollouts:
        question = next(q for q in lab.questions if q.id == rollout.question)
        assert lab.verifier(question, rollout.response_text) == (rollout.outcome == "correct")


def test_solutions_in_the_contexts_are_right_and_wrong_as_they_say(lab):
    for question in lab.questions:
        assert lab.verifier(question, f"</think>{question.answer}")
        assert question.solution.endswith(f"={question.answer}")
        assert not question.wrong_solution.endswith(f"={question.answer}")


def test_the_same_seed_gives_the_same_rollouts(lab):
    again = opd.demo()
    assert [r.response_text for r in again.rollouts] == [r.response_text for r in lab.rollouts]
    other = opd.demo(seed=1)
    assert [r.question for r in other.rollouts] != [r.question for r in lab.rollouts]


def test_every_teacher_disagrees_more_with_incorrect_rollouts(scores):
    table: Any = summarise(scores).set_index("teacher")
    for name in ("Teacher", "Self-1C", "Self-Sum-1C"):
        assert table.loc[name, "incorrect"] < table.loc[name, "correct"] - 0.1


def test_the_other_styles_advice_is_style(scores):
    """It disagrees with correct rollouts far more than the teacher of the student's own style does."""
    table: Any = summarise(scores).set_index("teacher")
    assert table.loc["Other style", "correct"] < table.loc["Teacher", "correct"] - 0.5


def test_the_worst_token_of_a_wrong_rollout_stands_out(scores, lab):
    """The teacher's most negative advantage on an incorrect rollout is large, and on a correct one small."""
    worst: dict[str, list[float]] = {"correct": [], "incorrect": []}
    for index, rollout in enumerate(lab.rollouts):
        worst[rollout.outcome].append(float(scores.signal("advantage", index, "Teacher").min()))
    assert np.median(worst["incorrect"]) < -2
    assert np.median(worst["correct"]) > -1


def test_size_of_the_lab_can_be_chosen():
    lab = opd.demo(questions=3, rollouts=2)
    assert len(lab.questions) == 3
    assert len(lab.rollouts) == 6
    with pytest.raises(InvalidInputError, match="questions=0"):
        opd.demo(questions=0)


def test_an_unknown_lab_names_those_there_are():
    with pytest.raises(InvalidInputError, match="no lab 'x'; there are arithmetic, smollm2"):
        opd.demo("x")


def test_demo_is_a_function_whatever_was_imported_first():
    code = (
        "import opd_widgets.demo.arithmetic, opd_widgets as opd; print(len(opd.demo(questions=1, rollouts=1).rollouts))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
