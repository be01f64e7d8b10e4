"""Ids of a diagnosis as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spelling:
    """What token ids stand for, as far as that is known.

    Args:
        pieces: text by token id.

    """

    pieces: Mapping[int, str] = field(default_factory=dict)

    def token(self, token: int) -> str:
        """Return a token's text; its id where the text is not known."""
        return self.pieces.get(token, str(token))

    def prefix(self, ids: Iterable[int]) -> str:
        """Return the text of ids; the ids with spaces between where that of one is not known."""
        every = list(ids)
        if all(token in self.pieces for token in every):
            return "".join(self.pieces[token] for token in every)
        return " ".join(map(str, every))
