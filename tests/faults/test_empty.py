"""Responses of no token, rows in which none counts: 0 / 0."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.scoring.report import Report
from opd_widgets.scoring.summary import summarise
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import dumps, read

TEXTS = {
    "trl": {"prompt": "q", "completion": "", "step": 1, "advantage": 0.0},
    "verl": {"input": "q", "output": "", "score": 0.0, "step": 1},
    "skyrl": {"input_prompt": "q", "output_response": "", "score": 0.0},
    "opsd": {"step": 1, "num_samples": 1, "generations": [{"prompt": "q", "completion": ""}]},
    "ms_swift": {"gen_step": 1, "prompt": "q", "completion": "", "reward": 0.0},
    "chat": {"prompt": "q", "completion": ""},
    "messages": {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": None}]},
    "lm_eval": {"doc_id": 0, "resps": [[""]], "arguments": [["q", {"until": []}]], "filter": "none", "metrics": []},
}


def empty_and_masked():
    return [
        opd.Rollout(id="empty", prompt_ids=[3, 4], response_ids=[], outcome="correct"),
        opd.Rollout(
            id="masked", prompt_ids=[3, 4], response_ids=[9, 10], response_mask=[False, False], outcome="incorrect"
        ),
    ]


@pytest.mark.parametrize("pick", [[0], [1], [0, 1]], ids=["empty", "all masked", "both"])
def test_fault_28_aggregates_of_nothing_are_none_and_all_renders(pick, tmp_path):
    """trl#3339, LMOps#38: an empty or all-masked row divides by zero."""
    rollouts = [empty_and_masked()[index] for index in pick]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no mean of an empty slice, no division by zero
        scores = opd.score(rollouts, tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, progress=False)
        report = Report.of(scores, tmp_path, 0.0).to_dict()
        wire = wire_scores(scores)
        opd.Explorer(scores)
    (teacher,) = report["teachers"]
    assert (teacher["all"], teacher["correct"], teacher["incorrect"]) == (None, None, None)
    assert "–" in Report.of(scores, tmp_path, 0.0).to_text()
    assert len(wire["meta"]["rollouts"]) == len(pick)
    json.dumps(wire["meta"], allow_nan=False)
    assert all(np.isfinite(row["limit"]) and row["limit"] > 0 for row in wire["meta"]["signals"])
    assert (
        opd.load(scores.save(tmp_path / "run")).items[0].student.logprobs.shape
        == scores.items[0].student.logprobs.shape
    )


def test_fault_28_an_empty_row_among_others_changes_nothing_for_them():
    full = opd.Rollout(id="full", prompt_ids=[3, 4], response_ids=[9, 10, 11], outcome="correct")
    teachers = {"t": opd.Teacher(tiny.model(1))}
    alone = opd.score([full], tiny.model(0), teachers, progress=False)
    among = opd.score([*empty_and_masked(), full], tiny.model(0), teachers, progress=False)
    np.testing.assert_allclose(among.signal("advantage", 2), alone.signal("advantage", 0), atol=1e-5)
    np.testing.assert_allclose(summarise(among)["correct"], summarise(alone)["correct"], atol=1e-5)


@pytest.mark.parametrize("format_", sorted(dumps([])))
def test_fault_28_an_empty_response_with_log_probabilities_is_read(tmp_path, format_):
    (rollout,) = read(tmp_path, dumps([])[format_])
    made = opd.score([rollout], tiny.model(0), {}, progress=False) if rollout.prompt_ids is not None else None
    assert len(rollout.responses) <= 1
    assert not any(rollout.responses)
    assert made is None or len(made.items[0].student) == 0


@pytest.mark.parametrize("format_", sorted(TEXTS))
def test_fault_28_an_empty_response_of_text_is_read_and_scored(tmp_path, format_):
    (rollout,) = read(tmp_path, TEXTS[format_], format=format_)
    scores = opd.score([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, progress=False)
    assert len(scores.rollouts[0]) == 0
    assert len(scores.to_pandas()) == 0


def test_fault_28_tracks_of_an_empty_response():
    track = opd.LogprobTrack(np.zeros(0, np.float32))
    rollout = opd.Rollout(id="e", prompt_ids=[1], response_ids=[], tracks={"student": track, "teacher": track})
    scores = opd.scores_from_tracks([rollout])
    for values in scores.items[0].teachers["teacher"].signals.values():
        assert values.shape == (0,)
    (row,) = summarise(scores).to_dict("records")
    assert np.isnan(row["correct"])
