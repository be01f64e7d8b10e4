"""A prefix read once gives what reading everything gives, whatever the architecture; and it is read once."""

from __future__ import annotations

import copy
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.models import hf_read
from opd_widgets.models.hf_prefix import Past, Prefixes, common
from tests import tiny
from tests.models.architectures import ATTENDING, loaded, longrope, qwen, recurrent

PREFIX, TAILS = 60, (5, 9, 1, 7, 8, 3)


def rollouts(seed: int = 0, prefix: int = PREFIX, tails=TAILS):
    rng = np.random.default_rng(seed)
    shared = rng.integers(0, 50, prefix)
    sequences = [np.concatenate([shared, rng.integers(0, 50, n)]).astype(np.int32) for n in tails]
    return sequences, [np.arange(prefix - 1, len(ids) - 1) for ids in sequences]


def alone(model, sequences, positions):
    """Each sequence through the whole model by itself, nothing shared: logits at the positions."""
    with torch.no_grad():
        return torch.cat([
            model._model(input_ids=torch.from_numpy(ids.astype(np.int64))[None], use_cache=False).logits[0, at]
            for ids, at in zip(sequences, positions, strict=True)
        ])  # fmt: skip


def read_tokens(model, work):
    """What `work` returns, and how many tokens went through the backbone for it."""
    seen = []
    handle = model._model.get_decoder().register_forward_pre_hook(
        lambda _, __, given: seen.append(given["input_ids"].numel()), with_kwargs=True
    )
    try:
        return work(), sum(seen)
    finally:
        handle.remove()


@pytest.mark.parametrize("make", ATTENDING)
def test_a_shared_prefix_is_read_once_and_changes_no_number(make):
    model = loaded(make)
    sequences, positions = rollouts()
    assert model._reader.shares
    states, read = read_tokens(model, lambda: model.hidden(sequences, positions))
    assert read == PREFIX - 1 + len(sequences) * (1 + max(TAILS))
    expected = alone(model, sequences, positions)
    assert torch.allclose(model.head(states), expected, atol=2e-4 * float(expected.abs().max()))


# a recurrent model of transformers takes no filling on the left
@pytest.mark.parametrize(
    ("make", "padding"), [*((make, side) for make in ATTENDING for side in ("left", "right")), (recurrent, "right")]
)
def test_ragged_rows_of_unlike_prompts(make, padding):
    model = loaded(make)
    sequences = [ids[start:] for start, ids in enumerate(rollouts()[0])]
    positions = [np.array([0, len(ids) // 2, len(ids) - 1]) for ids in sequences]
    found = model.head(model.hidden(sequences, positions, padding=padding))
    expected = alone(model, sequences, positions)
    assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))


def test_a_recurrent_state_is_not_shared_and_still_right():
    model = loaded(recurrent)
    sequences, positions = rollouts()
    states, read = read_tokens(model, lambda: model.hidden(sequences, positions))
    assert not model._reader.shares
    assert read == len(sequences) * (PREFIX + max(TAILS))
    expected = alone(model, sequences, positions)
    assert torch.allclose(model.head(states), expected, atol=2e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("make", ATTENDING)
@pytest.mark.parametrize("rows", [1, 3])
def test_pieces_give_what_one_go_gives(make, rows, monkeypatch):
    sequences, positions = (part[:rows] for part in rollouts(prefix=200))
    model = loaded(make)
    monkeypatch.setattr(hf_read, "PIECE", 48)
    monkeypatch.setattr(hf_read, "SMALLEST", 16)
    widest = []
    model._model.get_decoder().register_forward_pre_hook(
        lambda _, __, given: widest.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    found = model.head(model.hidden(sequences, positions))
    assert max(widest) <= 48
    expected = alone(model, sequences, positions)
    assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))


def test_the_mask_of_a_piece_is_bounded():
    reader = loaded(qwen)._reader
    assert reader._piece(1, 640, 0) == 640
    for length in (10_000, 32_768, 200_000):
        assert reader._piece(1, length, 0) * length <= hf_read.MASK
        assert reader._piece(1, length, 0) >= hf_read.SMALLEST


def test_the_same_prompt_again_is_not_read_again():
    model = loaded(qwen)
    sequences, positions = rollouts()
    model.hidden(sequences, positions)
    again, read = read_tokens(model, lambda: model.hidden(sequences, positions))
    assert read == len(sequences) * (1 + max(TAILS))
    expected = alone(model, sequences, positions)
    assert torch.allclose(model.head(again), expected, atol=2e-4 * float(expected.abs().max()))


def test_an_edit_reads_only_what_follows_the_change():
    """The prompt's first 40 tokens stay, the rest is edited twice; one rollout first, then the others of its prompt."""
    model = loaded(qwen)
    sequences, positions = rollouts()
    model.hidden(sequences[:1], positions[:1], extend=True)
    for edit in (1, 2):
        changed, at = rollouts(seed=edit, tails=TAILS)
        edited = [np.concatenate([sequences[0][:40], ids[40:]]) for ids in changed]
        first, read = read_tokens(model, lambda e=edited, a=at: model.hidden(e[:1], a[:1], extend=True))
        assert read == PREFIX - 40 + TAILS[0]
        rest, read = read_tokens(model, lambda e=edited, a=at: model.hidden(e[1:], a[1:], extend=True))
        assert read == len(edited[1:]) * (1 + max(TAILS))
        found, expected = model.head(torch.cat([first, rest])), alone(model, edited, at)
        assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("known", [PREFIX - 1, PREFIX - 10])
def test_without_extend_numbers_do_not_depend_on_what_was_read_before(known):
    """A run that was killed goes on in a new process, where nothing is kept; bfloat16 shows any other reading."""
    sequences, positions = rollouts()
    fresh, used = (opd.HFModel((copy.deepcopy(qwen()).bfloat16(), tiny.tokenizer()), device="cpu") for _ in range(2))
    before = [ids[: known + 1] for ids in sequences[:1]]
    used.hidden([np.concatenate([before[0], before[0]])], [np.array([known])], extend=True)
    assert torch.equal(fresh.hidden(sequences, positions), used.hidden(sequences, positions))


def test_weights_that_change_are_read_anew():
    """A pair's model may be trained between two uses: by an optimiser, or through `.data`, which nothing counts."""
    sequences, positions = rollouts()
    for change in (lambda weight: weight.add_(0.01), lambda weight: weight.data.mul_(1.01)):
        model = opd.HFModel((copy.deepcopy(qwen()), tiny.tokenizer()), device="cpu")
        for extend in (False, True):
            model.hidden(sequences, positions, extend=extend)
        with torch.no_grad():
            for weight in model._model.parameters():
                change(weight)
        expected = alone(model, sequences, positions)
        for extend in (False, True):
            found = model.head(model.hidden(sequences, positions, extend=extend))
            assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))


def test_a_model_in_training_is_scored_without_dropout_and_left_in_training():
    from transformers import GPT2Config, GPT2LMHeadModel

    made = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=2, n_positions=128))
    model = opd.HFModel((made, tiny.tokenizer()), device="cpu")
    sequences, positions = rollouts()
    expected = alone(model, sequences, positions)
    made.train()
    made.transformer.h[1].eval()  # a part that is frozen
    found = model.head(model.hidden(sequences, positions))
    assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))
    assert made.training
    assert made.transformer.h[0].training
    assert not made.transformer.h[1].training


def test_a_trainers_mixed_precision_is_left_outside():
    """Accelerate wraps the whole model's forward, and the loss runs under autocast; scoring takes neither."""
    from accelerate import Accelerator

    made = copy.deepcopy(qwen())
    sequences, positions = rollouts()
    expected = alone(opd.HFModel((copy.deepcopy(made), tiny.tokenizer()), device="cpu"), sequences, positions)
    prepared = Accelerator(mixed_precision="bf16", cpu=True).prepare_model(made)
    model = opd.HFModel((prepared, tiny.tokenizer()), device="cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model.head(model.hidden(sequences, positions))
    assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("tails", [(5, 9, 1), (5, 40, 60)])
def test_where_positions_depend_on_the_length_each_row_is_read_whole_and_by_itself(tails):
    model = loaded(longrope)
    sequences, positions = rollouts(prefix=50, tails=tails)
    assert not model._reader.shares
    found = model.head(model.hidden(sequences, positions))
    expected = alone(model, sequences, positions)
    assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))


def test_two_threads_read_one_after_the_other():
    """Live scoring reads in its worker while a cell scores with the same model; what is kept is not made for two."""
    model = loaded(qwen)
    sequences, positions = rollouts()
    expected = model.hidden(sequences, positions)
    inside, most = [], []

    def enter(*_: object) -> None:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.002)

    backbone = model._model.get_decoder()
    backbone.register_forward_pre_hook(enter)
    backbone.register_forward_hook(lambda *_: inside.pop() and None)
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(model.hidden, sequences[i % 3 :], positions[i % 3 :], extend=bool(i % 2)) for i in range(24)
        ]
        found = [job.result() for job in jobs]
    assert set(most) == {1}
    for states in found:
        assert torch.allclose(states, expected[len(expected) - len(states) :], atol=1e-4)


def test_a_scoring_that_ends_keeps_nothing():
    model = loaded(qwen)
    sequences, _ = rollouts()
    some = [
        opd.Rollout(id=str(i), question="q", prompt_ids=ids[:PREFIX], response_ids=ids[PREFIX:])
        for i, ids in enumerate(sequences)
    ]
    opd.score(some, model, {}, progress=False)
    assert not model._reader.prefixes._kept


def test_what_is_kept_stays_within_its_budget():
    model = loaded(qwen)
    for seed in range(4):
        sequences, positions = rollouts(seed)
        model.hidden(sequences[:1], positions[:1], extend=True)
    kept = list(model._reader.edited._kept.values())
    assert len(kept) == 4
    small = Prefixes(2 * kept[0].nbytes)
    for past in kept:
        small.put(past)
    assert [past is other for past, other in zip(small._kept.values(), kept[2:], strict=True)] == [True, True]
    none = Prefixes(0)
    none.put(kept[0])
    assert none.get(kept[0].ids) is None
    small.put(Past(np.arange(9, dtype=np.int32), tuple(layer for past in kept for layer in past.layers)))
    assert len(small._kept) == 2  # one that does not fit drives none out


def test_common_and_longest():
    ids = np.arange(10, dtype=np.int32)
    assert common(ids, ids[:4]) == 4
    assert common(ids, ids[::-1]) == 0
    assert common(ids[:0], ids) == 0
    store = Prefixes(1)
    for n in (3, 7):
        store.put(Past(ids[:n], ()))
    found = store.longest(np.array([0, 1, 2, 3, 4, 9], np.int32), 2)
    assert found is not None
    assert found.ids.tolist() == [0, 1, 2, 3, 4]
    assert store.longest(np.array([5, 6], np.int32), 1) is None
