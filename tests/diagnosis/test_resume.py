"""A diagnosis in a folder: stopped or damaged at any moment, it ends as one that was not."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opd_widgets.data import store_files
from opd_widgets.data.store_files import DIAGNOSIS, PART
from opd_widgets.diagnosis.run.stored import load_diagnosis
from opd_widgets.errors import ReadError
from tests import tiny
from tests.diagnosis.toy_run import (
    BUDGET,
    ENDS,
    QUESTIONS,
    SURE,
    assert_no_draw_twice,
    assert_same,
    assert_same_drawn,
    assert_same_folders,
    files,
    run,
)
from tests.killed_at_write import Killed, kill_at_write


def test_it_is_the_run_in_memory_and_opens_without_a_model(whole):
    assert_same(load_diagnosis(whole), run())


def test_torch_is_not_needed_to_open_it(whole):
    code = (
        "import sys\nfrom opd_widgets.diagnosis.run.stored import load_diagnosis\n"
        f"print(len(load_diagnosis({str(whole)!r}).evidence), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "False"]


def test_once_more_nothing_is_drawn_and_the_result_is_the_same(whole, copy):
    before = {name: at for name, at in files(copy).items() if name != DIAGNOSIS}
    result = run(out=copy, checkpoint=lambda: pytest.fail("something was drawn"))
    assert_same(result, load_diagnosis(whole))
    assert before == {name: at for name, at in files(copy).items() if name != DIAGNOSIS}


@pytest.mark.slow
@pytest.mark.parametrize("after_rename", [False, True])
def test_stopped_at_any_write_it_goes_on_and_ends_the_same(tmp_path, monkeypatch, after_rename):
    flush = store_files._flush
    small = {"questions": [*QUESTIONS[:2], SURE, ENDS], "budget": 500, "rounds": 3, "held_out": 3}
    expected = tmp_path / "expected"
    count = [0]

    def counted(beside):
        count[0] += 1
        flush(beside)

    monkeypatch.setattr(store_files, "_flush", counted)
    run(out=expected, **small)
    assert 12 <= count[0] <= 40
    for stop in range(1, count[0] + 1):
        path = tmp_path / str(stop)
        monkeypatch.setattr(store_files, "_flush", flush)
        kill_at_write(monkeypatch, stop, after_rename=after_rename)
        with pytest.raises(Killed):
            run(out=path, **small)
        monkeypatch.setattr(store_files, "_flush", flush)
        run(out=path, **small)
        assert_same_folders(path, expected)


DRIVER = """
import sys, time
import opd_widgets as opd
from opd_widgets.diagnosis.diagnose import diagnose
folder, out, pause = sys.argv[1:]
student, other = (opd.HFModel(f"{folder}/{name}", device="cpu") for name in ("student", "other"))
questions = [opd.Question(f"q{i}", f"{i}+{i}=?", answer=str(i)) for i in range(3)]
from tests.diagnosis.toy_run import has_digit
print("ready", flush=True)
diagnose(questions, student, {"Other": other, "Hint": opd.Teacher(student, opd.contexts.free_text("say 3"))},
         verifier=has_digit, budget=2500, max_new_tokens=12, batch_rows=32, rounds=5, max_nodes=12, out=out,
         progress=False, checkpoint=lambda: time.sleep(float(pause)))
"""


@pytest.mark.slow
def test_killed_with_sigkill_and_resumed_it_is_value_for_value_the_uninterrupted_run(tmp_path):
    for name, seed in (("student", 0), ("other", 1)):
        tiny.qwen(seed).save_pretrained(tmp_path / name)
        tiny.tokenizer().save_pretrained(tmp_path / name)

    def start(out, pause):
        command = [sys.executable, "-c", DRIVER, str(tmp_path), str(tmp_path / out), str(pause)]
        return subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)

    def shards():
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "killed").glob("rollouts-*.npz")}

    kept: dict[str, int] = {}
    for more in (1, 2, 4):  # in the probe's round, the initial one, a targeted one
        with start("killed", 0.05) as process:
            deadline, least = time.monotonic() + 120, len(kept) + more
            while len(shards()) < least:
                assert process.poll() is None, "it ended before it could be killed"
                assert time.monotonic() < deadline
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait(20)
        assert kept.items() <= shards().items()  # nothing twice
        kept = shards()
        part = load_diagnosis(tmp_path / "killed")
        assert not part.about["finished"]
        assert part.about["notes"][-1].startswith("not finished: ")
        (tmp_path / "killed" / f"rollouts-0099-0000.npz{PART}").write_text("torn")
    for out in ("killed", "whole"):
        with start(out, 0) as process:
            assert process.wait(120) == 0
    assert kept.items() <= shards().items()
    assert len(shards()) > len(kept)
    assert_same_folders(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.parametrize("name", ["rollouts-0000-0000.npz", "rollouts-0003-0000.npz", "nodes-00001.npz"])
@pytest.mark.parametrize("how", ["cut", "flipped", "empty", "text", "other"])
def test_a_damaged_file_is_named_and_deleting_it_repairs_the_run(whole, copy, name, how):
    data = bytearray((copy / name).read_bytes())
    if how == "cut":
        data = data[: len(data) // 2]
    elif how == "flipped":
        data[len(data) // 3] ^= 0xFF
    elif how == "empty":
        data = bytearray()
    elif how == "text":
        data = bytearray(b"not a file of arrays")
    else:
        data = bytearray((copy / ("nodes-00000.npz" if name[0] == "r" else "round-0000.npz")).read_bytes())
    (copy / name).write_bytes(data)
    before = files(copy)
    for act in (lambda: run(out=copy), lambda: load_diagnosis(copy)):
        with pytest.raises(ReadError, match=rf"{name} of the diagnosis at .* is damaged: .*Delete it"):
            act()
    assert files(copy) == before
    (copy / name).unlink()
    run(out=copy)
    assert_same_folders(copy, whole)


def test_any_flipped_byte_is_noticed_or_changes_nothing(whole, copy):
    path = copy / "rollouts-0002-0000.npz"
    sound = path.read_bytes()
    for at in range(0, len(sound), max(1, len(sound) // 150)):
        torn = bytearray(sound)
        torn[at] ^= 0x55
        path.write_bytes(torn)
        try:
            result = load_diagnosis(copy)
        except ReadError as error:
            assert path.name in str(error)  # noqa: PT017 - either is right
        else:
            assert_same(result, load_diagnosis(whole))


def test_a_shard_of_another_round_is_not_taken_for_this_one(copy):
    shutil.copy(copy / "rollouts-0003-0000.npz", copy / "rollouts-0001-0000.npz")
    with pytest.raises(ReadError, match=r"rollouts-0001-0000\.npz .* it answers other requests"):
        load_diagnosis(copy)


def test_without_its_decision_a_shard_still_counts_and_the_run_goes_on(copy):
    last = max(copy.glob("round-*.npz"))
    last.unlink()
    for shard in sorted(copy.glob("rollouts-" + last.stem.removeprefix("round-") + "-*"))[1:]:
        shard.unlink()
    before = load_diagnosis(copy)
    after = run(out=copy)
    for one, other in zip(before.evidence, after.evidence, strict=True):
        for a, b in zip(one.rollouts, other.rollouts, strict=False):
            assert_same_drawn(a, b)
    assert_no_draw_twice(copy)
    assert after.about["generated_tokens"] >= BUDGET


def interrupting(after):
    left = [after]

    def checkpoint():
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    return checkpoint


@pytest.mark.parametrize("stored", [False, True])
def test_interrupted_among_targeted_rollouts_the_result_is_of_what_was_drawn(whole, tmp_path, stored):
    out = tmp_path / "run" if stored else None
    with pytest.warns(UserWarning, match=r"stopped: the result is of the [\d,]+ tokens .* 3 of 3 questions"):
        part = run(out=out, checkpoint=interrupting(12))
    assert not part.about["finished"]
    assert 0 < part.about["targeted_rollouts"] < load_diagnosis(whole).about["targeted_rollouts"]
    assert len(part.nodes) > 0
    if out:
        opened = load_diagnosis(out)
        assert len(opened.evidence) == 3
        for one, other in zip(opened.evidence, part.evidence, strict=True):
            assert len(one.rollouts) == len(other.rollouts)
        run(out=out)
        assert_same_folders(out, whole)


@pytest.mark.parametrize("stored", [False, True])
def test_interrupted_before_any_node_is_read_there_is_nothing_to_show(whole, tmp_path, stored):
    out = tmp_path / "run" if stored else None
    with pytest.raises(KeyboardInterrupt):
        run(out=out, checkpoint=interrupting(2))
    if out:
        opened = load_diagnosis(out)
        assert opened.evidence == ()
        assert opened.about["initial_rollouts"] > 0
        assert len(opened.nodes) == 0
        run(out=out)
        assert_same_folders(out, whole)


def test_interrupted_while_nodes_are_read_it_is_of_the_questions_that_have_some(whole, tmp_path):
    batches = len([*whole.glob("rollouts-0000-*")]) + len([*whole.glob("rollouts-0001-*")])
    with pytest.warns(UserWarning, match="1 of 3 questions; the same call goes on from there"):
        part = run(out=tmp_path, checkpoint=interrupting(batches + 1))
    assert [one.question for one in part.evidence] == ["one"]
    assert [one.question for one in load_diagnosis(tmp_path).evidence] == ["one"]
    run(out=tmp_path)
    assert_same_folders(tmp_path, whole)
