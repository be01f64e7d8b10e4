"""The lab's task: chains of two additions or subtractions, worked step by step.

A problem such as ``43-40-36`` is asked as ``Q: 43-40-36=?`` and answered as
``<think>43-40=3;3-36=-33</think>-33``. Two working styles reach the same answer in a different
order of steps, so a model can be right and still write differently. The contexts shown to a
self-distillation teacher are rendered here too, in the very form the student was trained on.
Nothing here needs torch.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from typing import Final, Literal, get_args

Operator = Literal["+", "-"]
Style = Literal["left_to_right", "right_pair_first"]
Split = Literal["train", "held_out"]
ContextKind = Literal[
    "self_1c",
    "self_sum_1c",
    "self_1c1w",
    "self_sum_1c1w",
    "self_1c_large",
    "answer_only",
    "self_1w",
    "self_1c_misled",
]

STYLES: Final[tuple[Style, ...]] = get_args(Style)
CONTEXT_KINDS: Final[tuple[ContextKind, ...]] = get_args(ContextKind)

#: A reader's name for each kind; the first five are the paper's.
CONTEXT_NAMES: Final[dict[ContextKind, str]] = {
    "self_1c": "Self-1C",
    "self_sum_1c": "Self-Sum-1C",
    "self_1c1w": "Self-1C1W",
    "self_sum_1c1w": "Self-Sum-1C1W",
    "self_1c_large": "Self-1C (large)",
    "answer_only": "Answer only",
    "self_1w": "Self-1W",
    "self_1c_misled": "Self-1C, misled",
}

MIN_NUMBER: Final = 1
MAX_NUMBER: Final = 50
HELD_OUT_PERCENT: Final = 10

THINK: Final = "<think>"
END_THINK: Final = "</think>"
EOS: Final = "<eos>"

# How far a slip lands from the true result: miscounted by one or two, or a lost or doubled ten.
_SLIPS: Final = (-10, -2, -1, 1, 2, 10)


@dataclass(frozen=True, slots=True)
class Problem:
    """One chain ``a op1 b op2 c`` of numbers from 1 to 50.

    Raises:
        ValueError: a number lies outside 1..50, or an operator is neither ``+`` nor ``-``.
    """

    a: int
    op1: Operator
    b: int
    op2: Operator
    c: int

    def __post_init__(self) -> None:
        for name, value in (("a", self.a), ("b", self.b), ("c", self.c)):
            if not MIN_NUMBER <= value <= MAX_NUMBER:
                msg = f"{name} is {value}, expected a number from {MIN_NUMBER} to {MAX_NUMBER}"
                raise ValueError(msg)
        for name, operator in (("op1", self.op1), ("op2", self.op2)):
            if operator not in get_args(Operator):
                msg = f"{name} is {operator!r}, expected '+' or '-'"
                raise ValueError(msg)

    @property
    def expression(self) -> str:
        """The bare chain, ``43-40-36``."""
        return f"{self.a}{self.op1}{self.b}{self.op2}{self.c}"

    @property
    def question(self) -> str:
        """The user turn, ``Q: 43-40-36=?``."""
        return f"Q: {self.expression}=?"

    @property
    def answer(self) -> str:
        """The gold answer as the verifier compares it, ``-33``."""
        return str(self.a + _signed(self.op1, self.b) + _signed(self.op2, self.c))

    @property
    def split(self) -> Split:
        """``held_out`` for the tenth of all chains, by crc32, that no model was trained on."""
        held_out = zlib.crc32(self.expression.encode()) % 100 < HELD_OUT_PERCENT
        return "held_out" if held_out else "train"

    def solution(self, style: Style = "left_to_right") -> str:
        """The worked steps without the think tags, ``43-40=3;3-36=-33``."""
        return self._worked(style, slip=0)

    def wrong_solution(self, seed: int, style: Style = "left_to_right") -> str:
        """A plausible wrong working: the first result slips, the rest follows from it faithfully.

        The last result is therefore always wrong. The same problem and seed give the same slip.
        """
        draw = zlib.crc32(f"{self.expression} {seed}".encode())
        return self._worked(style, slip=_SLIPS[draw % len(_SLIPS)])

    def completion(self, style: Style = "left_to_right") -> str:
        """The assistant turn without the end token, ``<think>43-40=3;3-36=-33</think>-33``."""
        return completion(self.solution(style))

    def _worked(self, style: Style, slip: int) -> str:
        if style == "left_to_right":
            first = self.a + _signed(self.op1, self.b) + slip
            last = first + _signed(self.op2, self.c)
            return f"{self.a}{self.op1}{self.b}={first};{first}{self.op2}{self.c}={last}"
        if style == "right_pair_first":
            pair = _signed(self.op1, self.b) + _signed(self.op2, self.c) + slip
            sign = "-" if self.op1 == "-" else ""
            return f"{sign}{self.b}{self.op2}{self.c}={pair};{self.a}{pair:+d}={self.a + pair}"
        msg = f"unknown working style {style!r}, expected one of {', '.join(STYLES)}"
        raise ValueError(msg)


def _signed(operator: Operator, value: int) -> int:
    return value if operator == "+" else -value


def random_problem(rng: random.Random, split: Split) -> Problem:
    """One problem of a split, drawn uniformly with replacement."""
    while True:
        # Plain arithmetic on one draw is several times faster than five calls, and training draws
        # millions.
        draw = rng.randrange(4 * MAX_NUMBER**3)
        draw, a = divmod(draw, MAX_NUMBER)
        draw, b = divmod(draw, MAX_NUMBER)
        ops, c = divmod(draw, MAX_NUMBER)
        problem = Problem(a + 1, "-" if ops & 1 else "+", b + 1, "-" if ops & 2 else "+", c + 1)
        if problem.split == split:
            return problem


def problems(n: int, split: Split = "held_out", seed: int = 0) -> list[Problem]:
    """``n`` different problems of a split, the same for the same seed.

    A longer list starts with the shorter one.

    Raises:
        ValueError: ``n`` is negative or beyond what a split can give (40,000).
    """
    limit = 40_000
    if not 0 <= n <= limit:
        msg = f"n is {n}, expected 0 to {limit} problems"
        raise ValueError(msg)
    rng = random.Random(seed)
    found: dict[Problem, None] = {}
    while len(found) < n:
        found[random_problem(rng, split)] = None
    return list(found)


def completion(solution: str) -> str:
    """The assistant turn for worked steps: think tags around them, then the last result."""
    return f"{THINK}{solution}{END_THINK}{results(solution)[-1]}"


def solution_of(response_text: str) -> str:
    """The worked steps between a response's think tags; empty where a tag is missing."""
    _, opened, rest = response_text.partition(THINK)
    inside, closed, _ = rest.partition(END_THINK)
    return inside if opened and closed else ""


def results(solution: str) -> list[str]:
    """The result of every step, in order: ``['3', '-33']`` for ``43-40=3;3-36=-33``."""
    return [step.rpartition("=")[2] for step in solution.split(";")]


def summarise(solution: str) -> str:
    """A solution cut down to its results, ``3;-33``: what was found, not how."""
    return ";".join(results(solution))


def verify(answer: str, response_text: str) -> bool:
    """Whether a response ends with the right answer.

    What stands after the last ``</think>``, up to an end token, is compared character by character;
    outer white space is ignored. A response that never closes its thinking, or says nothing after
    it, is wrong. The worked steps are not looked at: a right answer after a wrong step counts as
    right.
    """
    _, closed, tail = response_text.rpartition(END_THINK)
    given = tail.partition(EOS)[0].strip()
    return bool(closed) and given == answer.strip() != ""


def answer_hint(answer: str) -> str:
    """Context that gives the answer alone, ``Hint: -33``."""
    return f"Hint: {answer}"


def one_correct(solution: str) -> str:
    """Context with one correct solution, or its summary: ``Right: 43-40=3;3-36=-33``."""
    return f"Right: {solution}"


def one_wrong(solution: str) -> str:
    """Context with one wrong solution, marked as such: ``Wrong: 43-40=13;13-36=-23``."""
    return f"Wrong: {solution}"


def one_correct_one_wrong(correct: str, wrong: str) -> str:
    """Context with a correct and a wrong solution, each under its mark, on one line."""
    return f"{one_correct(correct)} {one_wrong(wrong)}"


def context(problem: Problem, kind: ContextKind, seed: int = 0, large: str | None = None) -> str:
    """The context line of a kind for a problem: the system turn of a self-distillation teacher.

    ``seed`` chooses the wrong solution. ``large`` is the solution that a larger model wrote, for
    ``self_1c_large``; without it, the right-pair-first working stands in, which that model writes
    when it is right. ``self_1w`` is a wrong solution marked as wrong; ``self_1c_misled`` is a wrong
    solution passed off as right, a context nothing was trained on.

    Raises:
        ValueError: the kind is unknown.
    """
    right, wrong = problem.solution(), problem.wrong_solution(seed)
    written = problem.solution("right_pair_first") if large is None else large
    lines: dict[ContextKind, str] = {
        "self_1c": one_correct(right),
        "self_sum_1c": one_correct(summarise(right)),
        "self_1c1w": one_correct_one_wrong(right, wrong),
        "self_sum_1c1w": one_correct_one_wrong(summarise(right), summarise(wrong)),
        "self_1c_large": one_correct(written),
        "answer_only": answer_hint(problem.answer),
        "self_1w": one_wrong(wrong),
        "self_1c_misled": one_correct(wrong),
    }
    if kind not in lines:
        msg = f"unknown context kind {kind!r}, expected one of {', '.join(CONTEXT_KINDS)}"
        raise ValueError(msg)
    return lines[kind]
