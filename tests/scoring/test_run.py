"""Scoring into a folder: killed at any moment, it ends with the numbers of a run that was not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest

import opd_widgets as opd
from opd_widgets.data import store_files
from opd_widgets.data.store_files import LOCK, PART
from opd_widgets.data.store_manifest import installed
from opd_widgets.errors import InvalidInputError, ReadError
from tests import tiny
from tests.killed_at_write import Killed, kill_at_write
from tests.same_scores import assert_same_rollout, assert_same_scores

OPTIONS = opd.Options(batch_tokens=120, top_k=16)
QUESTIONS = {"sum": "12+7=?", "difference": "9-4=?"}
TEXT = "the answer is 19; check it twice"


def rollouts(count=12):
    lengths = [(7 * i) % 23 for i in range(count)]
    return [
        opd.Rollout(
            id=f"r{i}",
            messages=[opd.Message("user", list(QUESTIONS.values())[i % 2])],
            response_text=("ab 12+7=19; so it is 19\n" * 2)[: lengths[i]],
            question=list(QUESTIONS)[i % 2],
            outcome="correct" if i % 3 else "incorrect",
            metadata={"seed": 5},
        )
        for i in range(count)
    ]


def teachers(student, other):
    return {
        "Other": opd.Teacher(other),
        "Self": opd.Teacher(student, context=opd.contexts.free_text(dict.fromkeys(QUESTIONS, TEXT))),
    }


def run_to(path, **changes):
    student, other = tiny.model(0), tiny.model(1)
    given = {"rollouts": rollouts(), "student": student, "teachers": teachers(student, other), "options": OPTIONS}
    return opd.score_to(**{**given, **changes}, out=path, progress=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_to(tmp_path_factory.mktemp("whole") / "run")


def test_a_run_is_what_score_returns(whole):
    student, other = tiny.model(0), tiny.model(1)
    scores = opd.score(rollouts(), student, teachers(student, other), options=OPTIONS, progress=False)
    loaded = opd.load(whole)
    assert len(list(whole.glob("shard-*.parquet"))) > 3
    assert loaded.noise.keys() == scores.noise.keys()
    for name in ("student", "teachers", "questions", "settings", "notes", "pieces"):
        assert getattr(loaded, name) == getattr(scores, name), name
    for one, other in zip(loaded.rollouts, scores.rollouts, strict=True):
        assert_same_rollout(one, other)
    # `score` may put rollouts into other company than a run's batches, so its last bits are its own
    pd.testing.assert_frame_equal(loaded.to_pandas(), scores.to_pandas(), rtol=1e-4, atol=1e-4)


def test_the_manifest_says_who_scored_what_and_how(whole):
    manifest = json.loads((whole / "manifest.json").read_text())
    assert manifest["finished"]
    assert manifest["seed"] == 5
    assert manifest["rollouts"] == [f"r{i}" for i in range(12)]
    assert sorted(i for batch in manifest["plan"] for i in batch) == list(range(12))
    assert {"python", "torch", "transformers", "numpy", "opd-widgets"} <= manifest["packages"].keys()
    assert manifest["provenance"]["Other"] == {
        "engine": "transformers", "model": "tiny-1", "dtype": "float32", "temperature": 1.0, "logprob_mode": "raw",
    }  # fmt: skip
    identity = manifest["identity"]
    assert identity["student"]["name"] == "tiny-0"
    assert identity["teachers"]["Self"]["context"]["texts"] == {"text": dict.fromkeys(QUESTIONS, TEXT)}
    assert identity["options"]["batch_tokens"] == 120


@pytest.mark.parametrize("after_rename", [False, True])
def test_stopped_at_any_write_it_goes_on_and_ends_the_same(whole, tmp_path, monkeypatch, after_rename):
    flush, batches = store_files._flush, len(list(whole.glob("shard-*")))
    expected, writes = opd.load(whole), 2 * batches + 4  # two a batch; rollouts, manifest, and pieces when they grow
    for stop in range(1, writes):
        path = tmp_path / str(stop)
        kill_at_write(monkeypatch, stop, after_rename=after_rename)
        with pytest.raises(Killed):
            run_to(path)
        monkeypatch.setattr(store_files, "_flush", flush)
        run_to(path)
        assert_same_scores(opd.load(path), expected)
        assert not list(path.glob(f"*{PART}"))


DRIVER = """
import sys, time
import opd_widgets as opd
from tests.scoring.test_run import OPTIONS, rollouts, teachers
folder, out, pause = sys.argv[1:]
student, other = (opd.HFModel(f"{folder}/{name}", device="cpu") for name in ("student", "other"))
print("ready", flush=True)
opd.score_to(rollouts(), student, teachers(student, other), out, options=OPTIONS, progress=False,
             checkpoint=lambda: time.sleep(float(pause)))
"""


def start(models, out, pause):
    command = [sys.executable, "-c", DRIVER, str(models), str(out), str(pause)]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)


def shards(path):
    return {file.name: file.stat().st_mtime_ns for file in path.glob("shard-*.parquet")}


@pytest.mark.slow
def test_killed_with_sigkill_and_resumed_it_is_value_for_value_the_uninterrupted_run(tmp_path):
    for name, seed in (("student", 0), ("other", 1)):
        tiny.qwen(seed).save_pretrained(tmp_path / name)
        tiny.tokenizer().save_pretrained(tmp_path / name)
    kept: dict[str, int] = {}
    for at_least in (1, 3):
        with start(tmp_path, tmp_path / "killed", 0.03) as process:
            deadline = time.monotonic() + 120
            while len(shards(tmp_path / "killed")) < at_least:
                assert process.poll() is None, "it ended before it could be killed"
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait(20)
        now = shards(tmp_path / "killed")
        assert kept.items() <= now.items()  # nothing twice
        kept = now
        with pytest.raises(ReadError, match=r"is not finished: \d of \d+ batches are there"):
            opd.load(tmp_path / "killed")
        part = opd.load(tmp_path / "killed", partial=True)
        assert 0 < len(part) < 12
        assert part.notes[-1].startswith("not finished")
    for out in ("killed", "whole"):
        with start(tmp_path, tmp_path / out, 0) as process:
            assert process.wait(120) == 0
    assert kept.items() <= shards(tmp_path / "killed").items()
    assert len(shards(tmp_path / "killed")) > len(kept)
    assert_same_scores(opd.load(tmp_path / "killed"), opd.load(tmp_path / "whole"))


def test_a_finished_run_is_left_as_it_is(whole):
    before = {path.name: path.stat().st_mtime_ns for path in whole.iterdir() if path.name != LOCK}
    run_to(whole)
    assert before == {path.name: path.stat().st_mtime_ns for path in whole.iterdir() if path.name != LOCK}


def test_a_deleted_shard_is_made_again(whole, tmp_path):
    path = run_to(tmp_path / "run")
    (path / "shard-00001.parquet").unlink()
    with pytest.raises(ReadError, match=r"lacks shard-00001"):
        opd.load(path)
    run_to(path)
    assert_same_scores(opd.load(path), opd.load(whole))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (lambda: {"student": tiny.model(2)}, "student.name was 'tiny-0' and is 'tiny-2'"),
        (lambda: {"student": tiny.model(2, name="tiny-0")}, "student has other weights: its first logit was"),
        (lambda: {"teachers": teachers(tiny.model(0), tiny.model(2))}, "Other.model.name was 'tiny-1' and is 'tiny-2'"),
        (lambda: {"teachers": {"Other": opd.Teacher(tiny.model(1))}}, "teachers.Self was 'tiny-0' and is nothing"),
        (
            lambda: {
                "teachers": {
                    **teachers(tiny.model(0), tiny.model(1)),
                    "Self": opd.Teacher(tiny.model(0), context=opd.contexts.free_text("no")),
                }
            },
            "teachers.Self.context.texts.text was a mapping of 'sum', 'difference' and is 'no'",
        ),
        (lambda: {"options": opd.Options(batch_tokens=119, top_k=16)}, "batch_tokens was 120 and is 119"),
        (
            lambda: {"options": opd.Options(batch_tokens=120, top_k=16, settings=opd.SignalSettings(beta=0.3))},
            "options.settings.beta was 0.5 and is 0.3",
        ),
        (lambda: {"rollouts": rollouts(11)}, "rollouts.count was 12 and is 11"),
        (lambda: {"rollouts": rollouts()[::-1]}, "was 'r0' and is 'r11'"),
        (
            lambda: {"rollouts": [one.with_outcome("unverified") for one in rollouts()]},
            "rollouts.hash was '.*' and is '",
        ),
    ],
)
def test_another_run_is_refused_with_both_named(whole, changes, says):
    before = {path.name: path.stat().st_mtime_ns for path in whole.iterdir() if path.name != LOCK}
    with pytest.raises(InvalidInputError, match=says) as error:
        run_to(whole, **changes())
    assert str(whole) in str(error.value)
    assert before == {path.name: path.stat().st_mtime_ns for path in whole.iterdir() if path.name != LOCK}


def test_a_run_saved_from_memory_is_not_continued(whole, tmp_path):
    opd.load(whole).save(tmp_path / "run")
    with pytest.raises(InvalidInputError, match="saved from memory, which nothing continues"):
        run_to(tmp_path / "run")


def test_a_folder_with_a_users_files_is_left_alone(tmp_path):
    (tmp_path / "rollouts.parquet").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"holds 'rollouts.parquet'.*choose another place"):
        run_to(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("rollouts.parquet", "mine")]


def test_what_cannot_be_scored_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(opd.OpdError, match="empty list of rollouts"):
        run_to(tmp_path / "run", rollouts=[])
    assert not (tmp_path / "run").exists()


def test_other_packages_on_the_way_are_noted(tmp_path, monkeypatch):
    calls = iter([None, None, Killed])

    def stop():
        if next(calls, None):
            raise Killed

    with pytest.raises(Killed):
        run_to(tmp_path / "run", checkpoint=stop)
    newer = {**installed(), "torch": "99.0"}
    monkeypatch.setattr("opd_widgets.scoring.run.installed", lambda: newer)
    run_to(tmp_path / "run")
    note = next(note for note in opd.load(tmp_path / "run").notes if "continued with torch 99.0" in note)
    assert f"begun with torch {version('torch')}" in note


def test_without_teachers_and_without_noise(tmp_path):
    path = run_to(tmp_path / "run", teachers={}, noise_rollouts=0)
    scores = opd.load(path)
    assert scores.noise == {}
    assert scores.to_pandas()["teacher"].isna().all()
