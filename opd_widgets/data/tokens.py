"""Tokens as a reader sees them: display cells.

A cell is one token, or the few tokens that carry one character's bytes between them. Every cell shows something; none
is of zero width; hidden characters and special tokens are named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opd_widgets.data.visible import is_hidden, visible_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from opd_widgets.data.piece import Piece

TEXT, SPACE, NEWLINE, CONTROL, SPECIAL, BYTES = "t", "s", "n", "c", "p", "b"
_LONGEST_CHARACTER = 4  # bytes of one UTF-8 character


@dataclass(frozen=True)
class Cell:
    """What to show for the tokens from `start` up to `stop`.

    Args:
        start, stop: the tokens covered, stop excluded.
        text: what to show, never empty; only space, tab and line break are left for the view to draw a sign over.
        kind: "t" text, "s" white space, "n" ends a line, "c" control or invisible, "p" special token,
            "b" bytes that are no text.

    """

    start: int
    stop: int
    text: str
    kind: str


def display_cells(pieces: Iterable[Piece]) -> list[Cell]:
    """Group tokens into cells, joining those that carry one UTF-8 character between them.

    Args:
        pieces: one a token, in order.

    Returns:
        Cells that cover all tokens in order, without gap or overlap.

    """
    return list(_cells(list(pieces)))


def first_cell(pieces: Iterable[Piece]) -> Cell:
    """Return the first of the cells that `display_cells` makes; it covers four tokens at most.

    Raises:
        StopIteration: there are no tokens.

    """
    return next(_cells(list(pieces)))


def _cells(pieces: list[Piece]) -> Iterator[Cell]:
    position = 0
    while position < len(pieces):
        if pieces[position].special:
            name = pieces[position].data.decode("utf-8", "replace")
            yield Cell(position, position + 1, visible_text(name) or "∅", SPECIAL)
            position += 1
            continue
        stop, data = _join(pieces, position)
        yield _cell(position, stop, data)
        position = stop


def _join(pieces: list[Piece], start: int) -> tuple[int, bytes]:
    """Return where the cell that starts here ends, and its bytes; a single token where joining makes no text."""
    data = b""
    for stop in range(start, min(len(pieces), start + _LONGEST_CHARACTER)):
        if pieces[stop].special:
            break
        data += pieces[stop].data
        if _decode(data) is not None:
            return stop + 1, data
        if not _may_continue(data):
            break
    return start + 1, pieces[start].data


def _decode(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _may_continue(data: bytes) -> bool:
    """Return whether more bytes could complete the text: what is wrong is only that it stops too early."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end == len(data) and error.reason == "unexpected end of data"
    return True


def _cell(start: int, stop: int, data: bytes) -> Cell:
    text = _decode(data)
    if text is None:
        return Cell(start, stop, _broken(data), BYTES)
    if not text:
        return Cell(start, stop, "∅", CONTROL)
    return Cell(start, stop, visible_text(text), _kind(text))


def _broken(data: bytes) -> str:
    """Show bytes that are no text: in hexadecimal, or as the text they hold with marks for the rest."""
    if data.decode("utf-8", "ignore"):
        return visible_text(data.decode("utf-8", "replace"))
    return "⟨" + " ".join(f"{byte:02X}" for byte in data) + "⟩"


def _kind(text: str) -> str:
    if text.endswith("\n"):
        return NEWLINE
    if text.isspace():
        return SPACE
    if all(is_hidden(char) or char.isspace() for char in text):
        return CONTROL
    return TEXT
