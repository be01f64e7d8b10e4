"""Summaries come from a real model's `generate`, whole or not at all."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from opd_widgets.errors import ContextError, InvalidInputError, LengthLimitError
from tests import tiny

summarise = opd.contexts.summarise


@pytest.fixture(scope="module")
def lab():
    return opd.demo(questions=3, rollouts=1)


def test_the_lab_student_writes_one_text_a_question(lab):
    # What the lab's models can write is a working: asked for the question, they give one, and it is whole.
    asked = {question.id: question.title for question in lab.questions}
    found = summarise(asked, lab.student, template="{solution}", max_new_tokens=64)
    assert list(found) == list(asked)
    model, greedy = lab.student, opd.Sampling(temperature=0.0)
    for question in lab.questions:  # one at a time, by hand
        ids = model.tokenizer.encode(model.tokenizer.render(question.messages, {}))
        [[one]] = model.generate([ids], max_new_tokens=64, seed=0, sampling=greedy)
        text = model.tokenizer.decode(one.ids[:-1])
        assert text.startswith("<think>")
        assert found[question.id] == text.rpartition("</think>")[2]  # the thoughts are no part of a summary
    teacher = opd.Teacher(lab.student, opd.contexts.summary(found, template="{correct}", placement="system"))
    for rollout in lab.rollouts:
        assert teacher.prompt(rollout).context == found[rollout.question]


def test_it_is_the_same_again_and_another_by_another_seed_where_drawn(lab):
    asked = {question.id: question.title for question in lab.questions}

    def drawn(seed):
        return summarise(
            asked, lab.student, template="{solution}", max_new_tokens=64, seed=seed, sampling=opd.Sampling(2.0)
        )

    runs = [drawn(seed) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_questions_bring_their_own_solutions(lab):
    seen = []

    class Watched(opd.HFModel):
        def generate(self, prompts, **kwargs):
            seen.extend(prompts)
            return super().generate(prompts, **kwargs)

    who = Watched((tiny.qwen(0), tiny.tokenizer()), device="cpu", name="watched")
    with pytest.warns(UserWarning, match="left out"):
        summarise(lab.questions, who, template="sum: {solution}", max_new_tokens=2, incomplete="leave_out")
    expected = [f"<u>sum: {q.solution}\n<a>" for q in lab.questions]
    assert [who.tokenizer.decode(ids) for ids in seen] == expected


def test_a_summary_that_was_cut_is_an_error_that_names_its_question(lab):
    asked = {"long": lab.questions[0].title, "other": lab.questions[1].title}
    with pytest.raises(ContextError, match=r"2 of 2 summaries were cut at max_new_tokens=3 \('long', 'other'\)"):
        summarise(asked, lab.student, template="{solution}", max_new_tokens=3)
    with pytest.warns(UserWarning, match="were cut at max_new_tokens=3"):
        assert summarise(asked, lab.student, template="{solution}", max_new_tokens=3, incomplete="leave_out") == {}


def test_an_empty_summary_is_none():
    # After a whole working the lab's student ends its answer at once.
    ended = {"q": "Q: 3+4-1=?\n<think>3+4=7;7-1=6</think>6"}
    with pytest.raises(ContextError, match=r"1 of 1 summaries are empty \('q'\)"):
        summarise(ended, plain_lab_student(), template="{solution}", max_new_tokens=8)


def plain_lab_student():
    """Return the lab's student with a template that adds nothing, so that a prompt can end in an answer."""
    from transformers import AutoModelForCausalLM

    from opd_widgets.demo.lab import MODELS
    from opd_widgets.demo.tokenizer import build_tokenizer

    tokenizer = build_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    return opd.HFModel(
        (AutoModelForCausalLM.from_pretrained(MODELS / "student"), tokenizer), device="cpu", name="plain"
    )


def test_a_prompt_over_the_limit_says_both_lengths():
    short = tiny.model(0, limit=64)
    with pytest.raises(LengthLimitError, match=r"takes 64 tokens and the summary of question 'q' needs 9\d: .* of 6\d"):
        summarise({"q": "1+" * 30}, short, template="{solution}", max_new_tokens=30)


@pytest.mark.parametrize(
    ("solutions", "changes", "message"),
    [
        ({}, {}, "found no solutions"),
        ("3+4=7", {}, "found solutions of type str"),
        ({"q": ""}, {}, "found an empty one as the solution of question 'q'"),
        ([opd.Question("q", "?")], {}, "found NoneType as the solution of question 'q'"),
        (["q"], {}, "found str among the questions"),
        ({"q": "7"}, {"template": "sum it"}, "expected a text with {solution}"),
        ({"q": "7"}, {"max_new_tokens": 0}, "found max_new_tokens=0"),
        ({"q": "7"}, {"incomplete": "skip"}, "expected 'raise' or 'leave_out'"),
    ],
)
def test_bad_input_is_named(solutions, changes, message):
    with pytest.raises(InvalidInputError, match=message):
        summarise(solutions, tiny.model(0), **changes)


def test_something_that_does_not_generate_is_refused():
    with pytest.raises(InvalidInputError, match="found str as the model"):
        summarise({"q": "7"}, "Qwen/Qwen3-32B")
