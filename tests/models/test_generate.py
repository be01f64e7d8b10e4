"""Sampling is on-policy: frequencies agree with the student's own probabilities, whatever its settings say."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from transformers import GenerationConfig

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError
from tests import tiny

PROMPT = np.array([3, 9, 4], np.int32)
DRAWS = 4000


def exact(model):
    with torch.no_grad():
        logits = model._model(input_ids=torch.tensor(PROMPT[None].astype(np.int64))).logits[0, -1].double()
    return torch.softmax(logits, -1).numpy()


@pytest.fixture
def stubborn():
    """A model whose own settings would change every draw."""
    inner = copy.deepcopy(tiny.qwen(0))
    inner.generation_config = GenerationConfig(
        do_sample=True, temperature=0.2, top_k=2, top_p=0.3, min_p=0.5, repetition_penalty=5.0,
        suppress_tokens=[10, 11, 12], eos_token_id=[1, 7], pad_token_id=0, max_new_tokens=1,
    )  # fmt: skip
    return opd.HFModel((inner, tiny.tokenizer()), device="cpu", name="stubborn")


def test_sampled_frequencies_agree_with_the_models_probabilities(stubborn):
    drawn = stubborn.generate([PROMPT], n=DRAWS, max_new_tokens=1, seed=0)[0]
    counts = np.bincount([int(g.ids[0]) for g in drawn], minlength=stubborn.vocab_size)
    wanted = exact(stubborn) * DRAWS
    common = wanted >= 5
    chi2 = float(((counts - wanted)[common] ** 2 / wanted[common]).sum())
    freedom = int(common.sum()) - 1
    assert chi2 < freedom + 4 * np.sqrt(2 * freedom)  # about four standard deviations above the mean
    assert counts[10:13].sum() > 0  # nothing was suppressed


def test_the_models_own_settings_are_put_back(stubborn):
    stubborn.generate([PROMPT], n=1, max_new_tokens=1, seed=0)
    assert stubborn._model.generation_config.top_k == 2


def test_asked_for_settings_are_used(stubborn):
    greedy = stubborn.generate([PROMPT], n=3, max_new_tokens=1, seed=0, sampling=opd.Sampling(top_k=1))[0]
    assert {int(g.ids[0]) for g in greedy} == {int(exact(stubborn).argmax())}


def test_every_end_token_of_the_model_ends_a_response(stubborn):
    drawn = stubborn.generate([PROMPT], n=300, max_new_tokens=12, seed=3)[0]
    ends = {int(g.ids[-1]) for g in drawn if g.stopped}
    assert ends == {1, 7}
    assert all(not set(g.ids[:-1].tolist()) & {1, 7} for g in drawn)
    assert all(g.stopped or len(g.ids) == 12 for g in drawn)


def test_the_same_seed_draws_the_same_and_leaves_torchs_own_alone():
    model = tiny.model(0)
    state = torch.random.get_rng_state()
    one, two = (model.generate([PROMPT], n=5, max_new_tokens=6, seed=7)[0] for _ in range(2))
    assert [g.ids.tolist() for g in one] == [g.ids.tolist() for g in two]
    other = model.generate([PROMPT], n=5, max_new_tokens=6, seed=8)[0]
    assert [g.ids.tolist() for g in one] != [g.ids.tolist() for g in other]
    assert torch.equal(state, torch.random.get_rng_state())


def test_prompts_of_unlike_length_are_filled_on_the_left():
    model = tiny.model(0)
    long = np.array([3, 12, 13, 14, 9, 4], np.int32)
    alone = model.generate([PROMPT], n=1, max_new_tokens=5, seed=0, sampling=opd.Sampling(temperature=0))
    both = model.generate([long, PROMPT], n=1, max_new_tokens=5, seed=0, sampling=opd.Sampling(temperature=0))
    assert alone[0][0].ids.tolist() == both[1][0].ids.tolist()


def test_nothing_to_do_is_an_error():
    with pytest.raises(InvalidInputError, match="max_new_tokens=0"):
        tiny.model(0).generate([PROMPT], max_new_tokens=0, seed=0)
    with pytest.raises(InvalidInputError, match="empty prompt"):
        tiny.model(0).generate([PROMPT, PROMPT[:0]], max_new_tokens=1, seed=0)


def test_more_new_tokens_than_the_model_takes_are_refused_with_both_lengths():
    with pytest.raises(
        LengthLimitError, match=r"takes 256 tokens, and a prompt of 3 with max_new_tokens=254 needs 257"
    ):
        tiny.model(0).generate([PROMPT], max_new_tokens=254, seed=0)


def test_a_verifier_that_raises_never_counts_as_wrong():
    def broken(_, text):
        raise RuntimeError(text)

    question = opd.Question("q", "1+2=?")
    with pytest.warns(UserWarning, match="no verdict on any of 2 rollouts.*RuntimeError"):
        judged = opd.sample_rollouts([question], tiny.model(0), n=2, max_new_tokens=3, verifier=broken)
    assert {rollout.outcome for rollout in judged} == {"unverified"}
    judged = opd.sample_rollouts([question], tiny.model(0), n=2, max_new_tokens=3, verifier=lambda q, _: q.id == "q")
    assert {rollout.outcome for rollout in judged} == {"correct"}
