"""A policy behind a server beside the same model here, in both engines' formats."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy import Policy
from opd_widgets.diagnosis.policies.read_nodes import read_nodes
from opd_widgets.diagnosis.policies.served_policy import Likeliest, ServedPolicy
from opd_widgets.errors import InvalidInputError, LengthLimitError
from tests import tiny
from tests.models.stub_server import ServedModel, serving

PROMPT = [3, 6, 4]
DEEP = [7, 9, 20, 31, 44, 8, 9, 41]
PREFIXES = [tuple(DEEP[:depth]) for depth in (4, 0, 8, 1)] + [(7, 9, 21), (30,), (30, 31, 32), (30,)]
CHAINS = 3  # sequences that hold them all
STUDENT = ModelPolicy(tiny.model(0), PROMPT)
LOCAL = ModelPolicy(tiny.model(1), PROMPT)


@contextmanager
def served(model=None, *, vocab_size=None, full=False, **how):
    model = model or tiny.model(1)
    with serving(ServedModel(model, **how)) as stub:
        remote = opd.ServerModel(
            stub.url, "tiny", tokenizer=tiny.model(0), retries=0, vocab_size=vocab_size, full_vocabulary=full
        )
        yield ServedPolicy(remote, PROMPT), stub


SERVERS = {
    "vllm": {"most": 64},
    "vllm with its usual limit": {"most": 20},
    "vllm with scale-out": {"most": 64, "any_id": True},
    "sglang": {"engine": "sglang"},
}


@pytest.mark.parametrize("how", SERVERS.values(), ids=SERVERS)
def test_nodes_of_a_teacher_there_are_those_of_the_same_here(how):
    with served(**how) as (policy, _):
        there = read_nodes(STUDENT, {"far": policy, "near": LOCAL}, PREFIXES)
    here = read_nodes(STUDENT, {"far": LOCAL, "near": LOCAL}, PREFIXES)
    np.testing.assert_array_equal(there.tokens, here.tokens)
    np.testing.assert_array_equal(there.student_logp, here.student_logp)
    np.testing.assert_allclose(there.teacher_logp[:, 1], here.teacher_logp[:, 1], atol=1e-6)
    said = ~np.isnan(there.teacher_logp[:, 0])
    if "any_id" in how or "engine" in how:
        assert said.all()
    important = here.teacher_logp[:, 0] > np.log(0.02)
    assert said[important].all()
    np.testing.assert_allclose(there.teacher_logp[:, 0][said], here.teacher_logp[:, 0][said], atol=2e-5)
    assert np.isneginf(there.teacher_logp[:, 0][~there.used]).all()  # what fills is no token, not an unknown one
    for name in ("teacher_entropy", "reverse_kl", "forward_kl", "jsd"):
        assert np.isnan(getattr(there, name)[:, 0]).all()
        assert np.isfinite(getattr(there, name)[:, 1]).all()


def peaked(token, high, vocab=64):
    p = np.full(vocab, (1 - high) / (vocab - 1))
    p[token] = high
    return FunctionPolicy(lambda asked: np.log([p] * len(asked)), end_ids=[1], vocab_size=vocab)


def test_a_token_that_only_the_student_holds_for_likely_is_unknown_or_asked_for():
    row = LOCAL.next_logprobs([(7,)])[0]
    rare = int(np.argmin(row))
    with served(most=20) as (policy, _):
        nodes = read_nodes(peaked(rare, 0.9), {"t": policy}, [(7,)])
        assert nodes.tokens[0, 0] == rare
        assert np.isnan(nodes.teacher_logp[0, 0, 0])
        assert not np.isnan(nodes.teacher_logp[0, 0, 1:]).any()
    for how in ({"most": 20, "any_id": True}, {"engine": "sglang"}):
        with served(**how) as (policy, _):
            nodes = read_nodes(peaked(rare, 0.9), {"t": policy}, [(7,), (), (7, 9), (7,)])
            at = [int(np.flatnonzero(tokens == rare)[0]) for tokens in nodes.tokens]
            wanted = LOCAL.next_logprobs([(7,), (), (7, 9), (7,)])[:, rare]
            np.testing.assert_allclose(nodes.teacher_logp[range(4), 0, at], wanted, atol=2e-5)


def test_an_id_that_the_teacher_there_lacks_is_impossible():
    few = tiny.model(1, vocab=50)
    with serving(ServedModel(few)) as stub:
        far = ServedPolicy(opd.ServerModel(stub.url, "tiny", tokenizer=few, retries=0), PROMPT)
        there = read_nodes(STUDENT, {"t": far}, PREFIXES)
    here = read_nodes(STUDENT, {"t": ModelPolicy(few, PROMPT)}, PREFIXES)
    np.testing.assert_array_equal(there.tokens, here.tokens)
    lacking = here.tokens >= 50
    assert lacking.any()
    assert np.isneginf(there.teacher_logp[:, 0][lacking]).all()


def test_a_student_there():
    here = read_nodes(STUDENT, {"t": LOCAL}, PREFIXES)
    with served(tiny.model(0), most=64, any_id=True) as (policy, _):
        there = read_nodes(policy, {"t": LOCAL}, PREFIXES)
    np.testing.assert_array_equal(there.tokens, here.tokens)
    np.testing.assert_allclose(there.student_logp, here.student_logp, atol=2e-5)
    assert np.isnan(there.student_entropy).all()
    assert np.isnan(there.reverse_kl).all()
    np.testing.assert_allclose(there.teacher_entropy, here.teacher_entropy, atol=1e-6)
    with served(tiny.model(0), most=20) as (policy, _):
        there = read_nodes(policy, {"t": LOCAL}, PREFIXES)
    for mine, logp, theirs in zip(there.tokens, there.student_logp, here.tokens, strict=True):
        assert set(mine) == set(theirs)
        unknown = np.isnan(logp) | (mine < 0)  # what only the teacher holds for likely comes last
        assert (np.diff(unknown.astype(int)) >= 0).all()
        assert mine[~unknown].tolist() == [k for k in theirs if k in mine[~unknown]]


def test_whole_distributions_where_the_server_gives_them():
    with served(most=-1, vocab_size=64, full=True) as (policy, stub):
        assert policy.full_vocabulary
        np.testing.assert_allclose(policy.next_logprobs(PREFIXES), LOCAL.next_logprobs(PREFIXES), atol=2e-5)
        assert policy.next_logprobs([]).shape == (0, 64)
        there = read_nodes(STUDENT, {"t": policy}, PREFIXES)
        assert all(len(r.body["prompt"]) > 1 for r in stub.requests if "prompt_logprobs" in (r.body or {}))
    here = read_nodes(STUDENT, {"t": LOCAL}, PREFIXES)
    for name in ("tokens", "teacher_logp", "teacher_entropy", "reverse_kl", "forward_kl", "jsd"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), atol=2e-5, err_msg=name)


def test_nodes_on_one_sequence_are_one_request():
    with served(most=64) as (policy, stub):
        policy.likeliest([(7,)], 0.02)  # the self-test is behind it
        before = len(stub.requests)
        top = policy.likeliest(PREFIXES, 0.02)
        asked = [request.body["prompt"] for request in stub.requests[before:]]
    assert len(asked) == CHAINS
    assert {tuple(ids[:-1]) for ids in asked} == {(*PROMPT, *u) for u in [tuple(DEEP), (7, 9, 21), (30, 31, 32)]}
    assert top.ids.shape == (len(PREFIXES), 50)
    np.testing.assert_array_equal(top.ids[5], top.ids[7])  # equal prefixes


def test_a_node_where_more_could_be_important_is_refused():
    # a flat model: its twenty likeliest of 30 are all above 0.02
    flat = tiny.model(3, vocab=50)
    weight = flat._model.get_output_embeddings().weight
    with served(flat, most=20) as (policy, _):
        assert policy.likeliest([()], 0.06).ids.shape == (1, 17)
        with (
            flattened(weight),
            pytest.raises(InvalidInputError, match=r"names 20 tokens after the prompt .*logprobs 56"),
        ):
            policy.likeliest([()], 0.018)


@contextmanager
def flattened(weight):
    import torch

    kept = weight.detach().clone()
    with torch.no_grad():
        weight.mul_(1e-3)
    try:
        yield
    finally:
        with torch.no_grad():
            weight.copy_(kept)


def test_what_is_known_of_the_likeliest():
    top = Likeliest(np.array([[4, 2, -1]], np.int32), np.array([[-0.1, -3.0, -np.inf]]))
    found = top.at(np.array([[2, 7, -1, 4]]))
    np.testing.assert_array_equal(found, [[-3.0, np.nan, np.nan, -0.1]])


def test_of_no_node_nothing_is_asked():
    with served() as (policy, stub):
        found = policy.likeliest([], 0.02)
        assert found.at(np.zeros((0, 2), np.int64)).shape == (0, 2)
        assert policy.logprobs_at([], np.zeros((0, 2), np.int64), found).shape == (0, 2)
        assert not stub.requests


def test_continuations_come_from_the_server():
    with served(most=20) as (policy, _):
        drawn = policy.sample([(7, 9), (7, 1), (30,)], seeds=[1, 2, 3], max_new_tokens=[4, 4, 0])
    assert 1 <= len(drawn[0].ids) <= 4
    assert [(one.stopped, len(one.ids)) for one in drawn[1:]] == [(True, 0), (False, 0)]


def test_a_served_policy_is_one_and_says_what_it_cannot():
    with served(most=20) as (policy, _):
        assert policy.vocab_size == 64
        assert policy.end_ids == {1}
        assert policy.decode([*tiny.model(0).tokenizer.encode("a+b"), 1]) == "a+b"
        with pytest.raises(InvalidInputError, match="full_vocabulary=True"):
            policy.next_logprobs([()])
        with pytest.raises(LengthLimitError, match="takes 255 tokens, and prompt, prefix and new tokens are 256"):
            policy.likeliest([[6] * 252], 0.02)
        assert isinstance(policy, Policy)
    few = pytest.raises(InvalidInputError, match=r"gives 64 tokens .* vocab_size=64")
    with served(most=-1, vocab_size=60, full=True) as (policy, _), few:
        policy.next_logprobs([()])
    with pytest.raises(InvalidInputError, match="found HFModel, expected a model behind a server"):
        ServedPolicy(tiny.model(0), PROMPT)
    with pytest.raises(InvalidInputError, match="take a ServedPolicy"):
        ModelPolicy(opd.ServerModel("http://127.0.0.1:9", "m", tokenizer=tiny.model(0)), PROMPT)
