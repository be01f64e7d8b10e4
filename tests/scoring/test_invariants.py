"""Invariants of scoring over random rollouts: what a value depends on, and what it must not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import opd_widgets as opd
from tests import tiny

IDS = st.integers(0, 63)
ROLLOUT = st.tuples(st.lists(IDS, max_size=6), st.lists(IDS, max_size=10))
few = settings(max_examples=25)


def rollouts_of(pairs):
    return [opd.Rollout(id=str(i), prompt_ids=p, response_ids=r) for i, (p, r) in enumerate(pairs)]


def scored(rollouts, student=0, teacher=1, **options):
    teachers = {"t": opd.Teacher(tiny.model(teacher))}
    return opd.score(
        rollouts, tiny.model(student), teachers, options=opd.Options(**options), noise_rollouts=0, progress=False
    )


def values(scores, index):
    return {**scores.items[index].signals, **scores.items[index].teachers["t"].signals}


@few
@given(st.lists(ROLLOUT, min_size=1, max_size=5), st.sampled_from(["left", "right"]), st.integers(1, 9))
def test_alone_or_in_any_batch_padding_and_chunk(pairs, padding, chunk):
    rollouts = rollouts_of(pairs)
    together = scored(rollouts, padding=padding, chunk_tokens=chunk)
    for index, rollout in enumerate(rollouts):
        alone = values(scored([rollout]), 0)
        for name, value in values(together, index).items():
            np.testing.assert_allclose(value, alone[name], atol=1e-4, rtol=1e-3, err_msg=name)


@few
@given(ROLLOUT)
def test_one_value_a_response_token_and_none_missing_where_something_precedes(pair):
    (rollout,) = rollouts_of([pair])
    prompt, response = pair
    track = scored([rollout]).items[0].student.logprobs
    assert len(track) == len(response)
    assert np.isnan(track).tolist() == [not prompt and i == 0 for i in range(len(response))]


@few
@given(ROLLOUT)
def test_with_oneself_there_is_nothing_to_learn(pair):
    mine = values(scored(rollouts_of([pair]), 0, 0), 0)
    for name in ("advantage", "k2", "k3", "reverse_kl", "forward_kl", "jsd", "baseline_subtracted"):
        np.testing.assert_allclose(np.nan_to_num(mine[name]), 0, atol=1e-5, err_msg=name)


@few
@given(ROLLOUT)
def test_roles_turned_turn_the_sign(pair):
    rollouts = rollouts_of([pair])
    one, two = values(scored(rollouts, 0, 1), 0), values(scored(rollouts, 1, 0), 0)
    np.testing.assert_allclose(one["advantage"], -two["advantage"], atol=1e-5)
    np.testing.assert_allclose(one["reverse_kl"], two["forward_kl"], atol=1e-4, rtol=1e-3)
    np.testing.assert_allclose(one["student_rank"], two["teacher_rank"])


@few
@given(ROLLOUT, st.data())
def test_a_tokens_values_do_not_depend_on_what_follows(pair, data):
    prompt, response = pair
    cut = data.draw(st.integers(0, len(response)))
    whole, part = rollouts_of([(prompt, response), (prompt, response[:cut])])
    for name in ("advantage", "reverse_kl", "student_entropy", "teacher_rank"):
        np.testing.assert_allclose(
            values(scored([whole]), 0)[name][:cut], values(scored([part]), 0)[name], atol=1e-4, rtol=1e-3, err_msg=name
        )
