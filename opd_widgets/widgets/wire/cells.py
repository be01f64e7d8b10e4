"""Display cells and prompts in the shape the front end takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from opd_widgets.data.piece import Piece
from opd_widgets.data.tokens import Cell, display_cells
from opd_widgets.data.visible import visible_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opd_widgets.data.scored import TeacherScores

_UNKNOWN = Piece(b"\xff")
LABEL = 160  # characters of a label
LABEL_READS = 4 * LABEL  # of the text it is a name for


def _wire(cells: Sequence[Cell]) -> dict[str, Any]:
    return {
        "starts": [cell.start for cell in cells],
        "texts": [cell.text for cell in cells],
        "kinds": "".join(cell.kind for cell in cells),
    }


def one_line(text: str) -> str:
    """Return a text in short, on one line, cut with an ellipsis: a name for the text, not the text itself."""
    words = " ".join(visible_text(text[:LABEL_READS]).split())
    return words if len(words) <= LABEL else words[: LABEL - 1] + "…"


class PromptTable:
    """Prompts by index: rollouts of one question share theirs."""

    def __init__(self, pieces: Mapping[int, Piece]) -> None:
        self._pieces = pieces
        self._index: dict[tuple[bytes, ...], int] = {}
        self.rows: list[dict[str, Any]] = []

    def add(self, ids: NDArray[np.int32], student: NDArray[np.int32]) -> int:
        """Return the index of a prompt, seen against the student's."""
        return self._add((ids.tobytes(), student.tobytes()), lambda: self.row(ids, student))

    def add_of(self, scored: TeacherScores, student: NDArray[np.int32]) -> int:
        """Return the index of a teacher's prompt, seen against the student's."""
        if scored.own is None:
            return self.add(scored.prompt_ids, student)
        spelled = (scored.own.pieces[int(token)].data for token in scored.prompt_ids)
        return self._add((b"own", str(scored.context).encode(), *spelled), lambda: self.row_of(scored, student))

    def _add(self, key: tuple[bytes, ...], make: Callable[[], dict[str, Any]]) -> int:
        if key not in self._index:
            self._index[key] = len(self.rows)
            self.rows.append(make())
        return self._index[key]

    def row(self, ids: NDArray[np.int32], student: NDArray[np.int32]) -> dict[str, Any]:
        """Return one prompt's wire form, with the cells the student's prompt does not have."""
        mine, theirs = self._cells(ids), self._cells(student)
        return {"cells": _wire(mine), "tokens": len(ids), "differs": _difference(mine, theirs)}

    def row_of(self, scored: TeacherScores, student: NDArray[np.int32]) -> dict[str, Any]:
        """Return the wire form of a teacher's prompt.

        One of another tokenizer is cut in other places and has a template of its own all through: of it, the cells of
        the context are those that the student's prompt does not have.
        """
        if scored.own is None:
            return self.row(scored.prompt_ids, student)
        mine = display_cells([scored.own.pieces.get(int(token), _UNKNOWN) for token in scored.prompt_ids])
        return {
            "cells": _wire(mine),
            "tokens": len(scored.prompt_ids),
            "differs": _place_of(scored.context or "", mine),
        }

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


def _place_of(text: str, cells: Sequence[Cell]) -> list[int] | None:
    """Return the stretch of cells that hold a text; None where it is empty or not there as it is shown."""
    shown = visible_text(text)
    start = "".join(cell.text for cell in cells).rfind(shown)
    if not shown or start < 0:
        return None
    stops = list(accumulate(len(cell.text) for cell in cells))
    return [sum(stop <= start for stop in stops), 1 + sum(stop < start + len(shown) for stop in stops)]
