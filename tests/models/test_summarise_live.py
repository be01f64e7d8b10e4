"""A served model writes the summaries that the same weights write here: `make test-server`."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from tests.checkout import ROOT
from tests.models.live_server import PYTHON, vllm_python, vllm_serving
from tests.models.wide_student import write_wide_student

pytestmark = [pytest.mark.server, pytest.mark.slow]

KEY_VARIABLE, KEY = "OPD_WIDGETS_TEST_KEY", "a-key-for-this-test"


def test_greedy_summaries_are_those_of_the_local_model(tmp_path, monkeypatch):
    python = vllm_python()
    if python is None:
        pytest.skip(f"no vLLM here: run `make test-server`, or name the Python of its environment in {PYTHON}")
    lab = opd.demo(questions=8, rollouts=1)
    asked = {question.id: question.title for question in lab.questions}
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    wide = write_wide_student(ROOT / "opd_widgets/demo/models/student", tmp_path / "student")
    with vllm_serving(python, wide, KEY, tmp_path / "log") as server:
        remote = opd.ServerModel(f"{server.url}/v1", "student", tokenizer=lab.student, api_key_env=KEY_VARIABLE)
        served = opd.contexts.summarise(asked, remote, template="{solution}", max_new_tokens=64)
    assert served == opd.contexts.summarise(asked, lab.student, template="{solution}", max_new_tokens=64)
    assert all(served.values())
