"""The chain's own truth, by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.diagnosis.chains import Chain


def by_enumeration(chain, prefix):
    """Success behind a prefix, over every way to go on."""
    total = 0.0
    for tail in itertools.product(range(chain.vocab), repeat=chain.length - len(prefix)):
        ids = (*prefix, *tail)
        p = sum(chain.logp[chain.state(ids[:at]), ids[at]] for at in range(len(prefix), chain.length))
        total += np.exp(p) * (chain.state(ids) % 2)
    return total


def test_success_is_that_of_enumeration():
    chain = Chain(1, vocab=3, length=5)
    for prefix in [(), (2,), (0, 1)]:
        expected = [by_enumeration(chain, (*prefix, token)) for token in range(3)]
        assert chain.success(prefix) == pytest.approx(expected, abs=1e-12)


def test_drawn_rollouts_are_the_students():
    chain = Chain(1, vocab=3, length=5)
    drawn = [chain.draw((1,), np.random.default_rng(i)) for i in range(2000)]
    state = chain.state((1,))
    share = np.bincount([one.ids[1] for one in drawn], minlength=3) / len(drawn)
    assert share == pytest.approx(np.exp(chain.logp[state]), abs=0.04)
    assert np.mean([one.outcome for one in drawn]) == pytest.approx(by_enumeration(chain, (1,)), abs=0.04)
