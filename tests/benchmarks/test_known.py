"""The benchmark's truths by a second route: whole responses one by one, and samples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from tests.benchmarks.known import TABLES, Smooth, coverage_set, known_policies, tabular
from tests.diagnosis.exact import Node, responses
from tests.diagnosis.known_nodes import IMPORTANT, REACH


@lru_cache
def policies():
    return {one.name: one for one in known_policies()}


@pytest.mark.parametrize("name", ["leaves-d", "long-a", "smooth-d"])
def test_truth_equals_the_sum_over_whole_responses(name):
    table, known = TABLES[name], policies()[name]
    mass: dict[Node, float] = {}
    good: dict[Node, float] = {}
    for ids in responses(table.vocab, table.depth, table.ends):
        chance = np.exp(sum(table.row(0, ids[:i])[k] for i, k in enumerate(ids)))
        right = table.correct(ids) and (not table.ended or ids[-1] in table.ends)
        for i in range(len(ids) + 1):
            mass[ids[:i]] = mass.get(ids[:i], 0.0) + chance
            good[ids[:i]] = good.get(ids[:i], 0.0) + chance * right
    assert mass[()] == pytest.approx(1, abs=1e-9)
    assert known.value == pytest.approx(good[()], abs=1e-9)
    inner = [ids for ids in mass if len(ids) < table.depth and not table.ends.intersection(ids) and mass[ids] >= REACH]
    place = {prefix: m for m, prefix in enumerate(known.prefixes)}
    rows = [policy.next_logprobs(inner) for policy in known.teachers.values()]
    counted = 0
    for i, prefix in enumerate(inner):
        p = np.array([mass[*prefix, k] / mass[prefix] for k in range(table.vocab)])
        likely = (p > IMPORTANT) | (np.exp([row[i] for row in rows]) > IMPORTANT).any(axis=0)
        success = np.array([good[*prefix, k] / mass[*prefix, k] for k in range(table.vocab)])
        if likely.sum() < 2 or np.ptp(success[likely]) < 1e-10:
            assert prefix not in place
            continue
        counted, m = counted + 1, place[prefix]
        tokens = known.tokens[m][known.tokens[m] >= 0]
        assert set(tokens.tolist()) == set(np.flatnonzero(likely).tolist())
        assert known.reach[m] == pytest.approx(mass[prefix], rel=1e-9)
        np.testing.assert_allclose(known.success[m, : len(tokens)], success[tokens], atol=1e-9)
        s = p[tokens] / p[tokens].sum()
        ideal = s * (success[tokens] - s @ success[tokens])
        for t, row in enumerate(rows):
            force = np.log(np.exp(row[i][tokens]) / np.exp(row[i][tokens]).sum()) - np.log(s)
            pull = s * (force - s @ force)
            cosine = ideal @ pull / np.linalg.norm(ideal) / np.linalg.norm(pull)
            assert known.alignment[m, t] == pytest.approx(cosine, abs=1e-4)
    assert counted == len(known.prefixes)


@pytest.mark.parametrize("name", ["leaves-b", "leaves-e", "long-c", "smooth-c"])
def test_samples_that_are_decoded_and_verified_succeed_as_often(name):
    known, n = policies()[name], 1500
    drawn = known.policy.sample([()] * n, seeds=range(n), max_new_tokens=known.limit)
    ended = [one.stopped or not known.policy.end_ids for one in drawn]
    texts = [known.policy.decode(one.ids) for one in drawn]
    share = np.mean([e and known.verifier(known.question, text) for e, text in zip(ended, texts, strict=True)])
    assert abs(share - known.value) <= 4 * np.sqrt(known.value * (1 - known.value) / n)


def test_the_declared_set_has_what_it_should():
    made = policies()
    assert list(made) == list(TABLES)
    assert len(made) >= 12
    assert sum(isinstance(table, Smooth) for table in TABLES.values()) >= 3
    assert sum(table.spread >= 4 and table.depth >= 8 for table in TABLES.values()) >= 3
    for known in made.values():
        assert len(known.prefixes) >= 20
        assert 0.02 < known.value < 0.98
        assert (known.n_support >= 2).all()
        assert not np.isnan(known.alignment).all(axis=1).any()
        assert (known.bound[known.tokens >= 0] == 0).all()
        assert list(known.teachers) == ["far", "near"]
        assert (known.student_logp[:, 1:] <= known.student_logp[:, :-1]).all()


def test_the_coverage_set_is_large_enough_and_another():
    made = coverage_set()
    sizes = np.concatenate([one.n_support for one in made])
    assert (sizes >= 3).sum() >= 500
    assert (sizes == 2).sum() >= 500
    assert not {one.name for one in made} & set(TABLES)


def test_in_smooth_policies_siblings_are_like_their_parents():
    def likeness(kind):
        """How much of the children's variance lies between parents, over full responses' parents."""
        rng, groups = np.random.default_rng(0), []
        table = TABLES[kind]
        for _ in range(400):
            prefix = tuple(rng.integers(0, table.vocab, table.depth - 1).tolist())
            groups.append([table.correct((*prefix, k)) for k in range(table.vocab)])
        return np.var(np.mean(groups, axis=1)) / np.var(groups)

    assert likeness("smooth-a") > likeness("leaves-a") + 0.1


def test_nodes_can_be_chosen():
    known = tabular("leaves-d", TABLES["leaves-d"])
    wide = known.success_range > np.median(known.success_range)
    some = known.only(wide)
    assert some.prefixes == tuple(prefix for prefix, keep in zip(known.prefixes, wide, strict=True) if keep)
    np.testing.assert_array_equal(some.alignment, known.alignment[wide])
    assert some.policy is known.policy
