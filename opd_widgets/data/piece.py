"""What a token id stands for, without a tokenizer: its bytes, or a special token's name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """The bytes one token adds to the text.

    Args:
        data: UTF-8 bytes, possibly part of a character; a special token's name.
        special: True for a token that stands for itself and not for text (`<eos>`).

    """

    data: bytes
    special: bool = False

    @classmethod
    def from_text(cls, text: str, *, special: bool = False) -> Piece:
        """Make a piece from a token string; lone surrogates become bytes that decode to nothing."""
        return cls(text.encode("utf-8", "surrogatepass"), special=special)
