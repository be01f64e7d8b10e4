"""How far rounding moves a log-probability, and that a reader is told."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.measures.distribution import Distribution
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import at, scored


def half(seed):
    """A bfloat16 copy of a tiny model."""
    import copy

    return opd.HFModel((copy.deepcopy(tiny.qwen(seed)), tiny.tokenizer()), device="cpu", dtype="bfloat16", name="half")


@pytest.mark.parametrize("size", [1.0, 10.0, 100.0])
def test_fault_30_logits_go_to_float32_before_the_softmax(size):
    """genlm/genlm-backend#66: the error of a bfloat16 log-softmax grows with the logits, 0.008 to 0.126."""
    generator = torch.Generator().manual_seed(0)
    logits = (size * torch.randn(50, 200, generator=generator)).to(torch.bfloat16)
    wanted = torch.log_softmax(logits.double(), -1)
    ours = Distribution.of_logits(logits.float()).logp
    assert float((ours.double() - wanted).abs().max()) < 1e-4
    assert float((torch.log_softmax(logits, -1).double() - wanted).abs().max()) > 0.005  # the fault itself


def test_fault_30_a_bfloat16_models_logits_arrive_in_float32_and_are_its_own():
    model = half(0)
    prompt, response = [3, 12, 4], [9, 40, 12]
    ids = np.array([*prompt, *response[:-1]], np.int32)
    states = model.hidden([ids], [np.arange(2, 5)])
    logits = model.head(states)
    assert (states.dtype, logits.dtype) == (torch.bfloat16, torch.float32)
    track = scored([opd.Rollout(id="r", prompt_ids=prompt, response_ids=response)], model).items[0].student
    exact = torch.log_softmax(logits.double(), -1).numpy()
    np.testing.assert_allclose(track.logprobs, at(exact, response), atol=2e-3)
    assert track.provenance.dtype == "bfloat16"


def rollouts(count=6):
    rng = np.random.default_rng(0)
    return [
        opd.Rollout(id=str(n), prompt_ids=rng.integers(6, 50, 5 + 3 * n), response_ids=rng.integers(6, 50, 40 - 5 * n))
        for n in range(count)
    ]


def test_fault_31_the_noise_of_bfloat16_is_measured_and_shown_and_float32_lowers_it():
    """trl#6789: batch 1 against 8 in bfloat16 moved 8 % of the tokens' ratios out of [0.9, 1.1]."""
    coarse = opd.score(rollouts(), half(0), {"t": opd.Teacher(half(1))}, progress=False)
    fine = opd.score(rollouts(), tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, progress=False)
    assert fine.noise["advantage"] < 1e-4
    assert coarse.noise["advantage"] > 100 * fine.noise["advantage"]
    for scores in (coarse, fine):
        row = next(row for row in wire_scores(scores)["meta"]["signals"] if row["name"] == "advantage")
        assert row["noise"] == scores.noise["advantage"]
    # the band is what it says: another batch size moves about that much, and hardly any token more
    alone = opd.score(
        rollouts(), half(0), {"t": opd.Teacher(half(1))}, options=opd.Options(batch_rows=1), progress=False
    )
    moved = np.concatenate(
        [np.abs(alone.signal("advantage", n) - coarse.signal("advantage", n)) for n in range(len(coarse))]
    )
    assert (moved <= 2 * coarse.noise["advantage"]).mean() > 0.97


def test_fault_31_a_float32_option_is_there():
    model = opd.HFModel((tiny.qwen(7), tiny.tokenizer()), device="cpu", dtype="float32")
    assert model.provenance.dtype == "float32"
