"""Dumps with log-probabilities are coloured with no model at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, MissingSignalError
from tests import tiny, wire

CASES = Path(__file__).parents[1] / "cases" / "readers"


def read(name):
    return opd.read_rollouts(CASES / name)


def test_student_and_teacher_of_a_slime_dump():
    scores = opd.scores_from_tracks(read("slime_samples.json"))
    advantage = scores.signal("advantage", 0, "teacher")
    np.testing.assert_allclose(advantage, [0.1, np.nan, np.nan, -1.5, -0.01], atol=1e-6)
    assert "reverse_kl" not in scores.items[0].teachers["teacher"].signals


def test_token_strings_are_shown_and_the_explorer_says_what_is_missing():
    explorer = opd.Explorer(read("html_in_tokens.jsonl"))
    sent = explorer.get_state()["scores"]
    meta = sent["meta"]
    assert wire.cells(sent, 0).texts[0] == "<img src=x onerror=alert(1)>"
    rows = {row["name"]: row for row in meta["signals"]}
    assert rows["advantage"]["available"]
    assert "not measured here" in rows["reverse_kl"]["reason"]
    assert meta["top_k"] == 0
    assert explorer.job["state"] == "none"


def test_a_dump_with_the_students_track_alone():
    scores = opd.scores_from_tracks(read("open_instruct_rollouts.jsonl"))
    assert scores.teachers == {}
    np.testing.assert_allclose(scores.signal("student_surprisal", 0), [0.2, 0.9, 0.0], atol=1e-6)
    assert scores.pieces[20].data == b"[20]"
    assert opd.Explorer(scores).get_state()["scores"]["meta"]["rollouts"][0]["label"] is not None


def test_ids_are_shown_as_text_with_a_tokenizer():
    scores = opd.scores_from_tracks(read("open_instruct_rollouts.jsonl"), tokenizer=tiny.model(0).tokenizer)
    assert scores.pieces[20] == tiny.model(0).tokenizer.piece(20)


def test_unlike_tracks_warn_and_name_both():
    tracks = {
        name: opd.LogprobTrack(np.array([-1.0]), provenance=opd.Provenance(engine=engine))
        for name, engine in (("student", "vllm"), ("teacher", "transformers"))
    }
    rollout = opd.Rollout(id="r", response_ids=[3], tracks=tracks)
    with pytest.warns(UserWarning, match="engine vllm against transformers"):
        assert opd.scores_from_tracks([rollout]).notes


def test_nothing_to_colour_says_what_to_do():
    bare = opd.Rollout(id="r", prompt_ids=[1], response_ids=[3])
    with pytest.raises(MissingSignalError, match="no rollout has a track 'student'"):
        opd.scores_from_tracks([bare])
    with pytest.raises(InvalidInputError, match="rollouts alone"):
        opd.Explorer([bare])
    with pytest.raises(InvalidInputError, match="empty list"):
        opd.scores_from_tracks([])


def test_no_torch_is_loaded_for_it():
    code = (
        "import sys, opd_widgets as opd; "
        f"opd.Explorer(opd.read_rollouts({str(CASES / 'slime_samples.json')!r})).get_state(); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
