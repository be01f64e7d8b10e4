"""What a recorder writes, whoever trains, and what a killed one leaves behind."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.store_files import PART
from opd_widgets.errors import InvalidInputError, MissingSignalError
from tests import tiny


def rollout(name="r", **changes):
    track = opd.LogprobTrack([-1.0, -2.0])
    return opd.Rollout(
        **{"id": name, "prompt_ids": [5], "response_ids": [7, 8], "tracks": {"student": track}, **changes}
    )


def test_another_trainer_is_recorded_by_hand(tmp_path):
    recorder = opd.Recorder(tmp_path / "runs", every=10, limit=1)
    place = recorder.record(10, [rollout("a"), rollout("b")], tokenizer=tiny.model(0).tokenizer)
    assert recorder.record(11, [rollout()]) is None
    scores = opd.load(place)
    assert [r.id for r in scores.rollouts] == ["a"]
    assert scores.pieces[7] == tiny.model(0).tokenizer.piece(7)
    assert list(opd.load_steps(tmp_path / "runs")) == [10]
    with pytest.raises(MissingSignalError, match="no rollout has a track 'student'"):
        recorder.record(20, [rollout(tracks={})])


def test_what_cannot_be_recorded_says_so(tmp_path):
    with pytest.raises(InvalidInputError, match="found a object without compute_loss"):
        opd.Recorder(tmp_path).attach(object())
    with pytest.raises(InvalidInputError, match="found every=0"):
        opd.Recorder(tmp_path, every=0)
    with pytest.raises(InvalidInputError, match="found limit=0"):
        opd.Recorder(tmp_path, limit=0)
    with pytest.raises(InvalidInputError, match="found teachers and no student"):
        opd.Recorder(tmp_path, teachers={"t": opd.Teacher(tiny.model(1))})
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInputError, match="found a file"):
        opd.Recorder(tmp_path / "file")


KILLED = """
import sys, numpy as np, opd_widgets as opd
recorder = opd.Recorder(sys.argv[1])
for step in range(1, 10_000):
    rollouts = [
        opd.Rollout(id=f"{step}-{i}", prompt_ids=[5], response_ids=np.arange(200) % 50,
                    tracks={"student": opd.LogprobTrack(np.full(200, -1.0))})
        for i in range(40)
    ]
    recorder.record(step, rollouts)
    print(step, flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05])
def test_killed_in_the_middle_finished_steps_stay_whole(tmp_path, delay):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "runs")], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    done = [int(process.stdout.readline()) for _ in range(3)]
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    done += [int(line) for line in process.communicate()[0].split()]
    steps = opd.load_steps(tmp_path / "runs")
    assert set(done) <= set(steps)
    assert len(steps) - len(done) in {0, 1}  # one may be whole and not yet said
    assert all(len(scores) == 40 for scores in steps.values())
    left = [
        path.name for path in (tmp_path / "runs").iterdir() if not path.name.startswith("step-") or PART in path.name
    ]
    assert all(name.endswith(PART) for name in left)


def test_the_recorder_loads_no_model_library():
    heavy = "{'torch', 'transformers', 'trl'}"
    code = f"import sys, opd_widgets as o; o.Recorder; o.load_steps; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_prompt_that_comes_again_is_scored_under_the_weights_of_its_step(tmp_path):
    """Rollouts of one long prompt share what was read of it, but not with the weights of an earlier step."""
    import torch

    student = opd.HFModel((copy.deepcopy(tiny.qwen(0, limit=512)), tiny.tokenizer()), device="cpu", name="student")
    rng = np.random.default_rng(0)
    prompt = rng.integers(6, 50, 200)
    some = [
        opd.Rollout(id=str(i), question="q", prompt_ids=prompt, response_ids=rng.integers(6, 50, 9)) for i in range(4)
    ]
    recorder = opd.Recorder(
        tmp_path / "runs", student=student, teachers={"other": opd.Teacher(tiny.model(1, limit=512))}
    )
    for step in (1, 2):
        place = recorder.record(step, some)
        with torch.no_grad():
            ids = torch.tensor(np.stack([r.token_ids for r in some]))
            logp = student._model(ids).logits.log_softmax(-1)[:, 199:-1].gather(-1, ids[:, 200:, None])[..., 0]
            for weight in student._model.parameters():
                weight.add_(0.02 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(step)))
        found = np.stack([item.student.logprobs for item in opd.load(place).items])
        np.testing.assert_allclose(found, logp.numpy(), atol=1e-4)
