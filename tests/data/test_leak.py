"""Whether a text holds an answer: by table, each row a way in which looking for a substring would be wrong."""

from __future__ import annotations

import time

import pytest

import opd_widgets as opd
from opd_widgets.data.answers import answer_of
from opd_widgets.data.leak import leaks
from opd_widgets.errors import InvalidInputError

HELD = [
    # numbers, by value, where they stand by themselves
    ("The answer is 7.", "7"), ("Answer:7", "7"), (r"so \boxed{7}", "7"), (r"\boxed{\text{7}}", "7"), ("7.0", "7"),
    ("x = 7.5", "7.50"), ("7", "+7"), ("7kg", "7"), ("7%", "7"), (r"\$7.00", "7"), ("**7**", "7"), ("7, 8", "7"),
    ("7,000", "7000"), ("7{,}000", "7000"), ("7000", "7,000"), ("7e2", "700"), ("1e-3", "0.001"), ("1.", "1"),
    ("it is 7", "7"), ("７", "7"),
    # signs: between operands a minus subtracts
    ("= -7", "-7"), ("=-7", "-7"), ("(-7)", "-7"), ("−33", "-33"), ("3-36", "36"), ("3 - 36", "36"),
    ("43-40=3;3-36=-33", "-33"), ("3 -36", "-36"), ("3 -36", "36"), ("5 - -7", "-7"),
    # fractions and expressions
    ("7/8", "7/8"), (r"\frac{7}{8}", "7/8"), ("7/8", r"\dfrac{7}{8}"), ("-7/8", "-7/8"), ("3-7/8", "7/8"),
    ("x^2 + 1", "x^2+1"), ("x = 7.", "x=7"), (r"is $\sqrt{2}$", r"\sqrt{2}"), ("(2, 3)", "(2,3)"), ("C++", "C++"),
    # choices
    ("it is B", "B"), ("(B)", "B"), ("(b)", "B"), ("B.", "B"), ("The answer is A.", "A"), ("**A**", "A"),
    ("(A), (B)", "A"), ("vitamin B", "(B)"), ("option b", "b"), ("A", "A"),
    # words
    ("New  york, NY", "New York,NY"), ("True", "true"), (r"\text{Paris}", "paris"), ("paris.", r"\text{Paris}"),
    ("首都是北京。", "北京"), ("서울은 수도다", "서울"),
]  # fmt: skip
ABSENT = [
    ("17", "7"), ("70", "7"), ("7.5", "7"), ("0.7", "7"), (".7", "7"), ("7th", "7"), ("x7", "7"), ("v7", "7"),
    ("1.7.2", "7"), ("1,007", "7"), ("7,000", "7"), ("7e2", "7"), ("3.14159", "3.14"), ("it is seven", "7"), ("", "7"),
    ("-7", "7"), ("3-36", "-36"), ("3 - 36", "-36"), ("43-40=3;3-36=-33", "33"),
    ("17/8", "7/8"), ("7/80", "7/8"), ("-7/8", "7/8"), ("x^2+15", "x^2+1"), ("2x^2+1", "x^2+1"), ("x=7.5", "x=7"),
    ("(12,3)", "2,3"),
    ("Bob", "B"), ("b", "B"), ("A train leaves", "A"), ("a", "A"), ("I'm", "I"), ("I see it", "I"),
    ("newyork", "New York"), ("untrue", "true"), ("1e999999999", "5"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "answer"), HELD)
def test_is_held(text, answer):
    assert leaks(text, answer) is True


@pytest.mark.parametrize(("text", "answer"), ABSENT)
def test_is_not_held(text, answer):
    assert leaks(text, answer) is False


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_an_answer_that_is_not_known(answer):
    assert leaks("the answer is 7", answer) is None


@pytest.mark.parametrize("text", [" " * 200_000, "-" * 100_000, "1," * 100_000, "\\text{" * 50_000, "9" * 200_000])
def test_a_hostile_text_takes_no_time(text):
    started = time.thread_time()  # not the clock: other work on the machine does not count
    for answer in ("7", "B", "x^2 + 2", "a b"):
        leaks(text + "x", answer)
    assert time.thread_time() - started < 2


def rollout(question="q", **metadata):
    return opd.Rollout(id="r", response_ids=[1], question=question, metadata=metadata)


@pytest.mark.parametrize("key", ["answer", "ground_truth", "gts", "label", "target"])
def test_the_answer_by_the_name_each_format_gives_it(key):
    assert answer_of(rollout(**{key: "5"})) == "5"
    assert answer_of(rollout(**{key: ["5"]})) == "5"
    assert answer_of(rollout(**{key: 5})) == "5"
    for nothing in (None, "", ["5", "6"], {"a": 1}, True):
        assert answer_of(rollout(**{key: nothing})) is None


def test_answers_given_by_question_or_by_id():
    mine, other = rollout("q", kept=1), rollout("other", answer="9")
    for answers in ({"q": "7"}, [opd.Question("q", "3+4?", answer="7"), opd.Question("none", "?")]):
        found = opd.with_answers([mine, other], answers)
        assert [answer_of(one) for one in found] == ["7", "9"]
        assert found[0].metadata == {"kept": 1, "answer": "7"}
        assert found[1] is other
    assert "answer" not in mine.metadata


def test_answers_that_fit_nothing_are_refused():
    with pytest.raises(InvalidInputError, match=r"answers to questions 'x' and rollouts of questions 'q', expected"):
        opd.with_answers([rollout()], {"x": "7"})
    with pytest.raises(InvalidInputError, match="answer to question 'q' of type int, expected a string"):
        opd.with_answers([rollout()], {"q": 7})
