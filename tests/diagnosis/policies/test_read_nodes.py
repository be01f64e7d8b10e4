"""Nodes held against brute force in float64: every token of every node, by plain sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.diagnosis.policies import read_nodes as reading
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.read_nodes import read_nodes
from opd_widgets.errors import InvalidInputError
from tests import tiny
from tests.diagnosis.exact import Toy

PROMPT = [3, 6, 4]
DEEP = [7, 9, 20, 31, 44, 8, 9, 50]
PREFIXES = [tuple(DEEP[:depth]) for depth in (4, 0, 8, 1)] + [(7, 9, 21), (30,), (30, 31, 32)]


REAL = tiny.model(0).tokenizer.size  # 50 of the heads' rows stand for a token


def rows_by_hand(seed, vocab, prefixes):
    """Each prefix by itself through a plain forward pass."""
    model, rows = tiny.qwen(seed, vocab), []
    for prefix in prefixes:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*PROMPT, *prefix]]), use_cache=False).logits[0, -1]
        rows.append(logits.double().log_softmax(-1).numpy())
    return np.stack(rows)


def kl(p, q):
    return sum(a * np.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def by_hand(nodes, student, teachers, important, atol, *, shared=None):
    """Compare with loops over tokens; students and teachers are rows [M, V] of log-probabilities."""
    shared = shared or student.shape[1]
    for m in range(len(nodes)):
        said = [student[m], *(rows[m] for rows in teachers.values())]
        wanted = {k for row in said for k in range(len(row)) if np.exp(row[k]) > important and k < student.shape[1]}
        ranked = sorted(wanted, key=(-student[m]).__getitem__)
        assert nodes.tokens[m].tolist() == ranked + [-1] * (nodes.tokens.shape[1] - len(ranked))
        np.testing.assert_allclose(nodes.student_logp[m, : len(ranked)], student[m, ranked], atol=atol)
        assert np.isneginf(nodes.student_logp[m, len(ranked) :]).all()
        assert nodes.student_entropy[m] == pytest.approx(-(np.exp(student[m]) @ student[m]), abs=atol)
        for t, rows in enumerate(teachers.values()):
            theirs = [rows[m, k] if k < rows.shape[1] else -np.inf for k in ranked]
            np.testing.assert_allclose(nodes.teacher_logp[m, t, : len(ranked)], theirs, atol=atol)
            assert np.isneginf(nodes.teacher_logp[m, t, len(ranked) :]).all()
            assert nodes.teacher_entropy[m, t] == pytest.approx(-(np.exp(rows[m]) @ rows[m]), abs=atol)
            p, q = (np.exp(one[m, :shared]) for one in (student, rows))
            p, q = p / p.sum(), q / q.sum()
            middle = (p + q) / 2
            assert nodes.reverse_kl[m, t] == pytest.approx(kl(p, q), abs=atol)
            assert nodes.forward_kl[m, t] == pytest.approx(kl(q, p), abs=atol)
            assert nodes.jsd[m, t] == pytest.approx((kl(p, middle) + kl(q, middle)) / 2, abs=atol)


def test_two_tokens_by_hand():
    def policy(p):
        return FunctionPolicy(lambda asked: np.log([[p, 1 - p]] * len(asked)), end_ids=[1], vocab_size=2)

    nodes = read_nodes(policy(0.25), {"t": policy(0.5)}, [(), (0,)])
    assert nodes.prefixes == ((), (0,))
    assert nodes.tokens.tolist() == [[1, 0]] * 2  # the end is a candidate, and the likelier one
    np.testing.assert_allclose(np.exp(nodes.student_logp), [[0.75, 0.25]] * 2)
    np.testing.assert_allclose(np.exp(nodes.teacher_logp), [[[0.5, 0.5]]] * 2)
    np.testing.assert_allclose(nodes.reverse_kl, np.log(2) - 0.5623351446, atol=1e-9)  # log 2 - H(1/4)
    np.testing.assert_allclose(nodes.forward_kl, 0.5 * np.log(4 / 3), atol=1e-12)  # -log 2 - (log 1/4 + log 3/4) / 2
    np.testing.assert_allclose(nodes.student_entropy, 0.5623351446, atol=1e-9)
    np.testing.assert_allclose(nodes.teacher_entropy, np.log(2), atol=1e-12)
    # H(3/8) - (H(1/4) + H(1/2)) / 2
    mixed = -(0.375 * np.log(0.375) + 0.625 * np.log(0.625))
    np.testing.assert_allclose(nodes.jsd, mixed - (0.5623351446 + np.log(2)) / 2, atol=1e-9)


@pytest.mark.parametrize("important", [0.02, 0.3])
@pytest.mark.parametrize("toy", [Toy(1, 4, 4), Toy(2, 5, 3, ended=False), Toy(4, 6, 3, spread=4.0)], ids=str)
def test_a_toys_nodes_are_those_of_sums_over_tokens(toy, important):
    prefixes = [(2,), (), (2, 1), (1,), (2,)]
    other = toy.tabular(2)
    nodes = read_nodes(toy.policy, {"a": toy.teacher, "b": other}, prefixes, important)
    rows = (one.next_logprobs(prefixes) for one in (toy.policy, toy.teacher, other))
    student, a, b = rows
    by_hand(nodes, student, {"a": a, "b": b}, important, 1e-12)


@pytest.mark.parametrize("block", [1, 2**26])
def test_models_nodes_are_those_of_plain_forward_passes(block, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", block)
    teachers = {"one": ModelPolicy(tiny.model(1), PROMPT), "two": ModelPolicy(tiny.model(2), PROMPT)}
    nodes = read_nodes(ModelPolicy(tiny.model(0), PROMPT), teachers, PREFIXES)
    by_hand(
        nodes,
        rows_by_hand(0, 64, PREFIXES),
        {"one": rows_by_hand(1, 64, PREFIXES), "two": rows_by_hand(2, 64, PREFIXES)},
        0.02,
        1e-5,
        shared=REAL,
    )
    assert nodes.prefixes == tuple(PREFIXES)
    assert nodes.depths.tolist() == [4, 0, 8, 1, 3, 1, 3]
    assert nodes.used.sum(axis=1).min() >= 1


@pytest.mark.parametrize(("mine", "theirs"), [(80, 64), (64, 80)])
def test_fault_17_vocabularies_of_unlike_size_are_compared_on_what_both_have(mine, theirs):
    prefixes = [(), (7,), (7, 9), (40, 41)]
    student, teacher = (ModelPolicy(tiny.model(seed, vocab), PROMPT) for seed, vocab in ((0, mine), (1, theirs)))
    nodes = read_nodes(student, {"t": teacher}, prefixes)
    by_hand(nodes, rows_by_hand(0, mine, prefixes), {"t": rows_by_hand(1, theirs, prefixes)}, 0.02, 1e-5, shared=REAL)
    beyond = nodes.tokens >= min(mine, theirs)
    assert beyond.any() == (mine > theirs)  # this seed has candidates that the smaller teacher lacks
    assert np.isneginf(nodes.teacher_logp[:, 0][beyond]).all()
    assert np.isfinite(nodes.reverse_kl).all()


def test_fault_17_measures_are_those_of_scoring():
    rollout = opd.Rollout(id="r", prompt_ids=PROMPT, response_ids=[7, 9, 20, 31, 44, 8])
    scores = opd.score([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1, 80))}, progress=False)
    teacher = ModelPolicy(tiny.model(1, 80), PROMPT)
    nodes = read_nodes(ModelPolicy(tiny.model(0), PROMPT), {"t": teacher}, [(7, 9, 20, 31, 44)[:i] for i in range(6)])
    signals = scores.items[0].teachers["t"].signals
    for name in ("reverse_kl", "forward_kl", "jsd", "teacher_entropy"):
        np.testing.assert_allclose(getattr(nodes, name)[:, 0], signals[name], rtol=1e-5, err_msg=name)
    assert signals["student_outside"].max() > 0.05  # padding rows weigh something here


def test_a_teacher_that_is_the_student_is_no_further_than_rounding():
    policy = ModelPolicy(tiny.model(0), PROMPT)
    nodes = read_nodes(policy, {"self": policy}, PREFIXES)
    np.testing.assert_array_equal(nodes.teacher_logp[:, 0], nodes.student_logp)
    for measure in (nodes.reverse_kl, nodes.forward_kl, nodes.jsd):
        assert ((measure >= 0) & (measure < 1e-12)).all()


def test_a_teacher_that_excludes_a_token():
    def policy(p):
        with np.errstate(divide="ignore"):
            logp = np.log(p)
        return FunctionPolicy(lambda asked: [logp] * len(asked), end_ids=[], vocab_size=3)

    nodes = read_nodes(policy([0.5, 0.25, 0.25]), {"t": policy([0.5, 0.5, 0.0])}, [()])
    assert nodes.tokens.tolist() == [[0, 1, 2]]
    assert np.isneginf(nodes.teacher_logp[0, 0, 2])
    assert nodes.reverse_kl[0, 0] == np.inf
    assert nodes.forward_kl[0, 0] == pytest.approx(0.5 * np.log(2))


def test_no_node_and_no_teacher():
    policy = Toy(1, 4, 4).policy
    empty = read_nodes(policy, {"t": policy}, [])
    assert len(empty) == 0
    assert empty.teacher_logp.shape == (0, 1, 0)
    alone = read_nodes(policy, {}, [(), (2,)])
    assert alone.teacher_logp.shape == (2, 0, alone.tokens.shape[1])
    assert alone.reverse_kl.shape == (2, 0)
    flat = FunctionPolicy(lambda asked: np.full((len(asked), 100), -np.log(100)), end_ids=[], vocab_size=100)
    assert read_nodes(flat, {}, [()]).tokens.shape == (1, 0)  # nothing is important where all is alike


TOY = Toy(1, 4, 4).policy


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: read_nodes(TOY, {"t": TOY}, [(2, 0)]), "the end 0 in a prefix of 2 tokens"),
        (lambda: read_nodes(TOY, {"t": TOY}, [(0, 2)]), "the end 0 in a prefix"),
        (lambda: read_nodes(TOY, {"t": TOY}, [(4,)]), "id 4 in a prefix"),
        (lambda: read_nodes(TOY, {"t": Toy(0, 3, 3).policy}, [(3,)]), "'t' has 3 ids"),
        (lambda: read_nodes(tiny.model(0), {}, []), "the student of type HFModel, expected a policy"),
        (lambda: read_nodes(TOY, {"t": tiny.model(0)}, []), "teacher 't' of type HFModel"),
        (lambda: read_nodes(TOY, [TOY], []), "teachers of type list"),
        (lambda: read_nodes(TOY, {"": TOY}, []), "'' as a teacher's name"),
        (lambda: read_nodes(TOY, {}, [()], important=0), "important=0"),
        (lambda: replace(read_nodes(TOY, {}, [()]), student_entropy=np.zeros(2)), r"student_entropy of shape \(2,\)"),
        (lambda: replace(read_nodes(TOY, {}, [()]), tokens=np.zeros(1)), r"found tokens of shape \(1,\)"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(InvalidInputError, match=said):
        make()


def test_nothing_is_compared_where_there_are_too_few_candidates():
    student, teacher = (ModelPolicy(tiny.model(seed), PROMPT) for seed in (0, 1))
    every = read_nodes(student, {"t": teacher}, PREFIXES, 0.05)
    counts = every.used.sum(axis=1)
    few = counts < counts.max()
    some = read_nodes(student, {"t": teacher}, PREFIXES, 0.05, fewest=int(counts.max()))
    assert few.any()
    assert not few.all()
    for name in ("tokens", "student_logp", "teacher_logp"):
        np.testing.assert_array_equal(getattr(some, name), getattr(every, name))
    for name in ("student_entropy", "teacher_entropy", *reading.DIVERGENCES):
        found, expected = getattr(some, name), getattr(every, name)
        np.testing.assert_allclose(found[~few], expected[~few], atol=1e-12)
        assert np.isnan(found[few]).all()
        assert not np.isnan(expected).any()
