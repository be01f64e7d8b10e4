"""Display cells: every token shows, nothing hides, no cell is empty."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opd_widgets.data.byte_alphabet import byte_of_character, decode_byte_level
from opd_widgets.data.piece import Piece
from opd_widgets.data.tokens import display_cells

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"


def shown(*tokens: bytes) -> list[tuple[int, int, str, str]]:
    cells = display_cells([Piece(token) for token in tokens])
    return [(cell.start, cell.stop, cell.text, cell.kind) for cell in cells]


def test_bytes_of_one_character_share_a_cell():
    assert shown(b"It", b" \xf0\x9f", b"\x91", b"\x8d") == [(0, 1, "It", "t"), (1, 4, " 👍", "t")]


def test_korean_syllable_in_three_tokens():
    first, second, third = (bytes([byte]) for byte in "한".encode())
    assert shown(first, second, third) == [(0, 3, "한", "t")]


def test_bytes_that_are_no_text_stay_apart_and_do_not_swallow_what_follows():
    assert shown(b"\xe6", b"a") == [(0, 1, "⟨E6⟩", "b"), (1, 2, "a", "t")]


def test_a_text_that_ends_in_the_middle_of_a_character():
    assert shown(b"a", b"\xe6\x98") == [(0, 1, "a", "t"), (1, 2, "⟨E6 98⟩", "b")]


def test_special_token_between_bytes_stops_the_join():
    pieces = [Piece(b"\xe6\x98"), Piece(b"<eos>", special=True), Piece(b"\xaf")]
    assert [cell.text for cell in display_cells(pieces)] == ["⟨E6 98⟩", "<eos>", "⟨AF⟩"]


def test_white_space_keeps_its_characters_and_odd_kinds_get_a_mark():
    assert shown(b" ", b"   ", b"\t", b"\n", b".\n\n", "\u00a0\r".encode()) == [
        (0, 1, " ", "s"),
        (1, 2, "   ", "s"),
        (2, 3, "\t", "s"),
        (3, 4, "\n", "n"),
        (4, 5, ".\n\n", "n"),
        (5, 6, "␣␍", "s"),
    ]


def test_zero_width_tokens_get_a_mark():
    tokens = ["\u200d", "\ufe0f", "\u200b", "\ufeff", "\x00", "\u3164", ""]
    cells = display_cells([Piece.from_text(token) for token in tokens])
    assert [cell.kind for cell in cells] == ["c"] * len(tokens)
    assert [cell.text for cell in cells] == [
        "⟨U+200D⟩", "⟨U+FE0F⟩", "⟨U+200B⟩", "⟨U+FEFF⟩", "␀", "⟨U+3164⟩", "∅",
    ]  # fmt: skip


def test_a_combining_mark_by_itself_stands_on_a_circle():
    assert shown("\u0301".encode())[0][2] == "◌\u0301"


def test_lone_surrogate_does_not_break_anything():
    assert display_cells([Piece.from_text("\ud800")])[0].kind == "b"


@given(st.lists(st.binary(max_size=6), max_size=12))
def test_cells_cover_all_tokens_in_order_and_always_show_something(tokens):
    cells = display_cells([Piece(token) for token in tokens])
    assert [cell.start for cell in cells] == [0, *[cell.stop for cell in cells]][: len(cells)]
    assert (cells[-1].stop if cells else 0) == len(tokens)
    assert all(cell.text for cell in cells)


@given(st.text(alphabet=st.characters(), max_size=8))
def test_no_cell_carries_a_character_that_hides_or_reorders(text):
    for cell in display_cells([Piece.from_text(text)]):
        assert not set(cell.text) & set(BIDI)
        assert not any(
            unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} for char in cell.text if char not in "\t\n"
        )


@given(st.text(min_size=1, max_size=20), st.lists(st.integers(1, 40), max_size=6))
def test_text_cut_anywhere_into_byte_tokens_loses_nothing(text, cuts):
    data = text.encode("utf-8", "surrogatepass")
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [Piece(data[a:b]) for a, b in pairwise(edges)]
    cells = display_cells(pieces)
    assert b"".join(p.data for c in cells for p in pieces[c.start : c.stop]) == data


def test_byte_level_alphabet_is_a_bijection_on_bytes():
    table = byte_of_character()
    assert sorted(table.values()) == list(range(256))


@pytest.mark.parametrize(("token", "text"), [("Ġis", " is"), ("æĺ¯", "是"), ("Ċ", "\n")])
def test_byte_level_tokens_read_as_text(token, text):
    data = decode_byte_level(token)
    assert data is not None
    assert data.decode() == text


def test_a_token_outside_the_byte_level_alphabet_is_not_guessed():
    assert decode_byte_level("是") is None
