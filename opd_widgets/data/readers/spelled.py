"""The bytes of tokens that a dump holds as strings, put together by the text they make up.

A server's string of a token that is only part of a character is empty or U+FFFD; a dump of a tokenizer's own strings is
spelled in its alphabet, GPT-2's or SentencePiece's. The response's text tells what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from opd_widgets.data.byte_alphabet import decode_byte_level
from opd_widgets.errors import ReadError

PART = "\ufffd"  # stands for bytes that are no character by themselves
_SPACE_MARK = "\u2581"
_BYTE_TOKEN = re.compile("<0x[0-9A-F]{2}>")


def token_bytes(tokens: Sequence[str], text: object) -> tuple[bytes, ...] | None:
    """Return the bytes of each token; None where the strings say it themselves, or the text does not tell.

    Which of several tokens holds which byte of their character is not known: the first ones get one each.

    Args:
        tokens: one string a token.
        text: what they make up together; a closing special token may be missing from it. Anything else tells nothing.

    """
    if not isinstance(text, str) or not tokens or ("" not in tokens and "".join(tokens) == text):
        return None
    for spelled in (_byte_level(tokens), _sentencepiece(tokens, text)):
        if spelled is not None and _is_text(spelled, text):
            return tuple(spelled)
    joined = _Joined(text).of(tokens)
    return tuple(joined) if joined is not None and _is_text(joined, text) else None


def given_bytes(token: str, raw: object) -> bytes:
    """Return the bytes that a server lists for a token; those of its string where it lists none.

    Raises:
        ReadError: no list of bytes. A number would be taken for a length.

    """
    if raw is None:
        return token.encode("utf-8", "surrogatepass")
    if not isinstance(raw, list | tuple) or not all(type(byte) is int and 0 <= byte < 256 for byte in raw):
        msg = f"found {raw!r:.40} as the bytes of token {token!r:.40}, expected a list of numbers from 0 to 255"
        raise ReadError(msg)
    return bytes(raw)


def _is_text(data: Sequence[bytes], text: str) -> bool:
    """Return whether the bytes are the text's, with or without the last token."""
    whole = text.encode("utf-8", "surrogatepass")
    return whole in {b"".join(data), b"".join(data[:-1])}


def _byte_level(tokens: Sequence[str]) -> list[bytes] | None:
    decoded = [decode_byte_level(token) for token in tokens]
    known = [data for data in decoded if data is not None]
    return known if len(known) == len(decoded) else None


def _sentencepiece(tokens: Sequence[str], text: str) -> list[bytes] | None:
    if not any(_SPACE_MARK in token or _BYTE_TOKEN.fullmatch(token) for token in tokens):
        return None
    data = [
        bytes([int(token[3:5], 16)]) if _BYTE_TOKEN.fullmatch(token) else token.replace(_SPACE_MARK, " ").encode()
        for token in tokens
    ]
    if data[0].startswith(b" ") and not text.startswith(" "):
        data[0] = data[0][1:]  # the space that it puts before every text, and takes off again
    return data


class _Joined:
    """Walks along the text, and gives what lies between two known strings to the parts between them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._bytes: list[bytes] = []
        self._open: list[int] = []  # tokens whose bytes are still to be found

    def of(self, tokens: Sequence[str]) -> list[bytes] | None:
        """Return the bytes of the tokens; None where the text does not fit them."""
        self._bytes = [b""] * len(tokens)
        for number, token in enumerate(tokens):
            known = token.strip(PART)
            if PART in known or (known and not self._take(number, known, led=token.startswith(PART))):
                return None
            if not known or token.endswith(PART):
                self._open.append(number)
        self._give(self._text[self._place :])
        return self._bytes

    def _take(self, number: int, known: str, *, led: bool) -> bool:
        """Place a known string, and close what stood open before it; False where it is not in its place."""
        at = self._text.find(known, self._place)
        if at < 0:  # a special token that the text leaves out; nothing of the text may follow it
            between, self._place = self._text[self._place :], len(self._text)
            whole = bool(self._open) or not between
            self._give(between)
            self._bytes[number] = known.encode("utf-8", "surrogatepass")
            return whole
        between = self._text[self._place : at]
        if led:
            self._open.append(number)
        if between and not self._open:
            return False
        self._place = at + len(known)
        rest = known.encode("utf-8", "surrogatepass")
        if self._open and not between:  # only the last of a character's tokens has a string: the character
            size = len(known[0].encode("utf-8", "surrogatepass"))
            given = min(len(self._open), size - 1)
            for token, byte in zip(self._open[:given], rest[:given], strict=True):
                self._bytes[token] += bytes([byte])
            self._open, rest = [], rest[given:]
        else:
            self._give(between)
        self._bytes[number] += rest
        return True

    def _give(self, between: str) -> None:
        data = between.encode("utf-8", "surrogatepass")
        for place, token in enumerate(self._open):
            last = place == len(self._open) - 1
            self._bytes[token] += data[place:] if last else data[place : place + 1]
        self._open = []
