"""Padding on either side, or none: the same scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import opd_widgets as opd
from tests import tiny
from tests.faults.made import at, hand_softmax, llama, model, scored

ROWS = [([3, 12, 4], [9, 40, 12]), ([3] + [8] * 11 + [4], [9]), ([3, 4], [9, 12, 7, 7, 30, 21, 22, 9, 10, 11])]


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_fault_36_three_ragged_rows(padding, rows):
    """trl#6800, #2708, #3733, #469, OpenRLHF#217, trlx#509: left padding without positions or mask."""
    rollouts = [opd.Rollout(id=str(i), prompt_ids=p, response_ids=r) for i, (p, r) in enumerate(ROWS)]
    teachers = {"t": opd.Teacher(tiny.model(1))}
    scores = scored(rollouts, tiny.model(0), teachers, padding=padding, batch_rows=rows)
    for item, (prompt, response) in zip(scores.items, ROWS, strict=True):
        for seed, track in ((0, item.student), (1, item.teachers["t"].track)):
            wanted = at(hand_softmax(tiny.qwen(seed), prompt, response), response)
            np.testing.assert_allclose(track.logprobs, wanted, atol=1e-4)


def gpt2():
    """A real random GPT-2, whose positions are learned: unlike rotary ones they cannot all be off by the padding."""
    config = GPT2Config(vocab_size=64, n_positions=256, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GPT2LMHeadModel(config).eval()


@pytest.mark.parametrize("net", [tiny.qwen(0), gpt2()], ids=["rotary positions", "learned positions"])
@pytest.mark.parametrize("padding", ["left", "right"])
def test_fault_36_three_ragged_rows_of_one_forward_pass(net, padding):
    """The same at the model itself, where nothing decides which rows are read together."""
    model = opd.HFModel((net, tiny.tokenizer()), device="cpu")
    ids = [np.array([*prompt, *response], np.int32) for prompt, response in ROWS]
    places = [np.arange(len(prompt) - 1, len(prompt) - 1 + len(response)) for prompt, response in ROWS]
    logp = torch.log_softmax(model.head(model.hidden(ids, places, padding=padding)).double(), -1).numpy()
    wanted = np.concatenate([hand_softmax(net, prompt, response) for prompt, response in ROWS])
    np.testing.assert_allclose(logp, wanted, atol=1e-4)


def test_fault_36_positions_that_count_the_padding_would_be_found():
    """The check above can fail: left padding with plain positions moves the numbers."""
    prompt, response = ROWS[0]
    ids = torch.tensor([[0] * 9 + prompt + response])
    mask = (torch.arange(ids.shape[1]) >= 9).long()[None]
    with torch.no_grad():
        logits = tiny.qwen(0)(input_ids=ids, attention_mask=mask, position_ids=torch.arange(ids.shape[1])[None]).logits
        bare = tiny.qwen(0)(input_ids=ids).logits
    wanted = at(hand_softmax(tiny.qwen(0), prompt, response), response)
    unmasked = torch.log_softmax(bare[0].double(), -1).numpy()[-1 - len(response) : -1]
    assert np.abs(at(unmasked, response) - wanted).max() > 1e-2
    assert torch.isfinite(logits).all()


def test_fault_36_padding_that_a_dump_left_in_its_prompts_is_named():
    """Left-padded prompts saved whole are read as text: nobody can tell a model's padding from a choice."""
    student = model(0, llama())
    padded = opd.Rollout(id="p", prompt_ids=[0, 0, 1, 20, 21], response_ids=[22, 2])
    with pytest.warns(UserWarning, match=r"1 of 1 prompts of tiny-0 begin with padding \(0 '<pad>'\)"):
        assert scored([padded], student).notes
