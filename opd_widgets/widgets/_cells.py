"""Display cells and prompts in the shape the front end takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opd_widgets.data.piece import Piece
from opd_widgets.data.tokens import SPECIAL, Cell, display_cells
from opd_widgets.data.visible import visible_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNKNOWN = Piece(b"\xff")
LABEL = 160  # characters of a label


def cells_of(pieces: Sequence[Piece]) -> dict[str, Any]:
    """Return the wire form of the cells of some tokens."""
    return _wire(display_cells(pieces))


def _wire(cells: Sequence[Cell]) -> dict[str, Any]:
    return {
        "starts": [cell.start for cell in cells],
        "texts": [cell.text for cell in cells],
        "kinds": "".join(cell.kind for cell in cells),
    }


def label(pieces: Sequence[Piece]) -> str:
    """Return a response in short: one line, with a space where a special token stood."""
    return one_line("".join(" " if cell.kind == SPECIAL else cell.text for cell in display_cells(pieces)))


def one_line(text: str) -> str:
    """Return a text in short, on one line, cut with an ellipsis: a name for the text, not the text itself."""
    words = " ".join(visible_text(text[: 4 * LABEL]).split())
    return words if len(words) <= LABEL else words[: LABEL - 1] + "…"


class PromptTable:
    """Prompts by index: rollouts of one question share theirs."""

    def __init__(self, pieces: Mapping[int, Piece]) -> None:
        self._pieces = pieces
        self._index: dict[tuple[bytes, bytes], int] = {}
        self.rows: list[dict[str, Any]] = []

    def add(self, ids: NDArray[np.int32], student: NDArray[np.int32]) -> int:
        """Return the index of a prompt, seen against the student's."""
        key = (ids.tobytes(), student.tobytes())
        if key not in self._index:
            self._index[key] = len(self.rows)
            self.rows.append(self.row(ids, student))
        return self._index[key]

    def row(self, ids: NDArray[np.int32], student: NDArray[np.int32]) -> dict[str, Any]:
        """Return one prompt's wire form, with the cells the student's prompt does not have."""
        mine, theirs = self._cells(ids), self._cells(student)
        return {"cells": _wire(mine), "tokens": len(ids), "differs": _difference(mine, theirs)}

    def _cells(self, ids: NDArray[np.int32]) -> list[Cell]:
        return display_cells([self._pieces.get(int(token), _UNKNOWN) for token in ids])


def _difference(mine: Sequence[Cell], theirs: Sequence[Cell]) -> list[int] | None:
    """Return the stretch of `mine` left between the longest common beginning and end; None where nothing is left."""
    a, b = [cell.text for cell in mine], [cell.text for cell in theirs]
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    return [start, len(a) - end] if len(a) - end > start else None
