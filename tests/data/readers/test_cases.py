"""Every case of expected.json, read the way a user reads it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.readers.registry import READERS
from opd_widgets.data.scores import response_pieces
from opd_widgets.data.tokens import display_cells
from opd_widgets.errors import ReadError

CASES = Path(__file__).parents[2] / "cases" / "readers"
EXPECTED = json.loads((CASES / "expected.json").read_text("utf-8"))
GOOD = sorted(name for name, expected in EXPECTED.items() if isinstance(expected, list))
BAD = sorted(set(EXPECTED) - set(GOOD))


def read(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return opd.read_rollouts(CASES / name)


def values(listed):
    return np.asarray([np.nan if value is None else float(value) for value in listed], np.float32)


def same_track(track, expected):
    np.testing.assert_array_equal(track.logprobs, values(expected))


CHECKS = {
    "prompt_ids": lambda r, want: r.prompt_ids.tolist() == want,
    "response_ids": lambda r, want: r.response_ids.tolist() == want,
    "ids": lambda r, want: r.token_ids.tolist() == want,
    "mask": lambda r, want: r.response_mask.tolist() == want,
    "student": lambda r, want: same_track(r.tracks["student"], want) is None,
    "teacher": lambda r, want: same_track(r.tracks["teacher"], want) is None,
    "logprob": lambda r, want: same_track(r.tracks["student"], want) is None,
    "rank": lambda r, want: r.tracks["student"].rank.tolist() == [rank or 0 for rank in want],
    "reward": lambda r, want: r.reward == want,
    "status": lambda r, want: r.status == want,
    "group": lambda r, want: r.group == want,
    "prompt": lambda r, want: r.prompt_text == want,
    "response": lambda r, want: r.response_text == want,
    "text": lambda r, want: r.response_text == want,
    "source": lambda r, want: r.text_source == want,
    "turns": lambda r, want: [turn.role for turn in r.turns] == want,
    "responses": lambda r, want: list(r.responses) == want,
    "tokens": lambda r, want: len(r.tokens) == want,
    "cells": lambda r, want: [cell.text.replace("␣", " ") for cell in cells(r)] == want,
    "cell_logprob": lambda r, want: cell_logprobs(r) == pytest.approx(want),
    "note": lambda _r, _want: True,
}


def cells(rollout):
    return display_cells(response_pieces(rollout, {}))


def cell_logprobs(rollout):
    track = rollout.tracks["student"].logprobs
    return [float(track[cell.start : cell.stop].sum()) for cell in cells(rollout)]


@pytest.mark.parametrize("name", GOOD)
def test_a_case_is_read_as_expected(name):
    rollouts = read(name)
    assert len(rollouts) == len(EXPECTED[name])
    for rollout, expected in zip(rollouts, EXPECTED[name], strict=True):
        for field, want in expected.items():
            assert CHECKS[field](rollout, want), field


@pytest.mark.parametrize("name", BAD)
def test_an_error_names_what_it_must(name):
    with pytest.raises(ReadError) as raised:
        opd.read_rollouts(CASES / name)
    assert EXPECTED[name]["error"] in str(raised.value)
    for part in EXPECTED[name]["must_contain"]:
        assert part in str(raised.value)


@pytest.mark.parametrize("name", sorted(set(GOOD) - {"verl_20.jsonl"}))
def test_one_reader_alone_claims_a_case(name):
    text = (CASES / name).read_text("utf-8")
    for line in text.splitlines() if name.endswith("l") else [text]:
        assert len([reader.NAME for reader in READERS if reader.matches(json.loads(line))]) == 1


def test_the_cut_line_of_a_dump_still_being_written_is_named():
    with pytest.warns(UserWarning, match=r"verl_20\.jsonl: 1 rollouts read, 1 lines not: line 2: "):
        opd.read_rollouts(CASES / "verl_20.jsonl")


def test_an_echoed_sentinel_is_minus_infinity_and_censored():
    (rollout,) = read("openai_completion_echo.json")
    assert rollout.tracks["student"].censored.tolist() == [False, False, True]


@pytest.mark.parametrize("name", GOOD)
def test_what_was_read_is_written_and_read_again(name, tmp_path):
    first = read(name)
    again = opd.read_rollouts(opd.write_rollouts(first, tmp_path / "again.jsonl"))
    for one, two in zip(first, again, strict=True):
        assert (one.tokens, one.token_bytes, one.reward, one.turns) == (
            two.tokens,
            two.token_bytes,
            two.reward,
            two.turns,
        )
        for name_, track in one.tracks.items():
            np.testing.assert_array_equal(track.logprobs, two.tracks[name_].logprobs)
