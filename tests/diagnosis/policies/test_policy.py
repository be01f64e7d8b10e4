"""A policy's log-probabilities against plain forward passes, and its samples against its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy import Policy
from opd_widgets.diagnosis.policies.prefixes import chained
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.models.generated import response_text
from opd_widgets.models.protocol import Generation
from tests import tiny
from tests.diagnosis.exact import Toy, qwen_policy

TOY = Toy(1, 4, 4)
RAGGED: Any = [1, [2]]
PREFIXES = [(), (2,), (3, 3), (2, 1, 3), (1, 2)]


def statistic(counts, p):
    expected = counts.sum() * p
    return float(((counts - expected) ** 2 / expected).sum())


def bound(free, z=4.0):
    """Upper quantile of chi-square at z standard deviations (Wilson and Hilferty): passed by chance 3 in 100,000."""
    return free * (1 - 2 / (9 * free) + z * np.sqrt(2 / (9 * free))) ** 3


def first_tokens(policy, prefix, n):
    drawn = policy.sample([prefix] * n, seeds=range(n), max_new_tokens=1)
    return np.bincount([one.ids[0] for one in drawn], minlength=policy.vocab_size)


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
    drawn = TOY.policy.sample([()] * 8000, seeds=range(8000), max_new_tokens=2)
    p = np.exp(TOY.policy.next_logprobs([(), (1,), (2,), (3,)]))
    chance: dict[tuple, float] = {(0,): p[0, 0], **{(j, k): p[0, j] * p[j, k] for j in (1, 2, 3) for k in range(4)}}
    ids = [tuple(one.ids.tolist()) for one in drawn]
    counts = np.array([ids.count(one) for one in chance])
    assert counts.sum() == 8000
    assert statistic(counts, np.array(list(chance.values()))) < bound(12)
    assert all(one.stopped == (one.ids[-1] == 0) for one in drawn)


def listed(drawn):
    return [one.ids.tolist() for one in drawn]


@pytest.mark.parametrize("policy", [TOY.policy, qwen_policy()], ids=["function", "model"])
def test_a_draw_depends_on_its_seed_and_prefix_alone(policy):
    seeds = [7, 8, 9, 10, 11, 12]
    alone = [listed(policy.sample([(2,)], seeds=[seed], max_new_tokens=4))[0] for seed in seeds]
    beside = policy.sample([(), *[(2,)] * 6, (3, 3)], seeds=[1, *seeds, 7], max_new_tokens=[2, *[4] * 6, 9])
    assert listed(beside[1:-1]) == alone
    assert listed(policy.sample([(2,)] * 6, seeds=seeds[::-1], max_new_tokens=4)) == alone[::-1]
    assert len({tuple(ids) for ids in alone}) > 1
    longer = listed(policy.sample([(2,)] * 6, seeds=seeds, max_new_tokens=6))
    assert [ids[:4] for ids in longer] == alone  # more room changes nothing before


@pytest.mark.parametrize("policy", [TOY.policy, qwen_policy()], ids=["function", "model"])
def test_log_probabilities_come_with_what_was_drawn(policy):
    prefixes = [(), (2,), (3, 3)] * 5
    for prefix, one in zip(prefixes, policy.sample(prefixes, seeds=range(15), max_new_tokens=4), strict=True):
        said = policy.next_logprobs([(*prefix, *one.ids[:i].tolist()) for i in range(len(one.ids))])
        assert one.logprobs is not None
        assert one.logprobs.dtype == np.float32
        np.testing.assert_allclose(one.logprobs, said[np.arange(len(one.ids)), one.ids], atol=2e-5)


def test_the_inverse_cdf_by_hand():
    # one row of default_rng(3): below 0.5 is token 0, below 0.75 token 1, above it token 2
    policy = FunctionPolicy(lambda asked: np.log([[0.5, 0.25, 0.25]] * len(asked)), end_ids=[], vocab_size=3)
    chance = np.random.default_rng(3).random(40)
    wanted = np.where(chance < 0.5, 0, np.where(chance < 0.75, 1, 2))
    one = policy.sample([(1,)], seeds=[3], max_new_tokens=40)[0]
    assert one.ids.tolist() == wanted.tolist()
    assert one.logprobs.tolist() == np.log(np.array([0.5, 0.25, 0.25]))[wanted].astype(np.float32).tolist()


@pytest.mark.parametrize("policy", [TOY.policy, qwen_policy()], ids=["function", "model"])
def test_each_prefix_has_its_own_room_and_an_ended_one_none(policy):
    end = min(policy.end_ids)
    prefixes = [(2,), (2, end), (3,), (2, 3)] * 6
    drawn = policy.sample(prefixes, seeds=range(24), max_new_tokens=[3, 3, 0, 1] * 6)
    assert max(len(one.ids) for one in drawn[::4]) <= 3
    assert all(one.stopped and not len(one.ids) for one in drawn[1::4])
    assert all(not one.stopped and not len(one.ids) for one in drawn[2::4])
    assert {len(one.ids) for one in drawn[3::4]} == {1}
    assert all(one.stopped == (one.ids[-1] in policy.end_ids) for one in drawn[::4] + drawn[3::4])
    assert all(len(one.logprobs) == len(one.ids) for one in drawn)
    assert policy.sample([], seeds=[], max_new_tokens=3) == []


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
        whole.sample([()], seeds=[0], max_new_tokens=121)


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

    def sample(prefixes, *, seeds, max_new_tokens):
        asked.append(([ids.tolist() for ids in prefixes], list(seeds), list(max_new_tokens)))
        return [[1, 0], Generation(np.array([2, 2, 2]), stopped=False, logprobs=[-1.0, -2.0, -3.0])]

    policy = FunctionPolicy(flat, sample, end_ids=[0], vocab_size=4)
    drawn = policy.sample([(1,), (2, 0), ()], seeds=[5, 6, 7], max_new_tokens=3)
    assert asked == [([[1], []], [5, 7], [3, 3])]
    assert [(one.ids.tolist(), one.stopped) for one in drawn] == [([1, 0], True), ([], True), ([2, 2, 2], False)]
    assert drawn[0].logprobs is None
    assert drawn[2].logprobs.tolist() == [-1, -2, -3]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[0, 1]], "an end at 0"),
        ([[1, 1, 1, 1]], "gave 4 tokens, no end"),
        ([[1]], "gave 1 tokens, no end"),
        ([[9, 0]], "found id 9"),
        ([[1, 0], [1, 0]], "2 continuations for 1 prefixes"),
        (None, "sample gave NoneType for 1 prefixes"),
        ([Generation(np.array([1, 0]), stopped=True, logprobs=np.zeros(3))], r"shape \(3,\) for 2 tokens"),
    ],
)
def test_an_engines_impossible_continuations_are_refused(given, said):
    policy = FunctionPolicy(flat, lambda _prefixes, **_settings: given, end_ids=[0], vocab_size=4)
    with pytest.raises(InvalidInputError, match=said):
        policy.sample([()], seeds=[0], max_new_tokens=3)


def test_a_response_is_decoded_without_its_end():
    assert FunctionPolicy(flat, end_ids=[0], vocab_size=4).decode([2, 3, 0]) == "2 3"
    heard: list[list[int]] = []

    def decode(ids):
        heard.append(list(ids))
        return "said"

    policy = FunctionPolicy(flat, end_ids=[0], vocab_size=4, decode=decode)
    assert policy.decode(np.array([2, 0])) == "said"
    policy.decode([2])
    policy.decode([])
    assert heard == [[2], [2], []]
    model = tiny.model(0)
    ids = np.array([*model.tokenizer.encode("12=3"), 1], np.int32)
    assert ModelPolicy(model, [2]).decode(ids) == response_text(ids, model) == "12=3"


@pytest.mark.parametrize("seed", range(5))
def test_prefixes_that_begin_a_longer_one_lie_on_its_sequence(seed):
    rng = np.random.default_rng(seed)
    asked = [rng.integers(0, 3, rng.integers(0, 5)).astype(np.int32) for _ in range(30)]
    chains = chained(asked)
    found = [seq[:depth] for seq, rows in zip(chains.sequences, chains.depths, strict=True) for depth in rows]
    assert all(found[place].tolist() == ids.tolist() for place, ids in zip(chains.places, asked, strict=True))
    nodes = {tuple(ids.tolist()) for ids in asked}
    assert len(found) == len(nodes)  # each is read once
    ends = [u for u in nodes if not any(v != u and v[: len(u)] == u for v in nodes)]
    assert sorted(tuple(ids.tolist()) for ids in chains.sequences) == sorted(ends)  # no fewer will do
    assert all((np.diff(depths) > 0).all() for depths in chains.depths)


def test_reading_in_one_sequence_is_reading_each_alone():
    model, prompt = tiny.model(0), [3, 6, 4, 20]
    rollouts = [np.random.default_rng(row).integers(6, 60, 30 + row) for row in range(3)]
    prefixes = [rollout[:depth] for rollout in rollouts for depth in (25, 0, 1, 2, 7, 30)]
    policy = ModelPolicy(model, prompt)
    together = policy.next_logprobs(prefixes)
    alone = np.concatenate([policy.next_logprobs([prefix]) for prefix in prefixes])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    blocks = [*policy.rows(prefixes, 7)]
    assert [len(block) for block in blocks] == [7, 7, 4]
    np.testing.assert_array_equal(np.concatenate(blocks), together)
    small = ModelPolicy(model, prompt, batch_tokens=40)  # one sequence a pass
    np.testing.assert_allclose(small.next_logprobs(prefixes), alone, atol=1e-5)


def test_a_chain_of_prefixes_takes_one_sequence(monkeypatch):
    model, read = tiny.model(0), list[int]()
    hidden = model.hidden

    def counted(sequences, positions, **settings):
        read.extend(len(ids) for ids in sequences)
        return hidden(sequences, positions, **settings)

    monkeypatch.setattr(model, "hidden", counted)
    rollout = list(range(6, 36))
    ModelPolicy(model, [3, 4]).next_logprobs([rollout[:depth] for depth in range(31)])
    assert read == [32]


def test_no_prefix_takes_no_sequence():
    found = chained([])
    assert (found.sequences, found.depths, len(found.places)) == ((), (), 0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FunctionPolicy(None, end_ids=[], vocab_size=4), "next_logprobs of type NoneType"),
        (lambda: FunctionPolicy(flat, end_ids=[], vocab_size=0), "vocab_size=0"),
        (lambda: FunctionPolicy(flat, end_ids=[4], vocab_size=4), "id 4 in end_ids, expected 0 to 3"),
        (lambda: FunctionPolicy(flat, end_ids=[], vocab_size=True), "vocab_size=True"),
        (lambda: FunctionPolicy(flat, end_ids=None, vocab_size=4), "end_ids=None, expected the ids"),
        (lambda: FunctionPolicy(flat, end_ids=3, vocab_size=4), "end_ids=3, expected the ids"),
        (lambda: FunctionPolicy(flat, end_ids="</s>", vocab_size=4), "end_ids='</s>'"),
        (lambda: FunctionPolicy(flat, end_ids=np.array([1.5]), vocab_size=4), r"end_ids=array\(\[1\.5\]\)"),
        (lambda: TOY.policy.next_logprobs([RAGGED]), r"found \[1, \[2\]\] for a prefix"),
        (lambda: ModelPolicy("Qwen/Qwen3-0.6B", [1]), "found str"),
        (lambda: ModelPolicy(tiny.model(0), []), "empty prompt"),
        (lambda: TOY.policy.next_logprobs([(4,)]), "id 4 in a prefix"),
        (lambda: TOY.policy.next_logprobs([np.array([0.5])]), "whole numbers"),
        (lambda: TOY.policy.sample([()], seeds=[0], max_new_tokens=[1, 2]), "2 max_new_tokens for 1 prefixes"),
        (lambda: TOY.policy.sample([(), ()], seeds=5, max_new_tokens=1), "1 seeds .* for 2 prefixes"),
        (lambda: TOY.policy.sample([()], seeds=[-1], max_new_tokens=1), "-1 in seeds"),
        (lambda: TOY.policy.sample([()], seeds=np.array([0.5]), max_new_tokens=1), r"0\.5\)? in seeds"),
        (lambda: qwen_policy().sample([()], seeds=[0], max_new_tokens=-1), "-1 in max_new_tokens"),
        (lambda: FunctionPolicy(flat, decode="utf-8", end_ids=[], vocab_size=4), "decode of type str"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(InvalidInputError, match=said):
        make()


def test_the_log_probability_of_one_token_is_that_of_the_whole_row(monkeypatch):
    policy = qwen_policy()
    rows = policy.next_logprobs(PREFIXES)
    tokens = np.arange(len(PREFIXES)) % policy.vocab_size
    monkeypatch.setattr("opd_widgets.diagnosis.policies.model_policy.BLOCK_BYTES", 16 * policy.vocab_size)  # 2 rows
    found = policy.logprobs_of(PREFIXES, tokens)
    np.testing.assert_allclose(found, rows[np.arange(len(tokens)), tokens], atol=1e-5)  # the head is in float32
    assert policy.logprobs_of([], tokens[:0]).shape == (0,)
