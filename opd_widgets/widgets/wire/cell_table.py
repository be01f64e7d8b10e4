"""Every rollout's cells by number: a text that stands in a run ten thousand times is sent once.

The front end's half is `js/src/model/packed_cells.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opd_widgets.data.scores import response_pieces
from opd_widgets.data.tokens import first_cell
from opd_widgets.widgets.wire.buffers import in_place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from opd_widgets.data.piece import Piece
    from opd_widgets.data.rollout import Rollout

_PART = -1  # a token that holds a part of a character: how it looks depends on its neighbours
_UNKNOWN = -2  # an id that no piece is known of: the rollout's own strings say it
_LONGEST = 4  # tokens that one character can take


class NumberedCells(NamedTuple):
    """The cells of one rollout.

    Args:
        numbers: int32 [cells], how each looks.
        joined: cell, tokens, cell, tokens, ... of the cells that cover several tokens.

    """

    numbers: NDArray[np.int32]
    joined: list[int]


class CellTable:
    """Numbers the looks of cells, text and kind, and keeps rollouts' cells by these numbers.

    Args:
        pieces: what the token ids of the run stand for.

    """

    def __init__(self, pieces: Mapping[int, Piece]) -> None:
        self._pieces = pieces
        self._numbers: dict[tuple[str, str], int] = {}
        self._looks: list[tuple[str, str]] = []
        self._by_piece: dict[Piece, int] = {}
        self._by_id: dict[int, int] = {}
        self._parts: list[NDArray[np.int32]] = []
        self._count = 0

    def cells(self, rollout: Rollout) -> NumberedCells:
        """Return the cells of a response: those of `display_cells`, by number."""
        ids = rollout.response_ids
        if ids is not None:
            each, where = np.unique(ids, return_inverse=True)
            known = [self._of_id(token) for token in each.tolist()]
            if _UNKNOWN not in known:
                alone = np.array(known, np.int32)[where.reshape(-1)]
                return self._joined(alone, lambda: response_pieces(rollout, self._pieces))
        pieces = response_pieces(rollout, self._pieces)
        return self._joined(np.array([self._of_piece(piece) for piece in pieces], np.int32), lambda: pieces)

    def keep(self, cells: NumberedCells) -> dict[str, Any]:
        """Keep a rollout's cells and return where they lie in the buffer."""
        place = {"at": self._count, "count": len(cells.numbers), "joined": cells.joined}
        self._parts.append(cells.numbers)
        self._count += len(cells.numbers)
        return place

    def beginning(self, cells: NumberedCells, characters: int) -> list[tuple[str, str]]:
        """Return text and kind of the first cells, as many as it takes to have so many characters."""
        found, length = [], 0
        for number in cells.numbers[:characters].tolist():  # a cell has a character at least
            found.append(self._looks[number])
            length += len(found[-1][0])
            if length >= characters:
                break
        return found

    def looks(self) -> dict[str, Any]:
        """Return text and kind by number."""
        return {"texts": [text for text, _ in self._looks], "kinds": "".join(kind for _, kind in self._looks)}

    def buffer(self) -> memoryview:
        """Return the cells kept, one number each: uint16 where all numbers fit, uint32 where not."""
        width = "<u2" if len(self._looks) <= 1 << 16 else "<u4"
        return in_place(np.concatenate([np.zeros(0, np.int32), *self._parts]).astype(width))

    def _number(self, look: tuple[str, str]) -> int:
        number = self._numbers.setdefault(look, len(self._looks))
        if number == len(self._looks):
            self._looks.append(look)
        return number

    def _of_id(self, token: int) -> int:
        number = self._by_id.get(token)
        if number is None:
            piece = self._pieces.get(token)
            number = _UNKNOWN if piece is None else self._of_piece(piece)
            self._by_id[token] = number
        return number

    def _of_piece(self, piece: Piece) -> int:
        number = self._by_piece.get(piece)
        if number is None:
            number = _PART
            if piece.special or _is_text(piece.data):
                cell = first_cell([piece])
                number = self._number((cell.text, cell.kind))
            self._by_piece[piece] = number
        return number

    def _joined(self, alone: NDArray[np.int32], pieces: Callable[[], Sequence[Piece]]) -> NumberedCells:
        """Join the tokens that carry one character between them; text of its own always stands alone."""
        parts = np.flatnonzero(alone == _PART).tolist()
        if not parts:
            return NumberedCells(alone, [])
        every = pieces()
        numbers, first, stop = alone.copy(), np.ones(len(alone), bool), 0
        several: list[tuple[int, int]] = []
        for start in parts:
            if start < stop:
                continue
            cell = first_cell(every[start : start + _LONGEST])
            stop = start + cell.stop
            numbers[start] = self._number((cell.text, cell.kind))
            if cell.stop > 1:
                first[start + 1 : stop] = False
                several.append((start, cell.stop))
        of_token = np.cumsum(first) - 1
        return NumberedCells(numbers[first], [n for token, count in several for n in (int(of_token[token]), count)])


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
