"""What a server has answered is never asked for again because something else went wrong."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import ServerError
from opd_widgets.scoring.served_answers import FOLDER, Answers, InFolder, InMemory
from tests import tiny
from tests.models.stub_server import ServedModel, refused, serving
from tests.same_scores import assert_same_scores

pytestmark = pytest.mark.filterwarnings("ignore:there and (the )?student are not alike")

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]


@pytest.fixture(scope="module")
def rollouts():
    return opd.sample_rollouts(QUESTIONS, tiny.model(0, vocab=50), n=4, max_new_tokens=12, seed=1)


class Dying(ServedModel):
    """Answers `lives` scoring requests, and from then on none."""

    lives = 10**6
    lock = threading.Lock()

    def completions(self, body):
        with self.lock:
            self.lives -= 1
            if self.lives < 0:
                return refused("EngineDeadError", 500)
        return super().completions(body)


def panel(stub, **more):
    student = tiny.model(0, vocab=50)
    remote = opd.ServerModel(stub.url, "tiny", tokenizer=student, retries=0, timeout=30, concurrency=1, **more)
    return student, {"there": opd.Teacher(remote)}


def prompts(stub, since=0):
    """How often each sequence was sent to be scored, the self-test's left out."""
    bodies = [request.body for request in stub.requests[since:] if request.path == "/v1/completions"]
    return Counter(tuple(body["prompt"]) for body in bodies if body["prompt_logprobs"] != 1)


@pytest.fixture(scope="module")
def whole(rollouts, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    with serving(ServedModel(tiny.model(1, vocab=50), most=64)) as stub:
        student, teachers = panel(stub)
        opd.score_to(rollouts, student, teachers, path, progress=False, noise_rollouts=0)
    assert not (path / FOLDER).exists()
    return opd.load(path)


@pytest.mark.parametrize("full", [False, True])
def test_scored_again_after_the_server_died_it_is_asked_for_the_rest(rollouts, full):
    served = Dying(tiny.model(1, vocab=50), most=-1)
    with serving(served) as stub:
        student, teachers = panel(stub, full_vocabulary=full)
        assert teachers["there"].model.limit
        served.lives = 5
        with pytest.raises(ServerError, match="EngineDeadError"):
            opd.score(rollouts, student, teachers, progress=False)
        assert prompts(stub).total() >= 5
        served.lives = 10**6
        since = len(stub.requests)
        first = opd.score(rollouts, student, teachers, progress=False, noise_rollouts=0)
        assert prompts(stub, since).total() == len(rollouts) - 5
        since = len(stub.requests)
        again = opd.score(rollouts, student, teachers, progress=False, noise_rollouts=0)
        assert prompts(stub, since).total() == len(rollouts)  # what ended well is not remembered
    assert_same_scores(first, again)


def test_the_noise_band_is_measured_by_asking_anew(rollouts):
    class Noisy(ServedModel):
        times = 0

        def rows(self, ids):
            self.times += 1
            return super().rows(ids) - 0.001 * self.times

    with serving(Noisy(tiny.model(1, vocab=50), most=64)) as stub:
        scores = opd.score(rollouts, *panel(stub), progress=False, noise_rollouts=3)
    assert scores.noise["teacher_surprisal"] > 0.001


def test_a_run_whose_server_died_in_a_batch_goes_on_with_what_was_answered(rollouts, whole, tmp_path):
    served = Dying(tiny.model(1, vocab=50), most=64)
    out = tmp_path / "run"
    with serving(served) as stub:
        student, teachers = panel(stub)
        for lives in (3 + 2, 2):  # two of the self-test, which comes once
            served.lives = lives
            with pytest.raises(ServerError):
                opd.score_to(rollouts, student, teachers, out, progress=False, noise_rollouts=0)
        assert len(list((out / FOLDER).iterdir())) == 5
        served.lives = 10**6
        since = len(stub.requests)
        student, teachers = panel(stub)
        opd.score_to(rollouts, student, teachers, out, progress=False, noise_rollouts=0)
        assert prompts(stub, since).total() == len(rollouts) - 5
    assert not (out / FOLDER).exists()
    assert_same_scores(opd.load(out), whole)


def test_fault_42_a_long_rollout_that_the_engine_dies_of_costs_no_other(rollouts, tmp_path):
    longest = max(len(rollout.token_ids) for rollout in rollouts)

    class Dies(ServedModel):
        limit = longest - 1

        def completions(self, body):
            if len(body["prompt"]) > self.limit:
                return refused("EngineCore encountered an issue.", 500)
            return super().completions(body)

    served, out = Dies(tiny.model(1, vocab=50), most=64), tmp_path / "run"
    with serving(served) as stub:
        served.limit = 10**6  # its self-test is longer
        student, teachers = panel(stub)
        assert teachers["there"].model.limit
        served.limit = longest - 1
        said = rf"no answer to {longest} tokens with the 20 likeliest of each in 1 try.*EngineCore encountered"
        with pytest.raises(ServerError, match=said):
            opd.score_to(rollouts, student, teachers, out, progress=False, noise_rollouts=0)
        shorter = [rollout for rollout in rollouts if len(rollout.token_ids) < longest]
        assert len(list((out / FOLDER).iterdir())) == len(shorter)  # the longest come last
        served.limit, since = 10**6, len(stub.requests)
        opd.score_to(rollouts, student, teachers, out, progress=False, noise_rollouts=0)
        assert prompts(stub, since).total() == len(rollouts) - len(shorter)


DRIVER = """
import sys, warnings
warnings.simplefilter("ignore")
import opd_widgets as opd
from tests import tiny
from tests.scoring.test_served_answers import QUESTIONS
student = tiny.model(0, vocab=50)
rollouts = opd.sample_rollouts(QUESTIONS, student, n=4, max_new_tokens=12, seed=1)
remote = opd.ServerModel(sys.argv[1], "tiny", tokenizer=student, retries=0, timeout=30, concurrency=2)
opd.score_to(rollouts, student, {"there": opd.Teacher(remote)}, sys.argv[2], progress=False, noise_rollouts=0)
"""


@pytest.mark.slow
def test_a_process_killed_in_a_batch_leaves_its_answers_to_the_next(whole, tmp_path):
    class Slow(ServedModel):
        pause = 0.0

        def completions(self, body):
            time.sleep(self.pause)
            return super().completions(body)

    served, out = Slow(tiny.model(1, vocab=50), most=64), tmp_path / "run"
    with serving(served) as stub:
        command = [sys.executable, "-c", DRIVER, stub.url, str(out)]
        served.pause = 0.3
        with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
            deadline = time.monotonic() + 60
            while len(list((out / FOLDER).glob("*.npz"))) < 4:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        kept = len(list((out / FOLDER).glob("*.npz")))
        assert not list(out.glob("shard-*"))
        served.pause, since = 0.0, len(stub.requests)
        assert subprocess.run(command, cwd=Path(__file__).parents[2]).returncode == 0
        assert prompts(stub, since).total() == 8 - kept
    assert_same_scores(opd.load(out), whole)


def test_half_an_answer_is_none(tmp_path):
    kept = InFolder(tmp_path / FOLDER, "there")
    values = np.array([-1.0, -np.inf, np.nan], np.float32)
    kept["a"] = {"logprob": values}
    np.testing.assert_array_equal(kept["a"]["logprob"], values)
    assert list(kept) == ["a"]
    assert kept.get("b") is None
    assert InFolder(tmp_path / FOLDER, "other").get("a") is None
    (file,) = (tmp_path / FOLDER).iterdir()
    for content in (b"", file.read_bytes()[:40], file.read_bytes()[:-30]):
        file.write_bytes(content)
        assert kept.get("a") is None


def test_only_answers_are_swept_away(tmp_path):
    answers = Answers(tmp_path)
    answers.forget([])
    InFolder(tmp_path / FOLDER, "there")["a"] = {}
    (tmp_path / FOLDER / "notes.txt").write_text("a user's")
    answers.forget([])
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["notes.txt"]


def test_memory_is_bounded_and_the_oldest_go_first():
    kept = InMemory(most=100)
    for key in "abc":
        kept[key] = {"x": np.zeros(10, np.float32)}
    assert list(kept) == ["b", "c"]
    kept["b"] = {"x": np.zeros(20, np.float32)}
    assert list(kept) == ["b"]
    kept["d"] = {"x": np.zeros(26, np.float32)}
    assert list(kept) == []
    kept["e"] = {"x": np.zeros(25, np.float32)}
    assert list(kept) == ["e"]


def test_beside_a_dumps_own_student_no_answer_is_lost_either(rollouts):
    served = Dying(tiny.model(1, vocab=50), most=64)
    student = tiny.model(0, vocab=50)
    dumped = opd.score(rollouts, student, {}, progress=False, noise_rollouts=0)
    given = [
        replace(rollout, tracks={"student": item.student}) for rollout, item in zip(rollouts, dumped.items, strict=True)
    ]
    with serving(served) as stub:
        _, teachers = panel(stub)
        assert teachers["there"].model.limit
        served.lives = 3
        with pytest.raises(ServerError):
            opd.score(given, student, teachers, progress=False, rescore_student=False)
        served.lives, since = 10**6, len(stub.requests)
        opd.score(given, student, teachers, progress=False, rescore_student=False)
        assert prompts(stub, since).total() == len(rollouts) - 3


def test_answers_go_when_their_batch_is_written(rollouts, tmp_path):
    out, most = tmp_path / "run", []

    def look():
        most.append(len(list((out / FOLDER).glob("*.npz"))) if (out / FOLDER).exists() else 0)

    with serving(ServedModel(tiny.model(1, vocab=50))) as stub:
        student, teachers = panel(stub)
        opd.score_to(
            rollouts, student, teachers, out, options=opd.Options(batch_rows=1), progress=False, noise_rollouts=0,
            checkpoint=look,
        )  # fmt: skip
    assert max(most) == 1
