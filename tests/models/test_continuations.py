"""A continuation is its prompt's, seed's and limit's alone, drawn from the model's own distribution."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from transformers import GenerationConfig

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError, ModelLoadError
from opd_widgets.models import hf_continue, hf_pick, hf_rows
from tests import tiny
from tests.models.architectures import (
    alibi,
    capped,
    hybrid,
    learned,
    llama,
    loaded,
    longrope,
    mixture,
    qwen,
    recurrent,
    sliding,
)

CACHED = [qwen, llama, sliding, capped, learned, alibi, mixture]
REREAD = [hybrid, recurrent, longrope]
LENGTHS = (3, 20, 7, 1, 20, 41)  # unlike, so that rows are filled up; two alike, so that runs of one length occur


def prompts(lengths=LENGTHS, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(2, 50, n).astype(np.int32) for n in lengths]


def tried(make):
    """A model that has been used: its first use tries a few things out, which would be counted."""
    model = loaded(make)
    model.continuations(prompts((2,)), seeds=[0], max_new_tokens=[1])
    return model


@torch.no_grad()
def read_whole(model, ids):
    """The model's own forward pass of one sequence, nothing kept, nothing filled up: log-probabilities [L, V]."""
    logits = model._model(input_ids=torch.from_numpy(np.asarray(ids, np.int64))[None], use_cache=False).logits[0]
    return torch.log_softmax(logits.double(), -1).numpy()


def drawn_alone(model, prompt, seed, most):
    """One row by itself, everything read anew for each token, by inverse CDF in numpy."""
    rng, ids, logprobs = np.random.default_rng(seed), list(prompt), []
    for _ in range(most):
        row = read_whole(model, ids)[-1]
        above = np.cumsum(np.exp(row))
        token = int(np.searchsorted(above, rng.random() * above[-1], side="right"))
        ids.append(token)
        logprobs.append(row[token])
        if token in model.tokenizer.end_ids:
            break
    return ids[len(prompt) :], np.array(logprobs)


def assert_as_alone(model, asked, seeds, most):
    drawn = model.continuations(asked, seeds=seeds, max_new_tokens=most)
    assert len(drawn) == len(asked)
    for one, prompt, seed, new in zip(drawn, asked, seeds, most, strict=True):
        ids, logprobs = drawn_alone(model, prompt, seed, new)
        assert one.ids.tolist() == ids
        assert one.stopped == (ids[-1] in model.tokenizer.end_ids)
        assert (one.ids.dtype, one.logprobs.dtype) == (np.int32, np.float32)
        np.testing.assert_allclose(one.logprobs, logprobs, atol=2e-5 * max(1.0, np.abs(logprobs).max()))
    return drawn


@pytest.mark.parametrize("make", [*CACHED, *REREAD])
def test_rows_of_a_batch_are_what_each_is_by_itself_read_anew_for_every_token(make):
    model = loaded(make)
    assert bool(model._continuer._bytes) == (make in CACHED)
    assert_as_alone(model, prompts(), range(10, 16), (30, 12, 30, 30, 7, 1))


@pytest.mark.parametrize("make", CACHED)
def test_rows_of_one_prompt_share_what_is_read_of_it(make):
    model = loaded(make)
    asked = [ids for ids in prompts((9, 5, 9)) for _ in range(3)]
    drawn = assert_as_alone(model, asked, range(9), [12] * 9)
    assert len({tuple(one.ids.tolist()) for one in drawn}) > 6


@pytest.mark.parametrize("make", CACHED)
def test_a_beginning_that_all_share_is_read_once(make):
    model = tried(make)
    shared, tails = prompts((60, 1, 9, 4, 6, 2, 9))[0], prompts((1, 9, 4, 6, 2, 9), seed=1)
    asked = [shared, *(np.concatenate([shared, tail]) for tail in tails for _ in range(2))]
    seen = []
    handle = model._model.get_decoder().register_forward_pre_hook(
        lambda _, __, given: seen.append(given["input_ids"].numel()), with_kwargs=True
    )
    model.continuations(asked, seeds=range(13), max_new_tokens=[1] * 13)
    handle.remove()
    assert sum(seen) == 59 + (1 + len(tails)) * 10  # of each prompt at least one token is left to read
    assert_as_alone(model, asked, range(13), [10] * 13)


def test_log_probabilities_are_those_of_scoring():
    model = loaded(qwen)
    asked = prompts()
    for ids, one in zip(asked, model.continuations(asked, seeds=range(6), max_new_tokens=[40] * 6), strict=True):
        whole = np.concatenate([ids, one.ids])
        rows = model.head(model.hidden([whole], [np.arange(len(ids) - 1, len(whole) - 1)]))
        wanted = torch.log_softmax(rows, -1).gather(-1, torch.from_numpy(one.ids.astype(np.int64))[:, None])[:, 0]
        np.testing.assert_allclose(one.logprobs, wanted.numpy(), atol=2e-5)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_row_is_the_same_alone_in_another_batch_and_in_another_order(seed, monkeypatch):
    model = loaded(qwen)
    asked, seeds = prompts(range(1, 41), seed), [1000 * seed + i for i in range(40)]
    drawn = [one.ids.tolist() for one in model.continuations(asked, seeds=seeds, max_new_tokens=[25] * 40)]
    order = np.random.default_rng(seed).permutation(40)
    for rows in ([7], [39, 0], order.tolist()):
        again = model.continuations(
            [asked[i] for i in rows], seeds=[seeds[i] for i in rows], max_new_tokens=[25] * len(rows)
        )
        assert [one.ids.tolist() for one in again] == [drawn[i] for i in rows]
    monkeypatch.setattr(hf_continue, "ROWS", 7)
    monkeypatch.setattr(hf_rows, "READ", 64)
    again = model.continuations(asked, seeds=np.array(seeds), max_new_tokens=np.full(40, 25))
    assert [one.ids.tolist() for one in again] == drawn
    shorter = model.continuations(asked, seeds=seeds, max_new_tokens=[5] * 40)
    assert [one.ids.tolist() for one in shorter] == [ids[:5] for ids in drawn]
    assert model.continuations(asked[:1], seeds=[seeds[0] + 1], max_new_tokens=[25])[0].ids.tolist() != drawn[0]


def test_long_rows_outgrow_the_room_made_for_them():
    model = loaded(qwen)
    drawn = assert_as_alone(model, prompts((30, 5, 17, 9, 2, 2)), range(6), [230] * 6)
    assert max(len(one.ids) for one in drawn) > 2 * hf_rows.ROOM + 30


def test_sampled_frequencies_agree_with_the_models_probabilities():
    """The first token, and the second after the commonest first one, beside rows of another prompt."""
    inner = copy.deepcopy(tiny.qwen(0))
    inner.generation_config = GenerationConfig(
        do_sample=True, temperature=0.2, top_k=2, top_p=0.3, min_p=0.5, repetition_penalty=5.0,
        suppress_tokens=[10, 11, 12], eos_token_id=[1, 7], pad_token_id=0, max_new_tokens=1,
    )  # fmt: skip
    model = opd.HFModel((inner, tiny.tokenizer()), device="cpu")
    prompt, n = np.array([3, 9, 4], np.int32), 6000
    asked = [prompt, prompts((12,))[0]] * n
    drawn = model.continuations(asked, seeds=range(2 * n), max_new_tokens=[2] * (2 * n))[::2]
    first = np.array([int(one.ids[0]) for one in drawn])
    common = int(np.bincount(first).argmax())
    second = np.array([int(one.ids[1]) for one in drawn if one.ids[0] == common])
    for found, given in ((first, prompt), (second, np.append(prompt, common))):
        wanted = np.exp(read_whole(model, given)[-1]) * len(found)
        counts = np.bincount(found, minlength=model.vocab_size)
        often = wanted >= 5
        chi2 = float(((counts - wanted)[often] ** 2 / wanted[often]).sum())
        freedom = int(often.sum()) - 1
        assert freedom >= 5
        assert chi2 < freedom + 4 * np.sqrt(2 * freedom)  # about four standard deviations above the mean
    ends = {int(one.ids[-1]) for one in drawn if one.stopped}
    assert ends == {1, 7}
    assert inner.generation_config.top_k == 2


def test_a_token_of_probability_0_is_never_drawn_and_the_edges_of_the_cdf_are_right():
    head = torch.log(torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]] * 6))
    uniform = np.array([0.0, 0.2499999, 0.25, 0.5, np.nextafter(1, 0), 1e-300])
    tokens, logprobs = hf_pick.pick(lambda rows: rows, head, uniform, 5)
    assert tokens.tolist() == [1, 1, 3, 3, 3, 1]
    np.testing.assert_allclose(np.exp(logprobs), [0.25, 0.25, 0.75, 0.75, 0.75, 0.25], rtol=1e-6)
    narrow, _ = hf_pick.pick(lambda rows: rows, head, uniform, hf_pick.ENTRIES)
    assert narrow.tolist() == tokens.tolist()  # a row at a time


def test_ended_rows_are_dropped_so_that_a_long_tail_costs_little():
    model = tried(qwen)
    asked, fed = prompts([8] * 64), []
    handle = model._model.get_decoder().register_forward_pre_hook(
        lambda _, __, given: fed.append(given["input_ids"].shape[0]), with_kwargs=True
    )
    drawn = model.continuations(asked, seeds=range(64), max_new_tokens=[200] * 64)
    handle.remove()
    live = [sum(len(one.ids) > step for one in drawn) for step in range(1, len(fed))]
    assert all(rows <= max(going / 0.75, going) for rows, going in zip(fed[1:], live, strict=True))
    assert live[-1] < 0.75 * 64  # otherwise none would have had to go


def test_where_memory_runs_out_half_as_much_is_drawn_at_a_time():
    model = loaded(llama)
    asked = prompts(range(1, 33))
    whole = [one.ids.tolist() for one in model.continuations(asked, seeds=range(32), max_new_tokens=[20] * 32)]
    sizes = []

    def little(_, __, given):
        sizes.append(given["input_ids"].shape[0])
        if given["input_ids"].shape[0] > 8 and given["input_ids"].shape[1] == 1:
            msg = "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"
            raise RuntimeError(msg)

    model._model.get_decoder().register_forward_pre_hook(little, with_kwargs=True)
    again = model.continuations(asked, seeds=range(32), max_new_tokens=[20] * 32)
    assert [one.ids.tolist() for one in again] == whole
    assert max(sizes[-20:]) <= 8
    sizes.clear()
    model.continuations(asked, seeds=range(32), max_new_tokens=[20] * 32)
    assert max(sizes) <= 16  # it is remembered


def test_what_a_batch_keeps_is_bounded(monkeypatch):
    model = loaded(qwen)
    assert model._continuer._bytes == 2 * 2 * 2 * 8 * 4  # keys and values, layers, heads, size, bytes
    monkeypatch.setattr(hf_continue, "CACHE", 100 * model._continuer._bytes)
    rows = [hf_continue.Row(i, ids, 0, 15) for i, ids in enumerate(prompts([10] * 9))]
    assert model._continuer._fit(rows) == 4  # of 25 tokens each
    assert model._continuer._fit([hf_continue.Row(0, prompts([200])[0], 0, 15)]) == 1


def test_an_architecture_that_places_tokens_by_the_cache_is_read_anew():
    """A decoder that heeds no position ids would place the tokens of shorter rows too late."""
    model = loaded(learned)
    model._model.get_decoder().register_forward_pre_hook(
        lambda _, given, named: (given, {**named, "position_ids": None}), with_kwargs=True
    )
    assert model._reader.shares
    assert not model._continuer._bytes
    assert_as_alone(model, prompts((3, 9, 5)), range(3), [8] * 3)


def test_a_model_in_training_is_drawn_from_without_dropout_and_left_in_training_by_two_threads():
    model = loaded(learned)
    dropping = loaded(lambda: learned(dropout=0.5))
    dropping._model.load_state_dict(model._model.state_dict())
    dropping._model.train()
    dropping._model.transformer.h[1].eval()  # a part that is frozen
    asked = prompts(range(1, 13))
    wanted = [one.ids.tolist() for one in model.continuations(asked, seeds=range(12), max_new_tokens=[20] * 12)]

    def some(rows):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            drawn = dropping.continuations([asked[i] for i in rows], seeds=list(rows), max_new_tokens=[20] * len(rows))
        return [one.ids.tolist() for one in drawn]

    with ThreadPoolExecutor(2) as pool:
        found = [part for _ in range(3) for part in pool.map(some, [range(6), range(6, 12)])]
    assert found == [wanted[:6], wanted[6:]] * 3
    assert dropping._model.training
    assert dropping._model.transformer.h[0].training
    assert not dropping._model.transformer.h[1].training


def test_random_numbers_of_the_process_are_left_alone():
    torchs, numpys = torch.get_rng_state(), repr(np.random.get_state())  # noqa: NPY002 - the state is the point
    loaded_model = tiny.model(0)
    loaded_model.continuations(prompts(), seeds=range(6), max_new_tokens=[5] * 6)
    assert torch.equal(torchs, torch.get_rng_state())
    assert repr(np.random.get_state()) == numpys  # noqa: NPY002


def test_half_precision_says_the_log_probabilities_of_what_it_drew():
    model = opd.HFModel((copy.deepcopy(tiny.qwen(0)), tiny.tokenizer()), device="cpu", dtype="bfloat16")
    asked = prompts()
    for ids, one in zip(asked, model.continuations(asked, seeds=range(6), max_new_tokens=[20] * 6), strict=True):
        rows = read_whole(model, np.concatenate([ids, one.ids]))[len(ids) - 1 : -1]
        assert np.abs(one.logprobs - rows[np.arange(len(rows)), one.ids]).max() < 0.3


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device here")
def test_a_gpu_draws_what_a_cpu_draws():
    asked, seeds, most = prompts(range(1, 33)), range(32), [40] * 32
    there = opd.HFModel((copy.deepcopy(qwen()).cuda(), tiny.tokenizer()), device="cuda")
    pairs = [model.continuations(asked, seeds=seeds, max_new_tokens=most) for model in (loaded(qwen), there)]
    same = [one.ids.tolist() == other.ids.tolist() for one, other in zip(*pairs, strict=True)]
    assert np.mean(same) > 0.9  # another rounding may draw another token now and then
    for one, other, equal in zip(*pairs, same, strict=True):
        assert not equal or np.abs(one.logprobs - other.logprobs).max() < 1e-3


def test_a_model_that_gives_nan_on_the_way_says_so():
    model = tried(llama)
    with torch.no_grad():
        model._model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(ModelLoadError, match="gives NaN in float32 while it goes on"):
        model.continuations(prompts((2,)), seeds=[0], max_new_tokens=[2])


PROMPT = np.array([3, 9, 4], np.int32)


@pytest.mark.parametrize(
    ("asked", "seeds", "most", "said"),
    [
        ([PROMPT], [0], [0], "found 0 in max_new_tokens at row 0, expected a whole number from 1"),
        ([PROMPT] * 2, [0, 1], [3, -1], "found -1 in max_new_tokens at row 1"),
        ([PROMPT] * 2, [0], [3, 3], "found 2 prompts and seeds=1 of them"),
        ([PROMPT] * 2, [0, 1], [3], "found 2 prompts and max_new_tokens=1 of them"),
        ([PROMPT] * 2, 0, [3, 3], "found 2 prompts and seeds=0; expected a list"),
        ([PROMPT] * 2, [0, 1], 3, "found 2 prompts and max_new_tokens=3; expected a list"),
        ([PROMPT], [-1], [3], "found -1 in seeds at row 0, expected a whole number from 0 to"),
        ([PROMPT], [2**63], [3], "found 9223372036854775808 in seeds"),
        ([PROMPT], [0.5], [3], "found 0.5 in seeds"),
        ([PROMPT], [None], [3], "found None in seeds"),
        ([PROMPT, PROMPT[:0]], [0, 1], [3, 3], "found an empty prompt at row 1"),
        ([PROMPT / 2], [0], [3], r"a prompt of shape \(3,\) and type float64"),
        ([PROMPT[None]], [0], [3], r"a prompt of shape \(1, 3\)"),
        ([np.array([3, 64])], [0], [3], "found id 64 in the prompt at row 0, expected 0 to 63"),
        ([np.array([3, -2])], [0], [3], "found id -2 in the prompt"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(asked, seeds, most, said):
    with pytest.raises(InvalidInputError, match=said):
        tiny.model(0).continuations(asked, seeds=seeds, max_new_tokens=most)


def test_more_than_the_model_takes_is_refused_with_both_lengths_and_its_row():
    with pytest.raises(
        LengthLimitError, match=r"takes 256 tokens, and prompt 1 of 3 with max_new_tokens=254 needs 257"
    ):
        tiny.model(0).continuations([PROMPT] * 2, seeds=[0, 1], max_new_tokens=[253, 254])


def test_no_prompts_no_continuations_and_lists_will_do():
    assert tiny.model(0).continuations([], seeds=[], max_new_tokens=[]) == []
    listed, arrays = (
        tiny.model(0).continuations([given], seeds=[np.int64(2**63 - 1)], max_new_tokens=[np.int32(4)])[0].ids.tolist()
        for given in (PROMPT.tolist(), PROMPT)
    )
    assert listed == arrays
