"""A diagnosis of a real language model, end to end."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.diagnose import diagnose
from opd_widgets.diagnosis.run.stored import load_diagnosis
from tests.diagnosis.toy_run import assert_same

pytestmark = [pytest.mark.smollm, pytest.mark.slow]

BUDGET = 1500


def test_five_questions_and_two_contexts(tmp_path):
    lab = opd.demo("smollm2", questions=5, rollouts=1)
    teachers = {name: lab.teachers[name] for name in ("Self-1C", "Self-answer")}
    given = {"verifier": lab.verifier, "budget": BUDGET, "max_new_tokens": 8, "max_nodes": 12, "seed": 1}
    result = diagnose(lab.questions, lab.student, teachers, out=tmp_path, progress=False, **given)
    assert result.questions == tuple(question.id for question in lab.questions)
    assert result.teachers == tuple(teachers)
    assert 0.9 * BUDGET <= result.about["generated_tokens"] <= 1.2 * BUDGET
    assert set(result.about["outcomes"]) <= {"correct", "incorrect", "truncated"}
    assert result.about["outcomes"]["correct"] > 0
    nodes = result.nodes
    scored = nodes[nodes["alignment"].notna()]
    assert set(scored["teacher"]) == set(teachers)
    assert len(scored) >= 10
    assert ((scored["alignment"] >= -1) & (scored["alignment"] <= 1)).all()
    assert (scored["alignment_low"] <= scored["alignment_high"]).all()
    summary = result.summary()
    assert set(summary["teacher"]) == set(teachers)
    for one in result.evidence:
        # the privileged answer makes its digits likelier than the student does, at the nodes where they are candidates
        assert np.isfinite(one.nodes.reverse_kl).all()
        assert (one.nodes.reverse_kl >= 0).all()
        assert all(np.isfinite(drawn.logprobs[drawn.start :]).all() for drawn in one.rollouts)
    # the same again is read from the folder, and opens without a model
    again = diagnose(lab.questions, lab.student, teachers, out=tmp_path, progress=False, **given)
    assert_same(again, result)
    assert_same(load_diagnosis(tmp_path), result)
