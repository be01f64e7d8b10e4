"""The lab's truth against samples of its student, and against the policies that a diagnosis uses."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.models.generated import response_text
from tests.diagnosis import lab_truth
from tests.diagnosis.known_nodes import IMPORTANT, REACH, UNSURE, bounded_alignment

BOUND, MOST, DRAWS = 0.03, 8000, 3000


@lru_cache
def lab():
    return opd.demo(questions=2, rollouts=1)


@lru_cache
def truth():
    return lab_truth.lab_truth(lab(), lab().questions[0], bound=BOUND, most=MOST)


def share_right(prefix, draws=DRAWS):
    """The share of sampled rollouts through a prefix that are right, and how far it may be off by chance."""
    question, student = lab().questions[0], lab().student
    prompt = np.concatenate([lab_truth.prompts(lab(), question)[0], prefix]).astype(np.int32)
    (drawn,) = student.generate([prompt], n=draws, max_new_tokens=lab_truth.LIMIT - len(prefix), seed=3)
    right = [
        one.stopped and lab().verifier(question, response_text(np.array([*prefix, *one.ids], np.int32), student))
        for one in drawn
    ]
    share = float(np.mean(right))
    return share, 4 * np.sqrt(max(share * (1 - share), 1e-3) / draws)


@pytest.mark.slow
def test_success_is_what_samples_say():
    one = truth()
    assert one.root.bound <= BOUND
    share, chance = share_right(())
    assert 0.1 < share < 0.9
    assert abs(one.root.success - share) <= one.root.bound + chance


def test_success_after_a_token_that_the_student_hardly_takes_is_what_samples_say():
    one = truth()
    p = np.exp(one.student_logp)
    p[(one.tokens < 0) | ~((one.success > 0.05) & (one.success < 0.95)) | (one.bound > BOUND)] = np.inf
    m, c = np.unravel_index(np.argmin(p), p.shape)
    assert p[m, c] < IMPORTANT
    prefix = (*one.prefixes[m], int(one.tokens[m, c]))
    share, chance = share_right(prefix, 1000)
    assert abs(one.success[m, c] - share) <= one.bound[m, c] + chance


def test_what_counts_is_read_as_the_policies_read_it():
    one, question = truth(), lab().questions[0]
    own, theirs = lab_truth.prompts(lab(), question)
    prefixes = list(one.prefixes)
    student = ModelPolicy(lab().student, own).next_logprobs(prefixes)
    said = [ModelPolicy(lab().teachers[name].model, theirs[name]).next_logprobs(prefixes) for name in one.teachers]
    for m, row in enumerate(student):
        tokens = one.tokens[m][one.tokens[m] >= 0]
        n = len(tokens)
        likely = (np.exp(row) > IMPORTANT) | (np.exp([rows[m] for rows in said]) > IMPORTANT).any(axis=0)
        assert n > 1
        assert set(tokens.tolist()) == set(np.flatnonzero(likely).tolist())
        assert (np.diff(row[tokens]) <= 1e-4).all()
        np.testing.assert_allclose(one.student_logp[m, :n], row[tokens], atol=1e-4)
        for t, rows in enumerate(said):
            np.testing.assert_allclose(one.teacher_logp[m, t, :n], rows[m][tokens], atol=1e-4)
    assert (one.reach >= REACH).all()
    assert len(prefixes) > 10
    last = prefixes[-1]
    along = ModelPolicy(lab().student, own).next_logprobs([last[:i] for i in range(len(last))])
    assert one.reach[-1] == pytest.approx(np.exp(along[range(len(last)), list(last)].sum()), rel=1e-3)


def test_alignment_is_the_cosine_by_hand_and_left_out_where_it_is_not_known():
    one = truth()
    for m, tokens in enumerate(one.tokens):
        n = int((tokens >= 0).sum())
        s = one.student_logp[m, :n] - np.log(np.exp(one.student_logp[m, :n]).sum())
        p, success = np.exp(s), one.success[m, :n]
        ideal = p * (success - p @ success)
        for t, found in enumerate(one.alignment[m]):
            if np.isnan(found):
                continue
            pull = one.teacher_logp[m, t, :n] - np.log(np.exp(one.teacher_logp[m, t, :n]).sum()) - s
            distill = p * (pull - p @ pull)
            assert found == pytest.approx(ideal @ distill / np.linalg.norm(ideal) / np.linalg.norm(distill), abs=1e-6)
    assert not np.isnan(one.alignment).all(axis=1).any()
    assert np.nanmax(one.alignment_bound[~np.isnan(one.alignment)]) <= UNSURE


def test_an_alignment_that_what_is_unread_could_turn_is_no_truth():
    student, teacher, success = np.log([0.6, 0.4]), np.log([0.4, 0.6]), np.array([0.50, 0.52])
    np.testing.assert_allclose(bounded_alignment(student, teacher, success, np.zeros(2)), (1.0, 0.0))
    assert bounded_alignment(student, teacher, success, np.full(2, 0.009))[0] == pytest.approx(1.0)
    value, off = bounded_alignment(student, teacher, success, np.full(2, 0.011))
    assert np.isnan(value)
    assert off == pytest.approx(2.0)
    assert np.isnan(bounded_alignment(student, teacher, np.array([0.5, 0.5]), np.zeros(2))[0])


def test_a_cache_gives_back_what_was_computed_and_only_that(tmp_path):
    def made(bound):
        return lab_truth.lab_truths(lab(), 1, bound=bound, most=500, cache=tmp_path / "lab.npz")

    (first,), written = made(0.2), (tmp_path / "lab.npz").read_bytes()
    (again,) = made(0.2)
    assert (tmp_path / "lab.npz").read_bytes() == written
    assert again.prefixes == first.prefixes
    for name in ("reach", "tokens", "student_logp", "teacher_logp", "success", "bound", "alignment", "alignment_bound"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
    assert (again.question, again.teachers, again.root, again.read) == (
        first.question, first.teachers, first.root, first.read,
    )  # fmt: skip
    made(0.4)
    assert (tmp_path / "lab.npz").read_bytes() != written
