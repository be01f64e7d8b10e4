"""A real language model from a package, end to end."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.demo import smollm2
from opd_widgets.errors import MissingDependencyError

pytestmark = [pytest.mark.smollm, pytest.mark.slow]


@pytest.fixture(scope="module")
def lab():
    return opd.demo("smollm2", questions=3, rollouts=2)


def test_rollouts_are_text_and_judged(lab):
    assert len(lab.rollouts) == 6
    assert {rollout.outcome for rollout in lab.rollouts} <= {"correct", "incorrect"}
    assert all("=" in rollout.response_text for rollout in lab.rollouts[:1])
    assert lab.verifier(lab.questions[0], f"it is {lab.questions[0].answer}")


def test_scores_of_self_distillation_teachers(lab):
    scores = opd.score(lab.rollouts, lab.student, lab.teachers, noise_rollouts=2, progress=False)
    advantage = np.concatenate([scores.signal("advantage", i, "Self-1C") for i in range(len(scores))])
    assert np.isfinite(advantage).all()
    assert np.abs(advantage).max() > 0.1
    assert 0 < scores.noise["advantage"] < 1e-2
    prompt = lab.student.tokenizer.decode(scores.items[0].teachers["Self-1C"].prompt_ids)
    assert prompt.count("<|im_start|>system") == 1
    assert lab.questions[0].solution in prompt
    assert prompt.endswith("<|im_start|>assistant\n")


def test_tokens_read_as_text_again(lab):
    for rollout in lab.rollouts:
        data = b"".join(lab.student.tokenizer.piece(int(t)).data for t in rollout.response_ids)
        assert rollout.response_text in data.decode()


def test_without_its_package_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("OPD_WIDGETS_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "PACKAGE", "no_such_package")
    with pytest.raises(MissingDependencyError, match=r"opd-widgets\[smollm\]"):
        smollm2.converted_model()
