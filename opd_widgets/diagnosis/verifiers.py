"""Verifiers: does a response give the right answer? Each is a function of (question, response text).

All look only at what follows a closed `</think>`; a response that never closes the thinking it opens has no answer.
A text without an answer is wrong (False). A fault is raised: a question without an answer, or with one that the
verifier cannot read; the rollout is then "unverified" and never counts as wrong.

Any other function of (question, text) does as well. `judge` asks one, with a time limit if need be.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from opd_widgets.data.question import Question
from opd_widgets.errors import InvalidInputError, MissingDependencyError
from opd_widgets.scoring.judging import Judge, Verdict, Verifier, judge

__all__ = ["BY_NAME", "Judge", "Verdict", "Verifier", "boolean", "exact", "judge", "math", "multiple_choice", "named"]
__all__ += ["number"]

# "Answer: 7", "the answer is 7", "#### 7"
_MARKER = re.compile(r"(?:\banswer\b[*_]*(?:[ \t]+is\b|[ \t]*:)[*_: \t]*|^####)", re.IGNORECASE | re.MULTILINE)
_BOOLEAN = re.compile(r"\b(?:(not|n't)[ \t]+)?(yes|no|true|false)\b", re.IGNORECASE)
_LETTER = re.compile(
    r"\(([A-Za-z])\)"  # (B), (b)
    r"|(?<![\w'’])([A-Z])[).:](?=\W|$)"  # B) B. B:
    r"|(?<![\w'’])([B-HJ-Z]|A(?=\W*$))(?![\w'’])"  # B alone; A and I are words
)
_ONLY_LETTER = re.compile(r"\W*([A-Za-z])\b(?![\w'’])")
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?![\d,]*\d)|\d{1,400})(?:\.\d{1,400})?(?:[eE][-+]?\d{1,3}(?!\d))?|\.\d{1,400}"
_NUMBER = re.compile(
    r"((?<![\w)\]}.])[-+][ \t]?)?"  # a sign, unless something stands before it to subtract from
    r"(?<![A-Za-z_^\d.])"  # no part of a name, an exponent or a longer number
    rf"({_DIGITS})(?:[ \t]?/[ \t]?(\d{{1,400}}))?"
)
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_DROPPED = str.maketrans({"−": "-", "$": "", "\u202f": "", "\u00a0": " "})


def exact(question: Question, text: str) -> bool:
    r"""Return whether the response, or the answer it states, is the question's answer character by character.

    White space around either does not count. Stated is what stands in the last `\boxed{...}`, or else on the line
    after the last "Answer:", "the answer is" or "####".
    """
    gold, tail = _gold(question), _after_thinking(text)
    return gold in {tail.strip(), (_stated(tail) or "").strip()}


def boolean(question: Question, text: str) -> bool:
    """Return whether the response says yes (true) or no (false) as the question's answer does.

    What counts is the word the stated answer or the whole response begins with; failing that, its last one.
    "not true" is false.

    Raises:
        InvalidInputError: the question's answer is none of yes, no, true and false.

    """
    gold = _yes(_gold(question))
    if gold is None:
        raise InvalidInputError(_unreadable(question, "yes, no, true or false", "boolean"))
    tail = _after_thinking(text)
    stated = _stated(tail)
    found = None if stated is None else _yes(stated)
    return (_yes(tail) if found is None else found) is gold


def multiple_choice(question: Question, text: str) -> bool:
    """Return whether the response chooses the letter that is the question's answer, such as "B" or "(B)".

    What counts is the letter that the stated answer or the whole response consists of or begins with; failing that, the
    last letter written as one: "(b)", "B)", "B.", or a capital by itself. A bare A counts at the end, an I never.

    Raises:
        InvalidInputError: the question's answer is no single letter.

    """
    found = re.fullmatch(r"\(?([A-Za-z])[).:]?", _gold(question))
    if found is None:
        raise InvalidInputError(_unreadable(question, "a single letter", "multiple_choice"))
    tail = _after_thinking(text)
    stated = _stated(tail)
    chosen = _chosen(tail) if stated is None else (_first_letter(stated) or _chosen(stated) or _chosen(tail))
    return chosen == found[1].upper()


def number(question: Question, text: str) -> bool:
    r"""Return whether the response's final number equals the question's answer, exactly.

    The final number is the first one of the stated answer (after its last "="), or else the last of the response. Read
    are 1,234 and 1234, -3.50, 1e3, 3/4 and \frac{3}{4}; currency signs, percent signs and units are passed over. There
    is no tolerance: 0.333 is not 1/3.

    Raises:
        InvalidInputError: the question's answer is not one number.

    """
    gold = list(_numbers(_gold(question)))
    if len(gold) != 1:
        raise InvalidInputError(_unreadable(question, "one number", "number"))
    tail = _after_thinking(text)
    stated = _stated(tail)
    if stated is not None:
        found = next(_numbers(stated.rpartition("=")[2]), None)
        if found is not None:
            return found == gold[0]
    last = None
    for last in _numbers(tail):  # noqa: B007 - the last one is wanted
        pass
    return last == gold[0]


def math(question: Question, text: str) -> bool:
    """Return whether the response's final expression equals the question's answer, by math-verify.

    Put a limit of time on it (`judge(..., timeout=5)`): math-verify's own limits need the main thread and are off here,
    so that it can run in any.

    Raises:
        MissingDependencyError: math-verify is not installed.
        InvalidInputError: math-verify cannot read the question's answer.
        Exception: whatever math-verify raises where it cannot compare the two.

    """
    try:
        import math_verify
    except ImportError as error:
        msg = "opd.verifiers.math needs math-verify, which is not installed: pip install 'opd-widgets[math]'"
        raise MissingDependencyError(msg) from error
    _without_advice()
    gold = _gold(question)
    as_math = gold if "$" in gold or "\\boxed" in gold else f"\\boxed{{{gold}}}"
    right = math_verify.parse(as_math, parsing_timeout=None)
    if not right:
        raise InvalidInputError(_unreadable(question, "a mathematical expression", "math"))
    given = math_verify.parse(_after_thinking(text), parsing_timeout=None)
    if not given:
        return False
    return bool(math_verify.verify(right, given, timeout_seconds=None, raise_on_error=True))


BY_NAME: dict[str, Verifier] = {
    "exact": exact,
    "boolean": boolean,
    "multiple_choice": multiple_choice,
    "number": number,
    "math": math,
}


def named(verifier: str | Callable[[Question, str], Any]) -> Verifier:
    """Return the verifier of a name, or the function that was given.

    Raises:
        InvalidInputError: an unknown name, or something that cannot be called.

    """
    if callable(verifier):
        return verifier
    if verifier not in BY_NAME:
        msg = f"found verifier {verifier!r}, expected one of {', '.join(BY_NAME)}, or a function of (question, text)"
        raise InvalidInputError(msg)
    return BY_NAME[verifier]


def _gold(question: Question) -> str:
    answer = (question.answer or "").strip()
    if not answer:
        msg = f"question {question.id!r} has no answer to compare with; expected opd.Question(..., answer=...)"
        raise InvalidInputError(msg)
    return answer


def _unreadable(question: Question, expected: str, verifier: str) -> str:
    return (
        f"the answer to question {question.id!r} is {question.answer!r}, expected {expected} for verifiers.{verifier}. "
        "Choose another verifier"
    )


def _after_thinking(text: str) -> str:
    """Return what follows the last closed thinking; nothing where thinking is never closed."""
    before, closed, tail = text.rpartition("</think>")
    return "" if "<think>" in (tail if closed else before + tail) else tail


def _stated(tail: str) -> str | None:
    """Return the answer that a response marks as one; None where it marks none."""
    boxed = _boxed(tail)
    if boxed is not None:
        return boxed
    ends = [match.end() for match in _MARKER.finditer(tail)]
    if not ends:
        return None
    rest = tail[ends[-1] :].lstrip()
    return rest.partition("\n")[0] or None


def _boxed(tail: str) -> str | None:
    r"""Return what stands in the last \boxed{...}, braces matched; None where there is none, or it is not closed."""
    start = tail.rfind("\\boxed{")
    if start < 0:
        return None
    first, depth = start + len("\\boxed{"), 1
    for place in range(first, len(tail)):
        depth += {"{": 1, "}": -1}.get(tail[place], 0)
        if not depth:
            return tail[first:place]
    return None


def _yes(text: str) -> bool | None:
    found = list(_BOOLEAN.finditer(text))
    if not found:
        return None
    leads = not re.search(r"\w", text[: found[0].start()])
    chosen = found[0] if leads else found[-1]
    return (chosen[2].lower() in {"yes", "true"}) is not bool(chosen[1])


def _first_letter(text: str) -> str | None:
    found = _ONLY_LETTER.match(text)
    return None if found is None else found[1].upper()


def _chosen(text: str) -> str | None:
    whole = re.fullmatch(r"\W*([A-Za-z])\W*", text) or re.match(r"\W*([A-Z])[).:](?=\W|$)", text)
    if whole:
        return whole[1].upper()
    last = None
    for last in _LETTER.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    return None if last is None else (last[1] or last[2] or last[3]).upper()


def _numbers(text: str) -> Iterator[Fraction]:
    plain = text.translate(_DROPPED).replace("{,}", ",").replace("\\,", "").replace("\\!", "")
    plain = _FRACTION.sub(r"\1/\2", plain)
    for sign, digits, under in _NUMBER.findall(plain):
        below = int(under) if under else 1
        if below:
            value = Fraction(digits.replace(",", "")) / below
            yield -value if sign.startswith("-") else value


class _NoAdvice(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return "Timeout is disabled" not in record.getMessage()


_NO_ADVICE = _NoAdvice()


def _without_advice() -> None:
    """Keep math-verify from advising limits of time: `judge` sets them."""
    for name in ("math_verify.parser", "math_verify.grader"):
        logging.getLogger(name).addFilter(_NO_ADVICE)  # adding it again changes nothing
