"""What a teacher is asked: in its own words, with all that was asked for, and whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import opd_widgets as opd
from opd_widgets.data.readers import openai
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import CHATML, LLAMA, at, hand_softmax, letters, model, read, scored

SPECIAL = ("<pad>", "<s>", "<|im_start|>", "<|im_end|>", "<eos>")
TURNS = (opd.Message("system", "be brief"), opd.Message("user", "1+2=?"))
THINKING = CHATML + "{% if thinking is defined and not thinking %}//{% endif %}"


def sibling(template):
    return letters(SPECIAL, "<eos>", bos="<s>", template=template)


def asked(student):
    """A rollout whose prompt is what the student's template makes of the turns."""
    prompt = student.tokenizer.encode(student.tokenizer.render(TURNS, {}))
    return opd.Rollout(id="r", prompt_ids=prompt, response_ids=[20, 21, 4], messages=TURNS)


def test_fault_12_a_teacher_is_asked_by_its_own_template_and_scores_the_same_response():
    """Arc-Computer/ATLAS#45: the teacher was scored with the student's template."""
    student, teacher = model(0, sibling(CHATML)), model(1, sibling(LLAMA))
    rollout = asked(student)
    scored_by = scored([rollout], student, {"t": opd.Teacher(teacher)}).items[0].teachers["t"]
    text = teacher.tokenizer.decode(scored_by.prompt_ids)
    assert text == "<s>[system]be brief[/][user]1+2=?[/][assistant]"
    net = tiny.qwen(1, max(64, len(sibling(LLAMA))))
    wanted = at(hand_softmax(net, scored_by.prompt_ids, rollout.response_ids), rollout.response_ids)
    np.testing.assert_allclose(scored_by.track.logprobs, wanted, atol=1e-4)


def test_fault_12_turns_are_cut_by_the_students_template_not_guessed():
    """A conversation read as text keeps its headers out of the student's own tokens."""
    student = model(0, sibling(CHATML))
    turns = [*TURNS, opd.Message("assistant", "3"), opd.Message("user", "so?"), opd.Message("assistant", "yes")]
    made = scored([opd.Rollout(id="c", turns=turns, text_source="text")], student).rollouts[0]
    written = made.token_ids[made.prompt_len :]
    assert student.tokenizer.decode(written[made.counted]) == "3yes"
    assert "<|im_start|>user" in student.tokenizer.decode(written[~made.counted])


def test_fault_14_template_arguments_reach_the_teachers_prompt():
    """trl#6510, trl#5969: chat_template_kwargs were dropped for the teacher."""
    student = model(0, sibling(THINKING))
    rollout = asked(student)
    plain, quiet = opd.Teacher(student), opd.Teacher(student, chat_template_kwargs={"thinking": False})
    context = opd.contexts.free_text("hint")
    hinted = opd.Teacher(student, context, chat_template_kwargs={"thinking": False})
    scores = scored([rollout], student, {"plain": plain, "quiet": quiet, "hinted": hinted})
    ends = {name: student.tokenizer.decode(t.prompt_ids)[-2:] for name, t in scores.items[0].teachers.items()}
    assert ends == {"plain": "t\n", "quiet": "//", "hinted": "//"}
    np.testing.assert_allclose(scores.signal("advantage", 0, "plain"), 0, atol=1e-6)
    assert (np.abs(scores.signal("advantage", 0, "quiet")) > 1e-4).any()
    shown = {row["name"]: row["arguments"] for row in wire_scores(scores)["meta"]["teachers"]}
    assert shown == {"plain": [], "quiet": ["thinking=False"], "hinted": ["thinking=False"]}


def long_hint(words):
    return "a" * words


@pytest.mark.parametrize("hint", [600, 490])
def test_fault_15_a_hint_over_the_limit_is_refused_with_both_lengths(hint):
    """trl#5883, trl#5862: the privileged prompt was cut to the student's max_prompt_length, and the hint with it."""
    student = opd.HFModel((tiny.qwen(0, limit=512), tiny.tokenizer()), device="cpu", name="short")
    messages = (opd.Message("user", "1+2=?"),)
    prompt = student.tokenizer.encode(student.tokenizer.render(messages, {}))
    rollout = opd.Rollout(id="r", prompt_ids=prompt, response_ids=[9] * 20, messages=messages)
    teacher = opd.Teacher(student, opd.contexts.free_text(long_hint(hint)))
    needs = len(teacher.prompt(rollout).ids) + 20
    with pytest.raises(LengthLimitError, match=rf"takes 512 tokens and rollout 'r' needs {needs}: .* {hint} of them"):
        scored([rollout], student, {"t": teacher})


def test_fault_15_a_hint_within_the_limit_is_there_whole():
    student = opd.HFModel((tiny.qwen(0, limit=512), tiny.tokenizer()), device="cpu", name="short")
    messages = (opd.Message("user", "1+2=?"),)
    prompt = student.tokenizer.encode(student.tokenizer.render(messages, {}))
    rollout = opd.Rollout(id="r", prompt_ids=prompt, response_ids=[9] * 20, messages=messages)
    scores = scored([rollout], student, {"t": opd.Teacher(student, opd.contexts.free_text(long_hint(400)))})
    teacher = scores.items[0].teachers["t"]
    assert (teacher.context_tokens, teacher.context) == (400, "a" * 400)
    assert "a" * 400 in student.tokenizer.decode(teacher.prompt_ids)
    assert scores.teachers["t"].limit == 512


@pytest.mark.parametrize("setting", ["truncation", "padding"])
def test_fault_15_a_tokenizer_set_to_cut_or_fill_is_refused(tmp_path, setting):
    """A saved tokenizer brings its settings along: every text would be cut without a word."""
    inner = Tokenizer(models.WordLevel({"?": 0, "a": 1}, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    if setting == "truncation":
        inner.enable_truncation(4)
    else:
        inner.enable_padding(length=8)
    with pytest.raises(InvalidInputError, match=rf"set to {setting} .*no_{setting}\(\)"):
        read(tmp_path, {"prompt": "a" * 9, "completion": "aa", "step": 1, "advantage": 0.1}, tokenizer=inner)


def test_fault_15_a_tokenizer_saved_with_truncation_cuts_no_prompt():
    made = letters(SPECIAL, "<eos>", bos="<s>", template=CHATML)
    made.backend_tokenizer.enable_truncation(4)
    try:
        student = model(0, made)
        rollout = opd.Rollout(id="t", prompt_text="a" * 30, response_text="b" * 9, text_source="text")
        ready = scored([rollout], student).rollouts[0]
    finally:
        made.backend_tokenizer.no_truncation()
    assert (ready.prompt_len, len(ready)) == (30, 9)


def test_fault_15_a_response_without_its_prompt_says_so():
    """Scored as if nothing had been asked, it would look like the student's own log-probabilities."""
    content = [{"token": "5", "logprob": -0.1}]
    (dumped,) = openai.from_record({"choices": [{"message": {"content": "5"}, "logprobs": {"content": content}}]})
    bare = opd.Rollout(id="ids", response_ids=[9, 10])
    for rollout in (replace(dumped, tracks={}), bare):  # that tracks are left out has a warning of its own
        with pytest.warns(UserWarning, match="1 of 1 rollouts came without their prompt"):
            assert scored([rollout], tiny.model(0)).notes
