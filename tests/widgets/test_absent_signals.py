"""Why a signal is not there: the reason a reader sees is the true one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import opd_widgets as opd
from opd_widgets.widgets.wire.scale import signal_rows
from tests import tiny
from tests.models.stub_server import ServedModel, serving


@pytest.fixture(scope="module")
def rollouts():
    return opd.sample_rollouts([opd.Question("q", "1+2=?")], tiny.model(0), n=2, max_new_tokens=6, seed=1)


def rows(rollouts, *, full=False, local=False):
    with serving(ServedModel(tiny.model(1), most=-1)) as stub:
        student = tiny.model(0)
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=student, retries=0, full_vocabulary=full)
        teachers = {"there": opd.Teacher(remote), **({"here": opd.Teacher(tiny.model(1))} if local else {})}
        with pytest.warns(UserWarning, match="engine"):
            scores = opd.score(rollouts, student, teachers, progress=False)
    return {row["name"]: row for row in signal_rows(scores)}


@pytest.mark.parametrize("local", [False, True])
def test_a_server_that_says_the_likeliest_only_is_named_with_the_way_out(rollouts, local):
    found = rows(rollouts, local=local)
    for name in ("reverse_kl", "jsd", "teacher_entropy", "teacher_outside"):
        assert found[name]["available"] == local
        assert found[name]["reason"].startswith("no whole distribution from there (vllm)")
        assert "full_vocabulary=True" in found[name]["reason"]
    assert found["advantage"]["reason"] is None
    assert found["student_entropy"]["reason"] is None
    assert "success probabilities" in found["alignment"]["reason"]


def test_a_server_that_says_all_lacks_nothing(rollouts):
    found = rows(rollouts, full=True)
    assert found["reverse_kl"]["available"]
    assert found["reverse_kl"]["reason"] is None


def test_a_dump_is_not_called_a_server(rollouts):
    track = opd.LogprobTrack([-1.0] * len(rollouts[0]), provenance=opd.Provenance("vllm", "m", "float32", 1.0, "raw"))
    dumped = replace(rollouts[0], tracks={"student": track, "teacher": track})
    found = {row["name"]: row for row in signal_rows(opd.scores_from_tracks([dumped]))}
    assert found["advantage"]["available"]
    assert found["reverse_kl"]["reason"] == "needs reverse_kl, not measured here"
