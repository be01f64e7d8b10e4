"""Whether a text holds an answer: what tells a hint from a context that gives the answer away.

A statement about the text and no more. An answer written otherwise than as text, a number or a fraction ("seven", a
paraphrase, an equal expression) is not found; a short answer that stands in the text for another reason (a "no", a 3
among the givens) is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

_BOXED = re.compile(r"\\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_THIN_SPACE = re.compile(r"\\[,;:! ]|~")
_MARKS = re.compile(r"\\?\$|\\[()\[\]]|\*\*|\\(?=%)|\\left|\\right")
_ALIKE = str.maketrans({"−": "-", "–": "-", "⁄": "/", "’": "'", **{chr(0xFF10 + d): str(d) for d in range(10)}})
_NUMBER_TEXT = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    r"(?P<sign>[-+]?)(?P<gap>\s*)(?<![A-Za-z_\d.])(?<!\d,)"  # not the end of a name or of a longer number
    rf"(?P<size>{_NUMBER_TEXT})(?:e(?P<power>[-+]?\d+)(?!\w))?"
    r"(?!\d|,\d{3}|\.\d|(?:st|nd|rd|th)\b)",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(rf"[-+]?(?:{_NUMBER_TEXT})(?:e[-+]?\d+)?", re.IGNORECASE)
_RATIO = re.compile(r"[-+]?\d+/\d+")
_SPACES_AT_SIGNS = re.compile(r"\s*([^\w\s])\s*")
_OPERAND, _FIGURE = re.compile(r"[\w)\]}]$"), re.compile(r"[\d)\]}]$")  # a minus behind them subtracts; 5 -3 may do
_LOOK_BACK = 16  # characters
_LARGEST_POWER = 400  # of ten; beyond a float's, and short of what would take long to write out
# Scripts that put no space between words, or let particles follow a word without one: any place is a word's edge.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]")


def leaks(text: str, answer: str | None) -> bool | None:
    r"""Return whether a text holds an answer; None where the answer is not known.

    A number is compared by its value and found only where it stands by itself: 7 is in "it is 7." and in
    ``\boxed{7.0}``, not in "17", "7.5", "7th" or "x7". A minus between two operands subtracts: "3-36" holds 36, and
    "= -36" holds -36. A single letter is a choice: B is in "(B)" and in "it is B", not in "Bob" or "b"; A and I count
    only where they do not begin a phrase. Anything else is compared without regard to case, white space and LaTeX's
    wrappers, from word edge to word edge.

    Args:
        text: what is searched.
        answer: what the question's verifier compares with; None or blank is not known.

    """
    if answer is None or not answer.strip():
        return None
    plain, sought = _plain(text), _plain(answer).strip()
    if _WHOLE_NUMBER.fullmatch(sought):
        return _value(sought) in _numbers(plain)
    if len(sought.strip("().")) == 1 and sought.strip("().").isalpha() and sought.isascii():
        return _has_choice(plain, sought.strip("()."))
    return _has_words(plain, sought)


def _plain(text: str) -> str:
    """Return a text without LaTeX's wrappers, its signs and digits in one form, single spaces."""
    text = text.translate(_ALIKE).replace("{,}", ",")
    text = _THIN_SPACE.sub(" ", text)
    for _ in range(4):  # \boxed{\text{...}}, a fraction inside a box
        text = _FRACTION.sub(r"\1/\2", text)
        text = _BOXED.sub(r" \1 ", text)
    return " ".join(_MARKS.sub("", text).split())


def _numbers(text: str) -> Iterator[Decimal]:
    """Yield every number that stands by itself, by each way its sign may be read."""
    for found in _NUMBER.finditer(text):
        size = _value(found["size"] + (f"e{found['power']}" if found["power"] else ""))
        if found["sign"] != "-":
            yield size
            continue
        before = text[max(0, found.start() - _LOOK_BACK) : found.start()]
        apart = before.rstrip()
        operand = apart == before and bool(_OPERAND.search(apart))
        if not operand and not found["gap"]:
            yield -size
        if operand or found["gap"] or (apart != before and _FIGURE.search(apart)):
            yield size


def _value(text: str) -> Decimal:
    size, _, power = text.lower().replace(",", "").partition("e")
    exponent = int(power) if power and len(power) < 6 else 0
    return Decimal(size).scaleb(max(-_LARGEST_POWER, min(_LARGEST_POWER, exponent)))


def _has_choice(text: str, letter: str) -> bool:
    upper = letter.upper()
    alone = rf"(?<![\w'\\]){upper}(?![\w'])"
    if upper in "AI":  # "A train leaves ...", "I see"
        alone += r"(?!\s+[a-z])"
    patterns = [alone, rf"\(\s*(?:{upper}|{upper.lower()})\s*\)"]
    if letter.islower() and letter != "a":
        patterns.append(rf"(?<![\w'\\]){letter}(?![\w'])")
    return any(re.search(pattern, text) for pattern in patterns)


def _has_words(text: str, answer: str) -> bool:
    text, answer = _squeezed(text), _squeezed(answer)
    if not answer:
        return False
    start = "" if _UNSPACED.match(answer[0]) or not re.match(r"\w", answer[0]) else r"(?<!\w)"
    end = "" if _UNSPACED.match(answer[-1]) or not re.match(r"\w", answer[-1]) else r"(?!\w)"
    if answer[0].isdigit():
        start += r"(?<!\d[.,/])"
    if answer[-1].isdigit():
        end += r"(?![.,/]\d)"
    if _RATIO.fullmatch(answer) and answer[0].isdigit():
        start += r"(?<![^\w)]-)(?<!^-)"  # a sign belongs to the fraction, a minus between operands does not
    return re.search(start + re.escape(answer) + end, text) is not None


def _squeezed(text: str) -> str:
    """Return a text in one case, single spaces between words and none at signs."""
    text = _SPACES_AT_SIGNS.sub(r"\1", text.casefold())
    return " ".join(text.replace("{", "").replace("}", "").split()).strip(".")
