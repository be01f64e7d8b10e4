"""On a GPU: the numbers of a CPU, and the script that measures cost; without one, the script's own lines on a CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import opd_widgets as opd
from tests import tiny
from tests.benchmarks import gpu
from tests.benchmarks.made import random_rollout

TINY = gpu.Shape("tiny", 32, 64, 2, 4, 2, 8, 64)
SHORT = gpu.Sizes(long=64, prompt=8, response=16, rows=4, context=300, rollouts=4, short=10)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device here")
def test_a_gpu_gives_the_numbers_of_a_cpu():
    found = []
    for device in ("cpu", "cuda"):
        student, teacher = (opd.HFModel((tiny.qwen(seed), tiny.tokenizer()), device=device) for seed in (0, 1))
        rollouts = [random_rollout(i, 8, 20 + i, 50) for i in range(5)]
        found.append(opd.score(rollouts, student, {"t": opd.Teacher(teacher)}, progress=False).to_pandas())
    for name in ("advantage", "reverse_kl", "jsd", "teacher_entropy"):
        np.testing.assert_allclose(found[1][name], found[0][name], atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device here")
def test_the_memory_bound_holds_on_a_gpu():
    assert gpu.peak("cuda", gpu.SMALL, gpu.Sizes()) <= 512


def test_the_script_runs_in_small_on_a_cpu():
    rows = gpu.measure("cpu", (TINY,), SHORT)
    assert len(rows) == 4
    assert all("nan" not in found for what, found in rows if "memory" not in what)


def test_without_a_gpu_the_script_says_so(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    gpu.main()
    assert "no GPU here" in capsys.readouterr().out
