"""A real vLLM that gives whole distributions, and one that is killed in the middle of a run: `make test-server`."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import ServerError
from opd_widgets.scoring.served_answers import FOLDER, InFolder
from tests.checkout import ROOT
from tests.models.live_server import PYTHON, vllm_python, vllm_serving
from tests.models.wide_student import write_wide_student

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.filterwarnings("ignore:there and the student")]

TOLERANCE = 2e-4  # nats; measured: 3e-5
KEY_VARIABLE, KEY = "OPD_WIDGETS_TEST_KEY", "a-key-for-this-test"
STUDENT = ROOT / "opd_widgets/demo/models/student"


@pytest.fixture(scope="module", autouse=True)
def key():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, KEY)
        yield


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start a vLLM that serves the lab's student, with a name for its log."""
    python = vllm_python()
    if python is None:
        pytest.skip(f"no vLLM here: run `make test-server`, or name the Python of its environment in {PYTHON}")
    folder = tmp_path_factory.mktemp("vllm")
    wide = write_wide_student(STUDENT, folder / "student")
    return lambda name: vllm_serving(python, wide, KEY, folder / name, most=-1)


@pytest.fixture(scope="module")
def lab():
    return opd.demo()


def teacher(server, lab, **more):
    return opd.ServerModel(
        server.url, "student", tokenizer=lab.student, api_key_env=KEY_VARIABLE, timeout=120, retries=1, **more
    )


def test_whole_distributions_then_a_kill_and_another_server(start, lab, tmp_path, monkeypatch):
    rollouts, out = _unlike(lab.rollouts)[:30], tmp_path / "run"
    with start("first") as server:
        _all_signals_agree(server, lab)
        remote = teacher(server, lab, concurrency=1)
        assert remote.limit
        _kill_with_answer(5, server, monkeypatch)
        with pytest.raises(ServerError):
            opd.score_to(rollouts, lab.student, {"there": opd.Teacher(remote)}, out, progress=False, noise_rollouts=0)
    monkeypatch.undo()
    answered = len(list((out / FOLDER).glob("*.npz")))
    assert answered == 5
    assert not list(out.glob("shard-*"))
    with start("second") as server:
        remote = teacher(server, lab)
        assert remote.limit
        before = server.scored()
        teachers = {"there": opd.Teacher(remote)}
        opd.score_to(rollouts, lab.student, teachers, out, progress=False, noise_rollouts=0)
        assert server.scored() - before == len(rollouts) - answered
        whole = opd.score(rollouts, lab.student, teachers, progress=False, noise_rollouts=0)
    found = opd.load(out)
    for one, other in zip(found.items, whole.items, strict=True):
        mine, theirs = one.teachers["there"].signals, other.teachers["there"].signals
        np.testing.assert_allclose(mine["advantage"], theirs["advantage"], atol=TOLERANCE)


def _unlike(rollouts):
    """Rollouts of which no two are the same: an answer serves all that are."""
    return list({rollout.token_ids.tobytes(): rollout for rollout in rollouts}.values())


def _kill_with_answer(number, server, monkeypatch):
    """Kill the server once so many of its answers are kept: a thread that watches for them can be outrun."""
    keep = InFolder.__setitem__

    def kept(self, key, value):
        keep(self, key, value)
        if len(self) == number:
            server.kill()

    monkeypatch.setattr(InFolder, "__setitem__", kept)


def _all_signals_agree(server, lab):
    hint = opd.contexts.free_text("The answer is 7.")
    remote = teacher(server, lab, full_vocabulary=True)
    teachers = {
        "here": opd.Teacher(lab.student, hint),
        "there": opd.Teacher(remote, hint),
    }
    scores = opd.score(lab.rollouts[:24], lab.student, teachers, progress=False, noise_rollouts=4)
    apart: dict[str, float] = {}
    for item in scores.items:
        here, there = item.teachers["here"].signals, item.teachers["there"].signals
        assert set(here) == set(there)
        assert {"reverse_kl", "forward_kl", "jsd", "teacher_entropy", "teacher_rank", "topk_overlap"} <= set(there)
        for name, values in there.items():
            if name == "teacher_rank":
                assert (values == here[name]).mean() > 0.99
                continue
            finite = np.isfinite(here[name])
            np.testing.assert_array_equal(finite, np.isfinite(values), err_msg=name)
            scale = np.maximum(1.0, np.abs(here[name][finite]))
            apart[name] = max(apart.get(name, 0.0), float((np.abs(values - here[name])[finite] / scale).max(initial=0)))
    for name in ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl", "teacher_entropy"):
        assert apart[name] < TOLERANCE, name
    assert max(apart.values()) < 20 * TOLERANCE  # squares, exponentials and sums over a rollout amplify it
