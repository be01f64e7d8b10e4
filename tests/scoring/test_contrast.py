"""A contrast of contexts as one more row of scores: real models, saved, loaded and shown like the rest."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, MissingSignalError
from opd_widgets.scoring.summary import summarise
from opd_widgets.widgets._traits import wire_scores
from opd_widgets.widgets.wire.top_windows import columns_sent
from tests import tiny
from tests.same_scores import assert_same_scores

NAME = "Hint − wrong"


@pytest.fixture(scope="module")
def scores():
    student = tiny.model(0)
    asked = [opd.Question(str(n), f"{n}+4=?", answer=str(n + 4)) for n in (3, 5)]
    rollouts = opd.sample_rollouts(asked, student, n=2, max_new_tokens=12, seed=1)
    answers = {q.id: q.answer for q in asked}
    teachers = {
        "Hint": opd.Teacher(student, opd.contexts.answer(answers)),
        "Wrong 1": opd.Teacher(student, opd.contexts.answer("1")),
        "Wrong 2": opd.Teacher(student, opd.contexts.answer("2")),
        "Other": opd.Teacher(tiny.model(1), opd.contexts.answer("2"), chat_template_kwargs={"thinking": True}),
    }
    return opd.score(rollouts, student, teachers, progress=False, noise_rollouts=0)


def contrasted(scores, wrong=("Wrong 1", "Wrong 2"), name=NAME):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return opd.contrast(scores, name, right="Hint", wrong=wrong)


def logp(scores, index, teacher):
    return scores.items[index].teachers[teacher].track.logprobs.astype(np.float64)


def test_every_value_is_what_the_tracks_give(scores):
    found = contrasted(scores)
    for index in range(len(scores)):
        right = logp(scores, index, "Hint")
        mean = (np.exp(logp(scores, index, "Wrong 1")) + np.exp(logp(scores, index, "Wrong 2"))) / 2
        values = found.signal("hint_contrast", index, NAME)
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, right - np.log(mean), rtol=1e-5, atol=1e-5)
        assert np.abs(values).max() > 0.01
        with pytest.raises(MissingSignalError, match="no signal 'context_difference'"):
            found.signal("context_difference", index, NAME)


def test_against_one_wrong_context_the_plain_difference_is_there_too(scores):
    found = contrasted(scores, "Wrong 1")
    for index in range(len(scores)):
        plain = found.signal("context_difference", index, NAME)
        np.testing.assert_allclose(plain, logp(scores, index, "Hint") - logp(scores, index, "Wrong 1"), atol=1e-6)
        np.testing.assert_allclose(found.signal("hint_contrast", index, NAME), plain, atol=1e-6)
    assert found.teachers[NAME].description.startswith("log p under 'Hint' less log p under 'Wrong 1', as")
    assert found.teachers[NAME].kind == "contrast"
    assert found.teachers[NAME].self_distillation


def test_what_was_there_stays_and_the_contrast_has_no_advantage(scores):
    found = contrasted(scores)
    assert list(found.teachers) == [*scores.teachers, NAME]
    assert found.items[0].teachers["Hint"] is scores.items[0].teachers["Hint"]
    with pytest.raises(MissingSignalError, match="no signal 'advantage'"):
        found.signal("advantage", 0, NAME)
    assert list(summarise(found)["teacher"]) == list(scores.teachers)
    assert list(summarise(found, "hint_contrast")["teacher"]) == [NAME]


def test_it_is_saved_loaded_and_made_of_a_loaded_run(scores, tmp_path):
    found = contrasted(scores)
    loaded = opd.load(found.save(tmp_path / "run"))
    assert_same_scores(loaded, found)
    again = contrasted(opd.load(scores.save(tmp_path / "plain")))
    assert_same_scores(again, found)
    table = loaded.to_pandas().query("teacher == @NAME")
    expected = np.concatenate([found.signal("hint_contrast", i, NAME) for i in range(len(found))])
    np.testing.assert_array_equal(table["hint_contrast"].to_numpy(np.float32), expected)
    assert table["advantage"].isna().all()


def test_a_view_has_it_as_one_more_teacher(scores):
    found = contrasted(scores)
    wire = wire_scores(found)
    assert {"signal": "hint_contrast", "teacher": NAME} in wire["meta"]["planes"]
    assert {"signal": "advantage", "teacher": NAME} not in wire["meta"]["planes"]
    assert columns_sent(found) == columns_sent(scores) > 0  # the others keep their likeliest tokens
    signal = next(s for s in wire["meta"]["signals"] if s["name"] == "hint_contrast")
    assert signal["available"]
    assert signal["limit"] > 0
    missing = next(s for s in wire_scores(scores)["meta"]["signals"] if s["name"] == "hint_contrast")
    assert "opd.contrast(" in missing["reason"]
    explorer = opd.Explorer(found, teacher=NAME, signal="hint_contrast")
    assert (explorer.teacher, explorer.signal) == (NAME, "hint_contrast")


def test_undefined_and_infinite_values_are_told_apart(scores):
    item = scores.items[0]
    cut = {}
    for name, first in (("Hint", -np.inf), ("Wrong 1", -np.inf), ("Wrong 2", -np.inf)):
        track = item.teachers[name].track
        values = track.logprobs.copy()
        values[0] = first
        values[1] = -np.inf if name == "Hint" else values[1]
        cut[name] = replace(item.teachers[name], track=replace(track, logprobs=values))
    changed = replace(scores, items=(replace(item, teachers={**item.teachers, **cut}), *scores.items[1:]))
    with pytest.warns(UserWarning, match="1 tokens are impossible on both sides, so their contrast is undefined"):
        found = opd.contrast(changed, NAME, right="Hint", wrong=["Wrong 1", "Wrong 2"])
    values = found.signal("hint_contrast", 0, NAME)
    assert np.isnan(values[0])
    assert np.isneginf(values[1])
    assert np.isfinite(values[2:]).all()


def test_unlike_sides_are_named(scores):
    with pytest.warns(UserWarning, match=r"contrast of Hint and Other is not of their contexts alone: model tiny-0 "):
        found = opd.contrast(scores, NAME, right="Hint", wrong="Other")
    assert "chat template arguments {} against {'thinking': True}" in found.notes[-1]
    foreign = replace(
        scores.items[0].teachers["Wrong 1"].track, provenance=opd.Provenance("vllm", "tiny-0", "bfloat16")
    )
    item = scores.items[0]
    teachers = {**item.teachers, "Wrong 1": replace(item.teachers["Wrong 1"], track=foreign)}
    mixed = replace(scores, items=(replace(item, teachers=teachers), *scores.items[1:]))
    with pytest.warns(UserWarning, match="engine transformers against vllm; dtype float32 against bfloat16"):
        opd.contrast(mixed, NAME, right="Hint", wrong="Wrong 1")


@pytest.mark.parametrize(
    ("name", "right", "wrong", "message"),
    [
        ("", "Hint", "Wrong 1", "found '' as the contrast's name"),
        ("Hint", "Hint", "Wrong 1", "there is a teacher 'Hint' already"),
        ("C", "Hint", [], "found no wrong context"),
        ("C", "Hint", "nobody", "no teacher 'nobody'; there are"),
        ("C", "Hint", ["Wrong 1", "Hint"], "found 'Hint' 2 times"),
        ("C", "Hint", ["Wrong 1", "Wrong 1"], "found 'Wrong 1' 2 times"),
        ("C", NAME, "Wrong 1", "is a contrast itself"),
    ],
)
def test_bad_input_is_named(scores, name, right, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        opd.contrast(contrasted(scores), name, right=right, wrong=wrong)


def test_a_contrast_of_the_same_name_is_made_again(scores):
    once = contrasted(scores)
    other = contrasted(once, "Wrong 1")
    assert list(other.teachers) == list(once.teachers)
    assert "Wrong 2" not in other.teachers[NAME].description


def test_an_edited_context_is_contrasted_anew_from_the_edited_scores(scores):
    student = tiny.model(0)
    found = contrasted(scores, "Wrong 1")
    explorer = opd.Explorer(found, student, {"Hint": opd.Teacher(student, opd.contexts.answer("9"))})
    explorer.set_context("Hint", "The answer is 1.", rollout=0).wait()
    before = found.signal("hint_contrast", 0, NAME)
    np.testing.assert_array_equal(explorer.edited_scores().signal("hint_contrast", 0, NAME), before)
    explorer.scores = contrasted(explorer.edited_scores(), "Wrong 1")
    # now both sides are told the same, and agree
    np.testing.assert_allclose(explorer.scores.signal("hint_contrast", 0, NAME), 0, atol=1e-5)
    assert np.abs(before).max() > 0.01


def test_teachers_that_group_tokens_differently_are_refused(scores):
    item = scores.items[0]
    grouped = replace(item.teachers["Other"], groups=np.zeros(len(item.student), np.int32))
    changed = replace(scores, items=(replace(item, teachers={**item.teachers, "Other": grouped}), *scores.items[1:]))
    with pytest.raises(InvalidInputError, match="compare the tokens of rollout '3/0' in different groups"):
        opd.contrast(changed, NAME, right="Hint", wrong="Other")
