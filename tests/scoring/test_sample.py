"""Sampling rollouts: independent batches, limits, and what a rollout says of how it was drawn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.scoring.sample import batch_seed
from tests import tiny

QUESTIONS = [opd.Question(f"q{i}", f"1+{i}=?") for i in range(4)]
ONE = QUESTIONS[:1]


def draw(questions=QUESTIONS, **options):
    return opd.sample_rollouts(questions, options.pop("student", tiny.model(0)), **{"max_new_tokens": 4, **options})


class Recording:
    """A student that notes the seeds it was given."""

    def __init__(self):
        self.seeds = []

    def __getattr__(self, name):
        return getattr(tiny.model(0), name)

    name = property(lambda _: "recording")
    tokenizer = property(lambda _: tiny.model(0).tokenizer)
    vocab_size = property(lambda _: tiny.model(0).vocab_size)
    limit = property(lambda _: tiny.model(0).limit)
    provenance = property(lambda _: tiny.model(0).provenance)

    def hidden(self, *arguments, **options):
        return tiny.model(0).hidden(*arguments, **options)

    def head(self, rows):
        return tiny.model(0).head(rows)

    def generate(self, prompts, *, seed, **options):
        self.seeds.append(seed)
        return tiny.model(0).generate(prompts, seed=seed, **options)


def test_no_batch_of_one_seed_is_a_batch_of_another():
    seeds = []
    for seed in range(3):
        student = Recording()
        draw(student=student, n=2, seed=seed, batch_rows=2)
        assert len(student.seeds) == 4
        seeds += student.seeds
    assert len(set(seeds)) == 12
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_batch_does_not_repeat_the_batch_of_another_seed():
    same = [opd.Question(f"q{i}", "1+1=?") for i in range(2)]  # one prompt, so that only the seeds tell them apart
    by_seed = [[r.response_ids.tolist() for r in draw(same, n=4, batch_rows=4, seed=seed)] for seed in (0, 1)]
    batches = [texts[start : start + 4] for texts in by_seed for start in (0, 4)]
    assert all(one != other for i, one in enumerate(batches) for other in batches[:i])


def test_the_same_seed_draws_the_same_whatever_number_type():
    one, two = draw(n=2, seed=3), draw(n=np.int64(2), seed=np.int64(3))
    assert [r.response_ids.tolist() for r in one] == [r.response_ids.tolist() for r in two]
    with pytest.raises(InvalidInputError, match="found seed=None"):
        batch_seed(None, "q")


def test_more_than_the_student_takes_is_refused_before_anything_is_drawn():
    student = Recording()
    long = opd.Question("long", "1" * 300)
    said = r"takes 256 tokens and question 'long' needs 307: a prompt of 303, and max_new_tokens=4"
    with pytest.raises(LengthLimitError, match=said):
        draw([*QUESTIONS, long], student=student, batch_rows=1)
    assert not student.seeds
    with pytest.raises(LengthLimitError, match=r"at most \d+ new tokens"):
        draw(max_new_tokens=300)


def test_other_settings_travel_with_the_rollout_and_the_defaults_need_not():
    (drawn,) = draw(ONE, n=1, sampling=opd.Sampling(temperature=0.5))
    assert drawn.metadata["sampling"]["temperature"] == 0.5
    assert drawn.metadata["sampling"]["top_p"] == 1.0
    for sampling in (None, opd.Sampling()):
        assert draw(ONE, n=1, sampling=sampling)[0].metadata == {}


def test_a_verifier_that_always_raises_is_named_once():
    with pytest.warns(UserWarning, match=r"no verdict on any of 8 rollouts.*TypeError: .*argument") as caught:
        drawn = draw(n=2, verifier=bool)
    assert len(caught) == 1
    assert {rollout.outcome for rollout in drawn} == {"unverified"}


def test_a_verifier_that_sometimes_raises_warns_of_nothing():
    def sometimes(question, _):
        return {"q1": True}[question.id]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = draw(n=1, verifier=sometimes)
    assert [rollout.outcome for rollout in drawn] == ["unverified", "correct", "unverified", "unverified"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": 0}, "found n=0"),
        ({"n": 1.5}, "found n=1.5"),
        ({"max_new_tokens": 0}, "found max_new_tokens=0"),
        ({"batch_rows": 0}, "found batch_rows=0"),
        ({"student": "Qwen/Qwen3-0.6B"}, r"found str, expected a Model such as opd\.HFModel\(path\)"),
        ({"verifier": "number"}, "verifier of type str"),
        ({"sampling": {"temperature": 0.5}}, "sampling of type dict"),
        ({"questions": []}, "no questions"),
        ({"questions": "1+1=?"}, "question 0 is of type str"),
        ({"questions": 5}, "question 0 is of type int"),
        ({"questions": [*ONE, *ONE]}, "found 2 questions of id 'q0'.*give n="),
    ],
)
def test_arguments_of_another_kind_are_named(options, said):
    with pytest.raises(InvalidInputError, match=said):
        draw(**options)


def test_by_default_a_response_may_take_the_room_there_is():
    (rollout,) = opd.sample_rollouts([opd.Question("q", "1+2=?")], tiny.model(0), n=1)
    assert len(rollout) <= 256 - rollout.prompt_len
    with pytest.raises(LengthLimitError, match="The prompt alone leaves no room"):
        opd.sample_rollouts([opd.Question("q", "a" * 300)], tiny.model(0), n=1)
