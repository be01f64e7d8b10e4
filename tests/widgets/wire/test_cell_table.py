"""Cells by number: read back, they are the display cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.piece import Piece
from opd_widgets.data.scores import response_pieces
from opd_widgets.data.tokens import display_cells
from opd_widgets.widgets.wire.cell_table import CellTable
from tests import wire

# text, parts of 是 (E6 98 AF), nothing, a special token, a part of another character with text behind it
PIECES = [Piece(b"a"), Piece(b"\xe6"), Piece(b"\x98"), Piece(b"\xaf"), Piece(b""), Piece(b"<s>", special=True),
          Piece(b"\xafz")]  # fmt: skip


def read_back(rollouts, pieces):
    table = CellTable(pieces)
    rows = [{"cells": table.keep(table.cells(rollout))} for rollout in rollouts]
    return table, {"meta": {"looks": table.looks(), "rollouts": rows}, "cells": table.buffer()}


def same(sent, rollouts, pieces):
    for index, rollout in enumerate(rollouts):
        wanted = display_cells(response_pieces(rollout, pieces))
        found = wire.cells(sent, index)
        assert found.starts == [cell.start for cell in wanted]
        assert found.texts == [cell.text for cell in wanted]
        assert found.kinds == "".join(cell.kind for cell in wanted)


def test_all_sequences_of_four_tokens_are_cut_as_display_cells_cuts_them():
    pieces = dict(enumerate(PIECES))
    rollouts = [
        opd.Rollout(id=str(ids), prompt_ids=[], response_ids=ids)
        for ids in itertools.product(range(len(PIECES)), repeat=4)
    ]
    same(read_back(rollouts, pieces)[1], rollouts, pieces)


@pytest.mark.parametrize("known", [{}, {0: Piece(b"a")}])
def test_strings_say_what_ids_do_not(known):
    rollouts = [
        opd.Rollout(id="strings", prompt_ids=[], tokens=("x", "\n", "是"), response_text="x\n是"),
        opd.Rollout(id="both", prompt_ids=[], response_ids=[0, 9, 8], token_bytes=(b"b", b"\xe6\x98", b"\xaf")),
        opd.Rollout(id="neither", prompt_ids=[], response_ids=[0, 9]),
    ]
    same(read_back(rollouts, known)[1], rollouts, known)


def test_more_than_65536_looks_take_four_bytes():
    for count, width in ((65_536, 2), (65_537, 4)):
        pieces = {token: Piece(f"t{token}".encode()) for token in range(count)}
        rollout = opd.Rollout(id="r", prompt_ids=[], response_ids=np.arange(count))
        _, sent = read_back([rollout], pieces)
        assert len(sent["cells"]) == width * count
        assert wire.cells(sent, 0).texts[-1] == f"t{count - 1}"


def test_the_beginning_has_as_many_characters_as_asked_for():
    pieces = {0: Piece(b"ab"), 1: Piece(b"<s>", special=True)}
    rollout = opd.Rollout(id="r", prompt_ids=[], response_ids=[0, 1, 0, 0])
    table = CellTable(pieces)
    cells = table.cells(rollout)
    assert table.beginning(cells, 3) == [("ab", "t"), ("<s>", "p")]
    assert table.beginning(cells, 99) == [("ab", "t"), ("<s>", "p"), ("ab", "t"), ("ab", "t")]
