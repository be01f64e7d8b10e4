"""Ranks and top-k, the same on numpy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from opd_widgets.measures.ranking import rank_of, top_k

LOGP = np.log(np.array([[0.1, 0.6, 0.3], [0.4, 0.4, 0.2]]))


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_rank_counts_strictly_likelier_tokens(make):
    assert np.asarray(rank_of(make(LOGP), make([0, 1]))).tolist() == [3, 1]


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_top_k_is_ordered_and_bounded_by_the_vocabulary(make):
    values, ids = top_k(make(LOGP), 2)
    assert np.asarray(ids)[0].tolist() == [1, 2]
    np.testing.assert_allclose(np.exp(np.asarray(values))[0], [0.6, 0.3])
    assert top_k(make(LOGP), 20)[1].shape == (2, 3)
