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
