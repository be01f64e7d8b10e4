"""Invariants of scoring over random rollouts: what a value depends on, and what it must not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opd_widgets as opd
from opd_widgets.errors import RolloutError
from opd_widgets.scoring.summary import summarise
from tests import tiny

pytestmark = pytest.mark.filterwarnings("ignore:.*padding")  # ids at random look like it now and then
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


@few
@given(ROLLOUT)
def test_no_divergence_over_the_vocabulary_is_negative(pair):
    mine = values(scored(rollouts_of([pair])), 0)
    for name in ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "k2", "k3"):
        assert (np.nan_to_num(mine[name]) >= -1e-6).all(), name


@few
@given(st.lists(st.integers(0, 48), min_size=1, max_size=6))
def test_the_mean_advantage_over_the_students_own_choices_is_minus_the_reverse_kl(prompt):
    """E over v ~ S of t_v - s_v: every token there is, scored as the one sampled."""
    size = tiny.model(0).tokenizer.size
    student, teacher = tiny.model(0, vocab=size), opd.Teacher(tiny.model(1, vocab=size))
    every = rollouts_of([(prompt, [token]) for token in range(size)])
    scores = opd.score(every, student, {"t": teacher}, noise_rollouts=0, progress=False)
    share = np.exp([float(item.student.logprobs[0]) for item in scores.items])
    gained = np.array([float(scores.signal("advantage", token)[0]) for token in range(size)])
    assert abs(share.sum() - 1) < 1e-4
    np.testing.assert_allclose((share * gained).sum(), -scores.signal("reverse_kl", 0)[0], atol=1e-3, rtol=1e-3)


@few
@given(ROLLOUT, st.data())
def test_what_stands_at_masked_tokens_changes_no_other_tokens_values_nor_any_mean(pair, data):
    """Masked or not, a token is context for those after it; it takes no part in what is summed along the response."""
    prompt, response = pair
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(response), max_size=len(response))), bool)
    plain = opd.Rollout(id="r", prompt_ids=prompt, response_ids=response, outcome="correct")
    masked = opd.Rollout(id="r", prompt_ids=prompt, response_ids=response, response_mask=mask, outcome="correct")
    one, two = scored([plain]), scored([masked])
    for name in ("advantage", "reverse_kl", "student_entropy"):
        np.testing.assert_array_equal(values(one, 0)[name], values(two, 0)[name])
    kept = values(one, 0)["advantage"][mask]
    kept = kept[np.isfinite(kept)]
    mean = summarise(two)["correct"][0]
    np.testing.assert_allclose(mean, kept.mean(dtype=np.float64) if kept.size else np.nan, rtol=1e-6)
    total = np.where(mask, np.nan_to_num(values(one, 0)["advantage"]), 0)
    np.testing.assert_allclose(
        values(two, 0)["reward_to_go"][mask & np.isfinite(values(one, 0)["advantage"])],
        total[::-1].cumsum()[::-1][mask & np.isfinite(values(one, 0)["advantage"])],
        atol=1e-4,
    )


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["track 'student'", "response_mask", "tokens"]))
def test_lists_of_another_length_than_the_response_are_refused_with_both(length, other, what):
    given_ = {
        "track 'student'": {"tracks": {"student": opd.LogprobTrack(np.full(other, -1, np.float32))}},
        "response_mask": {"response_mask": [True] * other},
        "tokens": {"tokens": ["x"] * other},
    }[what]
    if length == other:
        assert len(opd.Rollout(id="r", prompt_ids=[1], response_ids=[2] * length, **given_)) == length
    else:
        with pytest.raises(RolloutError, match=rf"{length} response tokens and {what} has {other} values"):
            opd.Rollout(id="r", prompt_ids=[1], response_ids=[2] * length, **given_)
