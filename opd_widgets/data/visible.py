"""Characters a reader cannot see, made visible and harmless.

A control character, a zero-width joiner or a bidi override in a rollout is data: it must show, take up room, and never
reorder or hide what stands around it.
"""

from __future__ import annotations

import unicodedata

_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")  # fillers that draw nothing
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_COMBINING = frozenset({"Mn", "Mc", "Me"})
_MARKS = {
    **{chr(code): chr(0x2400 + code) for code in range(0x20)},  # ␀ and its neighbours
    "\n": "\n",
    "\t": "\t",
    " ": " ",
    "\x7f": "␡",
}
DOTTED_CIRCLE = "\u25cc"  # what Unicode itself puts under a combining mark that stands alone


def visible_text(text: str) -> str:
    """Return `text` with every invisible character replaced by a mark.

    Space, tab and line break stay: a view draws a sign over them, so that copying gives the text back.
    """
    if text.isascii() and text.isprintable():  # the most of it, and nothing to do
        return text
    shown = "".join(_visible(char) for char in text)
    if text and _starts_combining(text):
        shown = DOTTED_CIRCLE + shown
    return shown


def _visible(char: str) -> str:
    code = ord(char)
    if char in _MARKS:
        return _MARKS[char]
    category = unicodedata.category(char)
    if category in _HIDDEN or char in _BLANK_LETTERS or _is_variation_selector(code):
        return f"⟨U+{code:04X}⟩"
    if category == "Zs":
        return "␣"
    return char


def is_hidden(char: str) -> bool:
    """Return whether a character draws nothing and is not plain white space."""
    return not char.isspace() and _visible(char) != char


def _starts_combining(text: str) -> bool:
    return unicodedata.category(text[0]) in _COMBINING and _visible(text[0]) == text[0]


def _is_variation_selector(code: int) -> bool:
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F
