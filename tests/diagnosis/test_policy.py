"""A policy's log-probabilities against plain forward passes, and its samples against its probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from opd_widgets.diagnosis.policy import FunctionPolicy, ModelPolicy, Policy
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.models.protocol import Generation
from tests import tiny
from tests.diagnosis.exact import Toy, qwen_policy

TOY = Toy(1, 4, 4)
PREFIXES = [(), (2,), (3, 3), (2, 1, 3), (1, 2)]


def statistic(counts, p):
    expected = counts.sum() * p
    return float(((counts - expected) ** 2 / expected).sum())


def bound(free, z=4.0):
    """Upper quantile of chi-square at z standard deviations (Wilson and Hilferty): passed by chance 3 in 100,000."""
    return free * (1 - 2 / (9 * free) + z * np.sqrt(2 / (9 * free))) ** 3


def first_tokens(policy, prefix, n, seed=0):
    return np.bincount([g.ids[0] for g in policy.sample([prefix], n, max_new_tokens=1, seed=seed)[0]],
                       minlength=policy.vocab_size)  # fmt: skip


@pytest.mark.parametrize("policy", [TOY.policy, qwen_policy()], ids=["function", "model"])
@pytest.mark.parametrize("prefix", [(), (2,)])
def test_tokens_come_as_often_as_their_probability(policy, prefix):
    p = np.exp(policy.next_logprobs([prefix])[0])
    counts = first_tokens(policy, prefix, 8000)
    limit = bound(len(p) - 1)
    assert statistic(counts, p) < limit
    sharper = p**1.2 / (p**1.2).sum()  # a temperature of 0.83 would be noticed
    assert statistic(counts, sharper) > limit


def test_whole_continuations_come_as_often_as_their_probability():
    drawn = TOY.policy.sample([()], 8000, max_new_tokens=2, seed=3)[0]
    p = np.exp(TOY.policy.next_logprobs([(), (1,), (2,), (3,)]))
    chance: dict[tuple, float] = {(0,): p[0, 0], **{(j, k): p[0, j] * p[j, k] for j in (1, 2, 3) for k in range(4)}}
    ids = [tuple(one.ids.tolist()) for one in drawn]
    counts = np.array([ids.count(one) for one in chance])
    assert counts.sum() == 8000
    assert statistic(counts, np.array(list(chance.values()))) < bound(12)
    assert all(one.stopped == (one.ids[-1] == 0) for one in drawn)


def listed(drawn):
    return [[one.ids.tolist() for one in some] for some in drawn]


def test_a_draw_depends_on_seed_prefix_and_index_alone():
    alone = listed(TOY.policy.sample([(2,)], 3, max_new_tokens=3, seed=7))
    beside = listed(TOY.policy.sample([(), (2,), (3,)], 5, max_new_tokens=3, seed=7))
    assert beside[1][:3] == alone[0]
    assert listed(TOY.policy.sample([(2,)], 3, max_new_tokens=3, seed=8)) != alone
    twice = listed(TOY.policy.sample([(2,), (2,)], 20, max_new_tokens=3, seed=7))
    assert twice[0] != twice[1]


@pytest.mark.parametrize("policy", [TOY.policy, qwen_policy()], ids=["function", "model"])
def test_each_prefix_has_its_own_room_and_an_ended_one_none(policy):
    end = min(policy.end_ids)
    drawn = policy.sample([(2,), (2, end), (3,), (2, 3)], 6, max_new_tokens=[3, 3, 0, 1], seed=0)
    assert [len(some) for some in drawn] == [6] * 4
    assert max(len(one.ids) for one in drawn[0]) <= 3
    assert all(one.stopped and not len(one.ids) for one in drawn[1])
    assert all(not one.stopped and not len(one.ids) for one in drawn[2])
    assert {len(one.ids) for one in drawn[3]} == {1}
    assert all(one.stopped == (one.ids[-1] in policy.end_ids) for one in drawn[0] + drawn[3])
    assert listed(policy.sample([(2,)], 6, max_new_tokens=3, seed=1)) == listed(
        policy.sample([(2,)], 6, max_new_tokens=3, seed=1)
    )


def test_a_token_of_probability_zero_is_never_drawn():
    row = np.log(
        np.array([0.5, 0.0, 0.5, 0.0, 1e-300]), where=[True, False, True, False, True], out=np.full(5, -np.inf)
    )
    policy = FunctionPolicy(lambda prefixes: np.tile(row, (len(prefixes), 1)), end_ids=[], vocab_size=5)
    counts = first_tokens(policy, (), 2000)
    assert counts[[1, 3, 4]].tolist() == [0, 0, 0]
    assert statistic(counts[[0, 2]], np.array([0.5, 0.5])) < bound(1)


def test_a_models_log_probabilities_are_those_of_plain_forward_passes():
    policy = qwen_policy()
    got = policy.next_logprobs(PREFIXES)
    assert got.dtype == np.float64
    model = tiny.qwen(0, 8, limit=64)
    for prefix, row in zip(PREFIXES, got, strict=True):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[3, 6, 4, *prefix]]), use_cache=False).logits[0, -1]
        np.testing.assert_allclose(row, logits.double().log_softmax(-1).numpy(), atol=2e-6)
    np.testing.assert_allclose(np.exp(got).sum(-1), 1, atol=1e-12)


def test_a_long_shared_prompt_and_small_batches_change_nothing():
    prompt = np.random.default_rng(0).integers(2, 40, 150)
    model = tiny.model(0)
    many = [(k,) for k in range(6, 26)]
    whole, small = ModelPolicy(model, prompt), ModelPolicy(model, prompt, batch_rows=3)
    np.testing.assert_allclose(whole.next_logprobs(many), small.next_logprobs(many), atol=5e-6)
    assert whole.next_logprobs([]).shape == (0, 64)
    with pytest.raises(LengthLimitError, match="takes 256 tokens, and prompt, prefix and new tokens are 271"):
        whole.sample([()], 1, max_new_tokens=121, seed=0)


def test_both_are_policies():
    assert isinstance(TOY.policy, Policy)
    assert isinstance(qwen_policy(), Policy)


def flat(prefixes):
    return np.log(np.full((len(prefixes), 4), 0.25))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: np.zeros((1, 3)), r"shape \(1, 3\), expected \(1, 4\)"),
        (lambda _: np.zeros((1, 4)), "sum to 4, expected 1"),
        (lambda _: np.full((1, 4), np.nan), "sum to nan"),
    ],
)
def test_answers_that_are_no_log_probabilities_are_refused(answer, said):
    with pytest.raises(InvalidInputError, match=said):
        FunctionPolicy(answer, end_ids=[0], vocab_size=4).next_logprobs([()])


def test_an_engines_own_sampler_is_asked_once_and_checked():
    asked = []

    def sample(prefixes, n, *, max_new_tokens, seed):
        asked.append(([ids.tolist() for ids in prefixes], n, list(max_new_tokens), seed))
        return [[[1, 0], Generation(np.array([2, 2, 2]), stopped=False)] for _ in prefixes]

    policy = FunctionPolicy(flat, sample, end_ids=[0], vocab_size=4)
    drawn = policy.sample([(1,), (2, 0)], 2, max_new_tokens=3, seed=5)
    assert asked == [([[1]], 2, [3], 5)]
    assert [(one.ids.tolist(), one.stopped) for one in drawn[0]] == [([1, 0], True), ([2, 2, 2], False)]
    assert all(not len(one.ids) for one in drawn[1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[0, 1]], "an end at 0"),
        ([[1, 1, 1, 1]], "gave 4 tokens, no end"),
        ([[1]], "gave 1 tokens, no end"),
        ([[9, 0]], "found id 9"),
        ([[1, 0], [1, 0]], r"\[2\] continuations, expected 1"),
    ],
)
def test_an_engines_impossible_continuations_are_refused(given, said):
    policy = FunctionPolicy(flat, lambda prefixes, _n, **_settings: [given] * len(prefixes), end_ids=[0], vocab_size=4)
    with pytest.raises(InvalidInputError, match=said):
        policy.sample([()], 1, max_new_tokens=3, seed=0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FunctionPolicy(None, end_ids=[], vocab_size=4), "next_logprobs of type NoneType"),
        (lambda: FunctionPolicy(flat, end_ids=[], vocab_size=0), "vocab_size=0"),
        (lambda: FunctionPolicy(flat, end_ids=[4], vocab_size=4), "id 4 in end_ids, expected 0 to 3"),
        (lambda: ModelPolicy("Qwen/Qwen3-0.6B", [1]), "found str"),
        (lambda: ModelPolicy(tiny.model(0), []), "empty prompt"),
        (lambda: TOY.policy.next_logprobs([(4,)]), "id 4 in a prefix"),
        (lambda: TOY.policy.next_logprobs([np.array([0.5])]), "whole numbers"),
        (lambda: TOY.policy.sample([()], 0, max_new_tokens=1, seed=0), "found n=0"),
        (lambda: TOY.policy.sample([()], 1, max_new_tokens=[1, 2], seed=0), "for 1 prefixes"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(InvalidInputError, match=said):
        make()
