"""Verifiers: what counts as the answer, what is wrong, and what is a fault."""

from __future__ import annotations

import logging
import sys
import threading

import pytest

import opd_widgets as opd
from opd_widgets import verifiers
from opd_widgets.errors import InvalidInputError, MissingDependencyError


def asks(verifier, answer, text):
    return verifiers.named(verifier)(opd.Question("q", "?", answer=answer), text)


RIGHT = [
    ("exact", "Paris", " Paris\n"),
    ("exact", "Paris", "<think>London? No.</think>Paris"),
    ("exact", "Paris", "It lies on the Seine.\nAnswer: Paris"),
    ("exact", "{x}", r"So \boxed{{x}}"),
    ("boolean", "yes", "Yes, it is."),
    ("boolean", "True", "I believe so: yes"),
    ("boolean", "no", "No, that is not true."),
    ("boolean", "false", "The claim is not true."),
    ("boolean", "no", "Yes and no are possible. **Answer:** no, since true north differs."),
    ("multiple_choice", "B", "B"),
    ("multiple_choice", "(b)", "B. Because I said so, and not A."),
    ("multiple_choice", "C", "Not (A), as a cat has four legs; I choose (C)."),
    ("multiple_choice", "A", r"\boxed{\text{A}}"),
    ("multiple_choice", "D", "The answer is D, a prime."),
    ("multiple_choice", "A", "I would say A"),
    ("number", "1234", "That makes $1,234.00 in all."),
    ("number", "-33", "<think>43-40=3;3-36=-33</think>-33"),
    ("number", "3", "43-40=3"),
    ("number", "-1/2", r"hence $-\frac{1}{2}$"),
    ("number", "12", "Answer: 3 * 4 = 12 cm^2"),
    ("number", "12", "The area is 12 m^2."),
    ("number", "1000", "#### 1e3"),
    ("number", "-5", "−5"),
    ("number", ".5", "0.50"),
    ("number", "50%", "50"),
    ("math", r"\frac{1}{2}", "so it is 0.5"),
    ("math", "x^2+1", r"\boxed{1 + x^2}"),
]
WRONG = [
    ("exact", "Paris", "paris"),
    ("exact", "Paris", "Paris and London"),
    ("exact", "Paris", "<think>Paris"),
    ("boolean", "yes", "no"),
    ("boolean", "yes", "perhaps"),
    ("boolean", "yes", "<think>yes"),
    ("multiple_choice", "B", "(B) looks good, but the answer is (C)"),
    ("multiple_choice", "A", "A cat is an animal."),
    ("multiple_choice", "I", "So I think"),
    ("multiple_choice", "B", ""),
    ("number", "33", "-33"),
    ("number", "4", "3/4"),
    ("number", "2", "H2 and x^2"),
    ("number", "1", "1/0"),
    ("number", "7", "no idea"),
    ("number", "7", "<think>7"),
    ("number", "1", "9" * 5000),
    ("number", "0.3333", "1/3"),
    ("math", "x^2+1", "x^2"),
    ("math", "2", "no idea"),
    ("math", "2", "<think>2"),
]


@pytest.mark.parametrize(("verifier", "answer", "text"), RIGHT)
def test_right(verifier, answer, text):
    assert asks(verifier, answer, text) is True


@pytest.mark.parametrize(("verifier", "answer", "text"), WRONG)
def test_wrong(verifier, answer, text):
    assert asks(verifier, answer, text) is False


@pytest.mark.parametrize("name", verifiers.BY_NAME)
@pytest.mark.parametrize("answer", [None, " "])
def test_a_question_without_an_answer_is_a_fault(name, answer):
    with pytest.raises(InvalidInputError, match="question 'q' has no answer"):
        asks(name, answer, "7")


@pytest.mark.parametrize(
    ("name", "answer"), [("boolean", "maybe"), ("multiple_choice", "Paris"), ("number", "Paris"), ("number", "3, 4")]
)
def test_an_answer_of_another_kind_is_a_fault(name, answer):
    with pytest.raises(InvalidInputError, match=rf"is '{answer}', expected .* for verifiers\.{name}"):
        asks(name, answer, "7")
    verdict = verifiers.judge(verifiers.named(name), opd.Question("q", "?", answer=answer), "7")
    assert verdict.outcome == "unverified"


def test_math_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(MissingDependencyError, match=r"opd-widgets\[math\]"):
        asks("math", "2", "2")


def test_math_works_in_any_thread_and_gives_no_advice(caplog):
    said = []
    with caplog.at_level(logging.WARNING):
        thread = threading.Thread(target=lambda: said.append(asks("math", "2", "it is 2")))
        thread.start()
        thread.join()
    assert said == [True]
    assert not caplog.records
    question = opd.Question("q", "?", answer="2")
    assert verifiers.judge(verifiers.math, question, "it is 2", timeout=30).outcome == "correct"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidInputError, match="'maths', expected one of exact, boolean, multiple_choice"):
        verifiers.named("maths")


@pytest.mark.parametrize("verifier", [verifiers.exact, verifiers.number])
def test_the_demo_is_judged_as_by_its_own_verifier(verifier):
    lab = opd.demo()
    by_id = {question.id: question for question in lab.questions}
    closed = [rollout for rollout in lab.rollouts if "</think>" in (rollout.response_text or "")]
    outcomes = {lab.verifier(by_id[r.question], r.response_text) for r in closed}
    assert outcomes == {True, False}
    for rollout in closed:
        question = by_id[rollout.question]
        assert verifier(question, rollout.response_text) == lab.verifier(question, rollout.response_text)
