"""The enumeration that later tests trust, held against sums over paths, finite differences and samples."""

from __future__ import annotations

import numpy as np
import pytest

from tests.diagnosis.exact import Node, Toy, enumerate_exact, qwen_correct, qwen_policy, responses

TOYS = [Toy(0, 3, 3), Toy(1, 4, 4), Toy(2, 5, 3, ended=False), Toy(3, 3, 6), Toy(4, 6, 3)]


def by_paths(policy, vocab, length, correct):
    """Sum over whole responses: (node, token) -> [probability, probability of being correct], from the root."""
    rows: dict[Node, np.ndarray] = {}
    sums: dict[tuple[Node, int], list[float]] = {}
    for ids in responses(vocab, length, policy.end_ids):
        chance = 1.0
        for i, k in enumerate(ids):
            u = ids[:i]
            if u not in rows:
                rows[u] = np.exp(policy.next_logprobs([u])[0])
            chance *= rows[u][k]
        good = correct(ids) and (not policy.end_ids or ids[-1] in policy.end_ids)
        for i, k in enumerate(ids):
            total = sums.setdefault((ids[:i], k), [0.0, 0.0])
            total[0] += chance
            total[1] += chance * good
    return sums


@pytest.mark.parametrize("toy", TOYS, ids=str)
def test_recursion_equals_the_sum_over_paths(toy):
    truth = toy.truth()
    sums = by_paths(toy.policy, toy.vocab, toy.depth, toy.correct)
    assert {u for u, _ in sums} == set(truth)
    for (u, k), (mass, good) in sums.items():
        assert truth[u].success[k] == pytest.approx(good / mass, abs=1e-12)
    root = sum(sums[(), k][1] for k in range(toy.vocab))
    assert truth[()].value == pytest.approx(root, abs=1e-12)
    assert 0 < root < 1


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum()


def slopes(f, logits, step=1e-6):
    return np.array([(f(logits + step * e) - f(logits - step * e)) / (2 * step) for e in np.eye(len(logits))])


def test_gradients_equal_finite_differences():
    toy = Toy(1, 4, 4)
    for u, node in toy.truth().items():
        teacher = toy.teacher.next_logprobs([u])[0]
        ideal = slopes(lambda z, node=node: softmax(z) @ node.success, node.logp)
        reverse = slopes(lambda z, t=teacher: -softmax(z) @ (np.log(softmax(z)) - t), node.logp)
        forward = slopes(lambda z, t=teacher: np.exp(t) @ np.log(softmax(z)), node.logp)
        np.testing.assert_allclose(node.ideal, ideal, atol=1e-8)
        np.testing.assert_allclose(node.distill(teacher), reverse, atol=1e-8)
        np.testing.assert_allclose(node.distill(teacher, "forward_kl"), forward, atol=1e-8)
        if np.ptp(node.success) > 0:
            cosine = ideal @ reverse / np.linalg.norm(ideal) / np.linalg.norm(reverse)
            assert node.alignment(teacher) == pytest.approx(cosine, abs=1e-5)


def test_alignment_is_undefined_where_a_signal_is_flat():
    toy = Toy(1, 4, 4)
    truth = enumerate_exact(toy.policy, toy.depth, lambda _: False)
    assert np.isnan(truth[()].alignment(toy.teacher.next_logprobs([()])[0]))
    node = toy.truth()[()]
    assert np.isnan(node.alignment(node.logp))


def test_toys_repeat_by_seed_and_their_verifier_reads_text():
    toy = Toy(3, 3, 6)
    one, two, other = (t.policy.next_logprobs([(), (1, 2)]) for t in (toy, Toy(3, 3, 6), Toy(4, 3, 6)))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)
    ended = [ids for ids in responses(3, 6, toy.ends) if ids[-1] == 0]
    assert [toy.verifier(None, toy.text(ids)) for ids in ended] == [toy.correct(ids) for ids in ended]


def test_samples_succeed_as_often_as_they_should():
    toy, n, node = Toy(1, 4, 4), 4000, (2,)
    success = toy.truth()[node].success
    forced = [(*node, k) for k in range(toy.vocab)]
    drawn = toy.policy.sample(forced * n, seeds=range(n * toy.vocab), max_new_tokens=toy.depth - 2)
    for k, ids in enumerate(forced):
        some = drawn[k :: toy.vocab]
        right = np.mean([one.stopped and toy.correct((*ids, *one.ids.tolist())) for one in some])
        assert abs(right - success[k]) <= 4 * np.sqrt(success[k] * (1 - success[k]) / n)


def test_a_random_qwen3_is_enumerated_whole():
    policy, length = qwen_policy(), 6
    assert policy.vocab_size == 8
    assert policy.end_ids == {1}
    truth = enumerate_exact(policy, length, qwen_correct)
    assert len(truth) == sum(7**depth for depth in range(length))
    # the other route: forward over the probability of reaching each node
    reached: dict[Node, float] = {(): 1.0}
    good = 0.0
    for u in sorted(truth, key=len):
        p = truth[u].p
        good += reached[u] * p[1] * qwen_correct((*u, 1))
        reached |= {(*u, k): reached[u] * p[k] for k in range(8) if k != 1}
    assert truth[()].value == pytest.approx(good, abs=1e-12)
    assert 0.01 < good < 0.99
    teacher = qwen_policy(1).next_logprobs([(), (2,)])
    assert -1 <= truth[()].alignment(teacher[0]) <= 1
    assert -1 <= truth[2,].alignment(teacher[1]) <= 1
