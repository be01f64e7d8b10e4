"""What a teacher sees: its own template, its own keyword arguments, the context where it belongs."""

from __future__ import annotations

from typing import Any

import pytest

import opd_widgets as opd
from opd_widgets.errors import ContextError
from tests import tiny

ROLLOUT = opd.Rollout(
    id="r", prompt_ids=[3, 9, 4], response_ids=[8], messages=[opd.Message("user", "1+2=?")], question="q"
)


def prompt(context=None, model=None, **kwargs):
    model = model or tiny.model(0)
    made = opd.Teacher(model, context, **kwargs).prompt(ROLLOUT)
    return model.tokenizer.decode(made.ids)


def test_the_five_kinds_of_the_paper():
    c = opd.contexts
    assert prompt(c.one_correct("3", template="sol {correct}")) == "<u>1+2=?\n\nsol 3\n<a>"
    assert prompt(c.summary("3", template="sum {correct}")) == "<u>1+2=?\n\nsum 3\n<a>"
    both = "right {correct} wrong {wrong}"
    assert prompt(c.one_correct_one_wrong("3", "4", template=both)) == "<u>1+2=?\n\nright 3 wrong 4\n<a>"
    assert prompt(c.summary_one_correct_one_wrong("3", "4", template=both)) == "<u>1+2=?\n\nright 3 wrong 4\n<a>"
    assert c.one_correct("3", author="32b").kind == "one_correct_by_author"
    assert "32b" in c.one_correct("3", author="32b").description


def test_the_default_wording_holds_both_solutions_and_the_warning():
    text = opd.contexts.one_correct_one_wrong("A", "B").text_for(ROLLOUT)
    assert text.index("A") < text.index("do not imitate") < text.index("B")


def test_braces_in_a_solution_are_text():
    context = opd.contexts.one_correct(r"\frac{1}{2} {wrong}")
    assert r"\frac{1}{2} {wrong}" in context.text_for(ROLLOUT)


def test_a_part_is_not_put_into_another_part():
    context = opd.contexts.one_correct_one_wrong(
        r"so \text{wrong} is {correct}", "not {correct}", template="{correct}|{wrong}"
    )
    assert context.text_for(ROLLOUT) == r"so \text{wrong} is {correct}|not {correct}"


@pytest.mark.parametrize("source", [5, None, ["x"], b"x"])
def test_a_text_of_another_kind_is_refused_when_the_context_is_made(source):
    with pytest.raises(ContextError, match=f"context's answer of type {type(source).__name__}, expected a string"):
        opd.contexts.answer(source)


@pytest.mark.parametrize("value", [5, None])
def test_a_mapping_that_holds_no_text_names_the_rollout(value):
    with pytest.raises(ContextError, match=f"mapping holds {type(value).__name__} for rollout 'r' of question 'q'"):
        opd.contexts.answer({"q": value}).text_for(ROLLOUT)


def test_a_function_that_fails_names_the_rollout_and_the_cause():
    with pytest.raises(ContextError, match=r"answer function failed for rollout 'r': KeyError: 'gone'") as caught:
        opd.contexts.answer(lambda rollout: {"r": "5"}["gone" + rollout.id[1:]]).text_for(ROLLOUT)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_placement_or_template_that_is_none():
    with pytest.raises(ContextError, match="found placement='assistant', expected one of 'user', 'system'"):
        opd.contexts.answer("5", placement="assistant")
    with pytest.raises(ContextError, match="template of type int"):
        opd.contexts.answer("5", template=5)


def test_in_a_system_turn_of_its_own_or_at_the_end_of_the_one_there_is():
    context = opd.contexts.free_text("hint", placement="system")
    assert prompt(context) == "<s>hint\n<u>1+2=?\n<a>"
    turns = (opd.Message("system", "be brief"), opd.Message("user", "1+2=?"))
    assert context.insert("hint", turns)[0] == opd.Message("system", "be brief\n\nhint")


def test_a_text_for_every_question_or_a_function_of_the_rollout():
    assert "for q" in prompt(opd.contexts.free_text({"q": "for q"}))
    assert "from r" in prompt(opd.contexts.free_text(lambda rollout: f"from {rollout.id}"))
    not_text: Any = lambda _: 3  # noqa: E731
    with pytest.raises(ContextError, match="returned int"):
        prompt(opd.contexts.free_text(not_text))


def test_an_empty_context_leaves_the_prompt_as_it_is():
    assert prompt(opd.contexts.free_text("")) == "<u>1+2=?\n<a>"


def test_an_external_teacher_uses_its_own_template_and_arguments():
    template = "{% for m in messages %}q {{ m['content'] }}{% endfor %}{% if thinking %} t{% endif %}:"
    other = opd.HFModel((tiny.qwen(1), tiny.tokenizer(template=template)), device="cpu", name="llama-like")
    assert prompt(model=other) == "q 1+2=?:"
    assert prompt(model=other, chat_template_kwargs={"thinking": True}) == "q 1+2=? t:"


def test_a_rollout_of_ids_alone_keeps_its_prompt():
    bare = opd.Rollout(id="b", prompt_ids=[3, 9], response_ids=[8])
    assert opd.Teacher(tiny.model(1)).prompt(bare).ids.tolist() == [3, 9]


def test_a_model_without_a_template_gets_the_text():
    plain = opd.HFModel((tiny.qwen(2), tiny.tokenizer(template=None)), device="cpu", name="base")
    assert prompt(opd.contexts.free_text("hint"), model=plain) == "1+2=?\n\nhint"


def test_editing_a_teacher_without_a_context_says_what_to_do():
    with pytest.raises(ContextError, match="free_text"):
        opd.Teacher(tiny.model(0)).prompt(ROLLOUT, "text")


def test_a_hint_and_a_system_prompt():
    c = opd.contexts
    assert prompt(c.hint("carry", template="hint {hint}")) == "<u>1+2=?\n\nhint carry\n<a>"
    assert "Here is a hint" in c.hint("carry").text_for(ROLLOUT)
    assert (c.hint("x").kind, c.hint("x").description) == ("hint", "sees a hint")
    assert prompt(c.system_prompt("be exact")) == "<s>be exact\n<u>1+2=?\n<a>"
    assert c.system_prompt("x").kind == "system_prompt"


def test_a_system_prompt_joins_the_one_there_or_stands_by_itself():
    turns = (opd.Message("system", "be brief"), opd.Message("user", "1+2=?"))
    joined = opd.contexts.system_prompt("be exact").insert("be exact", turns)
    assert [m.role for m in joined] == ["system", "user"]
    assert joined[0].content == "be brief\n\nbe exact"
    own = opd.contexts.system_prompt("be exact", merge=False).insert("be exact", turns)
    assert [(m.role, m.content) for m in own] == [("system", "be brief"), ("system", "be exact"), ("user", "1+2=?")]
    assert opd.contexts.system_prompt("x", merge=False).insert("x", turns[1:])[0] == opd.Message("system", "x")


def leak(context, answer="7", text=None):
    rollout = opd.Rollout(
        id="r", prompt_ids=[3], response_ids=[8], messages=[opd.Message("user", "3+4=?")], question="q",
        metadata={} if answer is None else {"answer": answer},
    )  # fmt: skip
    return opd.Teacher(tiny.model(0), context).prompt(rollout, text).leaks_answer


def test_a_context_that_holds_the_answer_says_so():
    c = opd.contexts
    assert leak(c.hint("it is less than 8")) is False
    assert leak(c.hint("it is 7")) is True
    assert leak(c.one_correct({"q": "3+4=7"})) is True
    assert leak(c.one_correct({"q": "3+4=7"}), answer="17") is False
    assert leak(c.hint("it is 7"), text="no hint") is False  # an edit is looked at anew


def test_where_no_answer_is_known_nothing_is_claimed():
    assert leak(opd.contexts.hint("it is 7"), answer=None) is None
    assert leak(None) is None  # no context


def test_an_answer_context_knows_its_own_answer():
    told = opd.contexts.answer({"q": "7"})
    assert leak(told, answer=None) is True
    assert leak(told, answer=None, text="think twice") is False


def test_arguments_of_the_template_are_told_as_plain_values():
    kwargs = {"enable_thinking": False, "date": {"year": 2026}, "tool": object()}
    info = opd.Teacher(tiny.model(0), chat_template_kwargs=kwargs).info("T", tiny.model(0))
    assert info.chat_template_kwargs == {"enable_thinking": False, "date": {"year": 2026}, "tool": "a object"}


@pytest.mark.parametrize("text", ["", " \n", {"q": ""}, lambda _: "\t"])
def test_a_part_that_is_empty_says_so(text):
    rollout = opd.Rollout(id="r", prompt_text="p", response_text="x", question="q")
    with pytest.raises(ContextError, match="the context's hint is empty for rollout 'r' of question 'q'"):
        opd.contexts.hint(text).text_for(rollout)
    assert opd.contexts.free_text("").text_for(rollout) == ""
