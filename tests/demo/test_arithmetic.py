"""The task, against problems worked by hand."""

import random
import subprocess
import sys
from typing import Any, get_args

import pytest

from opd_widgets.demo import arithmetic
from opd_widgets.demo.arithmetic import CONTEXT_KINDS, STYLES, Operator, Problem, verify

CHAIN = Problem(43, "-", 40, "-", 36)
ANSWER_BY_HAND = [
    (Problem(43, "-", 40, "-", 36), "-33"),
    (Problem(1, "+", 2, "+", 3), "6"),
    (Problem(10, "-", 3, "+", 5), "12"),
    (Problem(7, "+", 5, "-", 12), "0"),
    (Problem(1, "-", 50, "-", 50), "-99"),
]


def reckon(left_side):
    """The value of `12`, `-40-36` or `43+0`, read one signed number at a time."""
    signed = left_side.replace("-", " -").replace("+", " +").split()
    return sum(int(number) for number in signed)


def test_question_is_the_user_turn():
    assert CHAIN.question == "Q: 43-40-36=?"


@pytest.mark.parametrize(("problem", "answer"), ANSWER_BY_HAND)
def test_answers_worked_by_hand(problem, answer):
    assert problem.answer == answer


def test_left_to_right_working():
    assert CHAIN.solution() == "43-40=3;3-36=-33"
    assert CHAIN.completion() == "<think>43-40=3;3-36=-33</think>-33"
    assert Problem(3, "-", 9, "+", 2).solution() == "3-9=-6;-6+2=-4"


@pytest.mark.parametrize(
    ("problem", "solution"),
    [
        (CHAIN, "-40-36=-76;43-76=-33"),
        (Problem(43, "-", 40, "+", 36), "-40+36=-4;43-4=39"),
        (Problem(43, "+", 40, "-", 36), "40-36=4;43+4=47"),
        (Problem(5, "+", 7, "-", 7), "7-7=0;5+0=5"),
    ],
)
def test_right_pair_first_working(problem, solution):
    assert problem.solution("right_pair_first") == solution


@pytest.mark.parametrize("style", STYLES)
def test_every_step_of_a_solution_is_true_and_ends_in_the_answer(style):
    for problem in arithmetic.problems(300, "held_out", seed=5):
        steps = [step.split("=") for step in problem.solution(style).split(";")]
        assert all(reckon(left) == int(result) for left, result in steps)
        assert steps[-1][1] == problem.answer


@pytest.mark.parametrize("style", STYLES)
def test_a_wrong_solution_slips_once_and_carries_it_on(style):
    for seed, problem in enumerate(arithmetic.problems(300, "held_out", seed=6)):
        first, last = problem.wrong_solution(seed, style).split(";")
        left, slipped = first.split("=")
        assert left == problem.solution(style).split("=")[0]
        assert 0 < abs(reckon(left) - int(slipped)) <= 10
        left, result = last.split("=")
        assert reckon(left) == int(result)
        assert slipped in left
        assert result != problem.answer


def test_a_wrong_solution_is_repeatable_and_varies_with_the_seed():
    drawn = [CHAIN.wrong_solution(seed) for seed in range(50)]
    assert drawn == [CHAIN.wrong_solution(seed) for seed in range(50)]
    assert len(set(drawn)) == 6


def test_summary_keeps_the_results_alone():
    assert arithmetic.summarise("43-40=3;3-36=-33") == "3;-33"
    assert arithmetic.results("43-40=3;3-36=-33") == ["3", "-33"]


def test_solution_of_a_response():
    assert arithmetic.solution_of(CHAIN.completion() + "<eos>") == "43-40=3;3-36=-33"
    assert arithmetic.solution_of("<think>43-40=3") == ""
    assert arithmetic.solution_of("43-40=3</think>3") == ""


@pytest.mark.parametrize(
    "response",
    [
        "<think>43-40=3;3-36=-33</think>-33",
        "<think>43-40=3;3-36=-33</think>-33<eos>",
        "<think>43-40=3;3-36=-33</think>-33<eos><pad><pad>",
        "<think>43-40=7;7-36=-29</think> -33 \n",
        "</think>-33",
    ],
)
def test_verifier_accepts_the_exact_answer(response):
    assert verify("-33", response)


@pytest.mark.parametrize(
    "response",
    [
        "",
        "-33",
        "<think>43-40=3;3-36=-33",
        "<think>43-40=3;3-36=-33</think>",
        "<think>43-40=3;3-36=-33</think><eos>",
        "<think>43-40=3;3-36=-33</think>33",
        "<think>43-40=3;3-36=-33</think>-3",
        "<think>43-40=3;3-36=-33</think>-330",
        "<think>43-40=3;3-36=-33</think>-33.",
        "<think>43-40=3;3-36=-33</think>-33</think>-32",
    ],
)
def test_verifier_refuses_all_else(response):
    assert not verify("-33", response)


def test_an_empty_gold_answer_accepts_nothing():
    assert not verify("", "<think></think>")


def test_splits_are_disjoint_and_held_out_is_a_tenth():
    rng = random.Random(0)
    number, operators = range(1, 51), get_args(Operator)
    held_out = 0
    for _ in range(20_000):
        a, b, c = rng.choices(number, k=3)
        op1, op2 = rng.choices(operators, k=2)
        held_out += Problem(a, op1, b, op2, c).split == "held_out"
    assert held_out / 20_000 == pytest.approx(0.1, abs=0.01)
    assert all(problem.split == "train" for problem in arithmetic.problems(200, "train"))
    assert all(problem.split == "held_out" for problem in arithmetic.problems(200, "held_out"))


def test_problems_are_different_repeatable_and_extend():
    chosen = arithmetic.problems(500, "held_out", seed=3)
    assert len(set(chosen)) == 500
    assert chosen == arithmetic.problems(500, "held_out", seed=3)
    assert chosen[:100] == arithmetic.problems(100, "held_out", seed=3)
    assert chosen != arithmetic.problems(500, "held_out", seed=4)
    assert arithmetic.problems(0) == []


def test_context_lines():
    wrong = CHAIN.wrong_solution(7)
    expected = {
        "self_1c": "Right: 43-40=3;3-36=-33",
        "self_sum_1c": "Right: 3;-33",
        "self_1c1w": f"Right: 43-40=3;3-36=-33 Wrong: {wrong}",
        "self_sum_1c1w": f"Right: 3;-33 Wrong: {arithmetic.summarise(wrong)}",
        "self_1c_large": "Right: -40-36=-76;43-76=-33",
        "answer_only": "Hint: -33",
        "self_1w": f"Wrong: {wrong}",
        "self_1c_misled": f"Right: {wrong}",
    }
    assert {kind: arithmetic.context(CHAIN, kind, seed=7) for kind in CONTEXT_KINDS} == expected
    assert arithmetic.context(CHAIN, "self_1c_large", large="1+1=2") == "Right: 1+1=2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, "+", 1, "+", 1), "a is 0, expected a number from 1 to 50"),
        ((1, "+", 1, "+", 51), "c is 51, expected a number from 1 to 50"),
        ((1, "*", 1, "+", 1), r"op1 is '\*', expected"),
    ],
)
def test_a_problem_outside_the_task_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Problem(*arguments)


def test_unknown_names_are_refused():
    unknown: Any = "backwards"
    with pytest.raises(ValueError, match="unknown working style 'backwards', expected one of left"):
        CHAIN.solution(unknown)
    with pytest.raises(ValueError, match="unknown context kind 'backwards', expected one of self"):
        arithmetic.context(CHAIN, unknown)
    with pytest.raises(ValueError, match="n is -1, expected 0 to"):
        arithmetic.problems(-1)


def test_the_task_needs_neither_torch_nor_transformers():
    loaded = "import sys, opd_widgets.demo.arithmetic; print({'torch', 'transformers'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
