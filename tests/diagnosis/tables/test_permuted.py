"""Permuted outcomes: everything stays but the outcomes, and those go with responses."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.estimate.fit import fit
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.permuted import null_of, permuted
from opd_widgets.errors import InvalidInputError
from tests.diagnosis.chains import Chain


def with_some_unverified(evidence):
    rollouts = [replace(one, outcome=-1) if row % 7 == 3 else one for row, one in enumerate(evidence.rollouts)]
    return Evidence("q", evidence.nodes, tuple(rollouts))


def outcomes_by_response(evidence):
    found: dict[tuple[int, ...], set[int]] = {}
    for one in evidence.rollouts:
        if one.outcome >= 0:
            found.setdefault(tuple(one.ids.tolist()), set()).add(one.outcome)
    return found


def test_outcomes_are_dealt_anew_among_distinct_responses():
    evidence = with_some_unverified(Chain(3, length=4).evidence(60, 5))
    made = permuted(evidence, np.random.default_rng(5))
    before, after = outcomes_by_response(evidence), outcomes_by_response(made)
    assert len(before) < (evidence.outcome >= 0).sum()  # responses repeat
    assert all(len(outcomes) == 1 for outcomes in after.values())
    assert Counter(min(one) for one in before.values()) == Counter(min(one) for one in after.values())
    assert before != after
    assert ((made.outcome == -1) == (evidence.outcome == -1)).all()


def test_the_tree_stays():
    evidence = Chain(3).evidence(30, 5)
    made = permuted(evidence, np.random.default_rng(5))
    again = Evidence("q3", evidence.nodes, made.rollouts)  # with a tree of its own
    assert (again.tree.log_mass == made.tree.log_mass).all()
    assert (again.candidate_place == made.candidate_place).all()
    assert (fit(again, draws=10).posterior == fit(made, draws=10).posterior).all()
    assert (fit(evidence, draws=10).visits == fit(made, draws=10).visits).all()


def test_every_permutation_is_as_likely():
    own = [Drawn(np.array([k], np.int32), 0, np.zeros(1, np.float32), int(k == 0)) for k in (0, 0, 0, 1, 2)]
    evidence = Evidence("q", Chain(0, vocab=3, length=1).nodes([()]), tuple(own))
    right: Counter[Any] = Counter()
    for seed in range(900):
        made = permuted(evidence, np.random.default_rng(seed))
        right[tuple(made.outcome.tolist())] += 1
    assert set(right) == {(1, 1, 1, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1)}
    assert all(abs(times - 300) < 60 for times in right.values())  # 4 standard deviations


def test_the_same_seed_makes_the_same_null():
    evidence, settings = Chain(3).evidence(30), DiagnosisSettings(seed=2)
    one = null_of(evidence, settings)
    assert (one.outcome == null_of(evidence, settings).outcome).all()
    assert (one.outcome == null_of(evidence, DiagnosisSettings(), 2).outcome).all()
    assert (one.outcome != null_of(evidence, settings, 3).outcome).any()


def test_no_rollout_is_no_fault():
    evidence = Evidence("q", Chain(3).nodes([()]), ())
    assert null_of(evidence, DiagnosisSettings()).rollouts == ()


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(InvalidInputError, match=f"found seed={seed} for the permutation"):
        null_of(Evidence("q", Chain(3).nodes([()]), ()), DiagnosisSettings(), seed)
