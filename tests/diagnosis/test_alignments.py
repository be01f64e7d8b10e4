"""Alignments of many nodes, teachers and draws at once, against the measure of one node in a slow loop."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.diagnosis.alignments import alignments, renormalised, support
from opd_widgets.diagnosis.estimate.fit import Fit
from opd_widgets.diagnosis.nodes import Nodes
from opd_widgets.measures import gradients

M, T, C, D = 12, 3, 5, 6


def made(seed):
    """Return random nodes of 2 to 5 candidates, some log-probabilities unknown or -inf, a support, and draws."""
    rng = np.random.default_rng(seed)
    used = np.arange(C) < rng.integers(2, C + 1, M)[:, None]
    logits = rng.normal(0, 2, (M, 1 + T, C + 2))  # two more tokens that are no candidates
    logp = (logits - np.log(np.exp(logits).sum(-1, keepdims=True)))[..., :C]
    logp = np.where(used[:, None], logp, -np.inf)
    teacher = logp[:, 1:].copy()
    teacher[used[:, None] & (rng.random((M, T, C)) < 0.1)] = np.nan
    rest = np.full((M, T), np.nan)
    nodes = Nodes(
        prefixes=tuple((m,) for m in range(M)),
        tokens=np.where(used, np.arange(C), -1),
        student_logp=logp[:, 0],
        teachers=("a", "b", "c"),
        teacher_logp=teacher,
        student_entropy=rest[:, 0],
        teacher_entropy=rest,
        reverse_kl=rest,
        forward_kl=rest,
        jsd=rest,
    )
    kept = used[:, None] & ~np.isnan(teacher) & (rng.random((M, 1, C)) < 0.8)
    return nodes, kept, np.where(used[..., None], rng.random((M, C, D)), np.nan)


@pytest.mark.parametrize("loss", ["reverse_kl", "forward_kl", "jsd"])
def test_they_equal_the_measure_of_one_node(loss):
    nodes, kept, draws = made(0)
    found = alignments(nodes, draws, kept, loss, 0.3)
    assert found.shape == (M, T, D)
    sizes = set()
    for m, t, d in np.ndindex(M, T, D):
        at = np.flatnonzero(kept[m, t])
        sizes.add(len(at))
        if len(at) < 2:
            assert np.isnan(found[m, t, d])
            continue
        s, q = nodes.student_logp[m], nodes.teacher_logp[m, t]
        one = gradients.node_alignment(s, q, np.nan_to_num(draws[m, :, d]), loss, support=at, beta=0.3)
        assert found[m, t, d] == pytest.approx(one.alignment, abs=1e-9)
    assert {0, 1, 2, 3, 4} & sizes >= {1, 2, 3}
    assert len({tuple(row) for row in kept[:, 0].tolist()} ^ {tuple(row) for row in kept[:, 1].tolist()})
    np.testing.assert_allclose(alignments(nodes, draws[..., 0], kept, loss, 0.3), found[..., 0], atol=1e-12)


def test_what_is_known_of_one_teacher_does_not_bind_another():
    nodes, _, draws = made(1)
    fit = fit_of(np.full((M, C), 3))
    kept = support(nodes, fit, 1)
    np.testing.assert_array_equal(kept, nodes.used[:, None] & ~np.isnan(nodes.teacher_logp))
    found = alignments(nodes, draws, kept)
    without = np.flatnonzero(np.isnan(nodes.teacher_logp[:, 0]).any(axis=1))
    assert len(without)
    alone = np.where(np.isnan(nodes.teacher_logp[:, 1:]), np.nan, nodes.teacher_logp[:, 1:])
    others = Nodes(**{**vars(nodes), "teachers": ("b", "c"), "teacher_logp": alone, **fewer(nodes)})
    np.testing.assert_allclose(alignments(others, draws, kept[:, 1:]), found[:, 1:], atol=1e-12)


def fewer(nodes):
    return {name: getattr(nodes, name)[:, 1:] for name in ("teacher_entropy", "reverse_kl", "forward_kl", "jsd")}


def fit_of(visits, known=None):
    """Return an estimate of which nothing but visits counts."""
    empty = np.zeros(visits.shape, np.bool_)
    known = empty if known is None else known
    return Fit("backup", visits, visits * 0.0, np.zeros((*visits.shape, 1), np.float32), known, empty, empty)


def test_a_support_has_enough_visits_or_certainty():
    nodes, _, _ = made(2)
    visits = np.tile(np.arange(C), (M, 1))
    known = np.zeros((M, C), np.bool_)
    known[:, 0] = True
    kept = support(nodes, fit_of(visits, known), 3)
    said = nodes.used[:, None] & ~np.isnan(nodes.teacher_logp)
    np.testing.assert_array_equal(kept, said & np.array([True, False, False, True, True]))


def test_what_the_student_would_not_say_is_in_no_support():
    nodes, _, _ = made(2)
    logp = nodes.student_logp.copy()
    logp[:, 1] = np.nan
    silent = Nodes(**{**vars(nodes), "student_logp": logp})
    assert support(nodes, fit_of(np.ones((M, C), np.int64)), 1)[:, :, 1].any()
    assert not support(silent, fit_of(np.ones((M, C), np.int64)), 1)[:, :, 1].any()


def test_renormalised_over_what_is_kept():
    kept = np.array([[True, True, False], [False, False, False], [True, False, True]])
    logp = np.array([[-1000.0, -1000.0, 0.0], [-1.0, -1.0, -1.0], [-np.inf, -1.0, -2.0]])
    half = np.log(0.5)
    expected = [[half, half, -np.inf], [-np.inf] * 3, [-np.inf, -np.inf, 0.0]]
    np.testing.assert_allclose(renormalised(logp, kept), expected)


def test_success_that_is_everywhere_the_same_has_no_direction():
    nodes, kept, draws = made(3)
    assert np.isnan(alignments(nodes, np.full_like(draws, 0.5), kept)).all()


@pytest.mark.parametrize("alike", [True, False])
def test_nodes_read_a_few_at_a_time_are_what_they_are_alone(alike, monkeypatch):
    nodes, kept, draws = made(4)
    kept = np.repeat(kept[:, :1], T, axis=1) if alike else kept
    whole = alignments(nodes, draws, kept)
    monkeypatch.setattr("opd_widgets.diagnosis.alignments.MOST_NUMBERS", 1)
    np.testing.assert_allclose(alignments(nodes, draws, kept), whole, atol=1e-13)
    for d in range(D):  # each draw by itself, all nodes at full width
        np.testing.assert_allclose(alignments(nodes, draws[..., d], kept), whole[..., d], atol=1e-12)
    assert (~np.isnan(whole)).sum() > M * D
