"""Ranks and top-k, the same on numpy and torch."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch

from opd_widgets.measures.ranking import rank_of, top_k

LOGP = np.log(np.array([[0.1, 0.6, 0.3], [0.4, 0.4, 0.2]]))


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_rank_counts_strictly_likelier_tokens(make):
    assert np.asarray(rank_of(make(LOGP), make([0, 1]))).tolist() == [3, 1]


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_rank_over_a_vocabulary_of_many_slices(make):
    logp = np.arange(20_000, dtype=np.float32)[None, :].repeat(2, axis=0)
    assert np.asarray(rank_of(make(logp), make([0, 19_998]))).tolist() == [20_000, 2]


def test_rank_needs_a_byte_an_entry_and_no_more():
    logp = np.zeros((64, 100_000), np.float32)
    tracemalloc.start()
    rank_of(logp, np.zeros(64, np.int64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < logp.nbytes / 3


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_top_k_is_ordered_and_bounded_by_the_vocabulary(make):
    values, ids = top_k(make(LOGP), 2)
    assert np.asarray(ids)[0].tolist() == [1, 2]
    np.testing.assert_allclose(np.exp(np.asarray(values))[0], [0.6, 0.3])
    assert top_k(make(LOGP), 20)[1].shape == (2, 3)


def test_rank_beside_the_largest_values_is_the_rank_without_them():
    rng = np.random.default_rng(0)
    logp = np.round(rng.normal(size=(200, 50)), 1)  # rounded, so that there are ties
    ids = rng.integers(0, 50, 200)
    brute = [1 + sum(value > row[token] for value in row) for row, token in zip(logp, ids, strict=True)]
    for make in (np.asarray, torch.tensor):
        for k in (0, 1, 5, 50):
            for among in (50, 40):  # a head may have rows beyond the real tokens, and rank them
                top = make(-np.sort(-logp[:, :among], axis=-1)[:, :k].copy())
                assert np.asarray(rank_of(make(logp), make(ids), top, among)).tolist() == brute


@pytest.mark.parametrize("vocab", [8192, 8193, 20_000, 49_152])
def test_top_k_by_blocks_is_the_top_k(vocab):
    logp = torch.tensor(np.random.default_rng(vocab).normal(size=(7, vocab)), dtype=torch.float32)
    logp[0, -5:] = 9.0 + torch.arange(5)  # in the part that fills no block
    logp[1, 100:140] = 9.0 + torch.arange(40)  # all in one block
    logp[2] = float("-inf")
    logp[2, ::1000] = torch.arange(len(logp[2, ::1000]), dtype=torch.float32)
    values, ids = top_k(logp[:, :vocab], 20)
    assert torch.equal(values, logp.topk(20).values)
    assert torch.equal(logp.gather(1, ids), values)
    assert all(len(set(row)) == 20 for row in ids.tolist())
    sliced = torch.cat([logp, torch.full((7, 9), 99.0)], dim=1)[:, :vocab]  # as a padded head is cut: rows apart
    assert torch.equal(top_k(sliced, 20)[0], values)
