"""A tool's output between the student's turns: shown, scored, and in no aggregate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opd_widgets as opd
from opd_widgets.errors import ReadError
from opd_widgets.scoring.report import Report
from opd_widgets.scoring.summary import summarise
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import read, scored

MASK = np.array([True, True, False, False, False, True, True])
ALONG = ("reward_to_go", "discounted_advantage", "position_weighted")


def rollout(teacher, student=None, mask=MASK, **fields):
    student = np.full(len(mask), -1.0) if student is None else student
    tracks = {"student": opd.LogprobTrack(np.float32(student)), "teacher": opd.LogprobTrack(np.float32(teacher))}
    ids = list(range(len(mask)))
    return opd.Rollout(
        id="r", prompt_ids=[1], response_ids=ids, response_mask=mask, tracks=tracks, outcome="correct", **fields
    )


def aggregates(scores):
    """Every number over tokens that Python makes of scores, but for the masked tokens' own."""
    report = Report.of(scores, Path(), 0.0)
    rows = wire_scores(scores)["meta"]["signals"]
    counted = [r.counted for r in scores.rollouts]
    return {
        "summary": summarise(scores).to_dict("records"),
        "report": report.to_dict()["teachers"],
        "scales": [(row["name"], row["limit"], row["below"], row["above"]) for row in rows],
        **{name: scores.signal(name, 0)[counted[0]].tolist() for name in ALONG},
    }


@pytest.mark.parametrize("tool", [-60.0, -np.inf, np.nan, 0.0])
def test_fault_39_a_huge_advantage_of_a_tool_is_in_no_aggregate(tool):
    """trl#5224, verl#6719, #3960, ms-swift#10012, NVIDIA-NeMo/Gym#1416: tool output counted as the model's."""
    plain, loud = np.full(7, -2.0), np.full(7, -2.0)
    loud[~MASK] = tool
    one, two = (opd.scores_from_tracks([rollout(values)]) for values in (plain, loud))
    np.testing.assert_equal(aggregates(one), aggregates(two))
    (row,) = summarise(two).to_dict("records")
    assert row["correct"] == pytest.approx(-1.0)
    np.testing.assert_array_equal(two.signal("advantage", 0)[~MASK], np.float32(loud[~MASK] + 1))  # shown all the same


VALUE = st.one_of(st.floats(-60, 0, width=32), st.sampled_from([np.nan, -np.inf, 0.0]))


@given(st.data(), st.lists(st.booleans(), min_size=1, max_size=8))
def test_fault_39_no_masked_value_changes_any_aggregate(data, mask):
    mask = np.array(mask)
    size = len(mask)
    student, teacher, other_s, other_t = (
        np.array(data.draw(st.lists(VALUE, min_size=size, max_size=size)), np.float32) for _ in range(4)
    )
    one = rollout(teacher, student, mask)
    two = rollout(np.where(mask, teacher, other_t), np.where(mask, student, other_s), mask)
    np.testing.assert_equal(aggregates(opd.scores_from_tracks([one])), aggregates(opd.scores_from_tracks([two])))


def test_fault_39_scored_by_models_the_tool_is_context_and_does_not_count():
    ids = [9, 12, 40, 41, 42, 13, 1]
    made = opd.Rollout(id="r", prompt_ids=[3, 4], response_ids=ids, response_mask=MASK, outcome="correct")
    whole = opd.Rollout(id="r", prompt_ids=[3, 4], response_ids=ids, outcome="correct")
    teachers = {"t": opd.Teacher(tiny.model(1))}
    masked, plain = (scored([r], tiny.model(0), teachers) for r in (made, whole))
    np.testing.assert_allclose(masked.signal("advantage", 0), plain.signal("advantage", 0))  # the same context
    (row,) = summarise(masked).to_dict("records")
    assert row["correct"] == pytest.approx(float(masked.signal("advantage", 0)[MASK].mean(dtype=np.float64)), rel=1e-6)
    assert np.frombuffer(wire_scores(masked)["mask"], np.uint8).tolist() == MASK.astype(int).tolist()


TOOL = [1, 1, 0, 0, 1]
IDS = [20, 21, 30, 31, 22]
DUMPS: dict[str, dict[str, Any]] = {
    "slime": {"tokens": [10, *IDS], "response_length": 5, "loss_mask": TOOL, "rollout_log_probs": [-1, -1, 0, 0, -1]},
    "nemo_rl": {
        "content": [["q", "a"]], "rewards": [1.0], "input_lengths": [6], "token_ids": [[10, *IDS]],
        "token_loss_mask": [[0, *TOOL]], "generation_logprobs": [[0, -1, -1, 0, 0, -1]],
    },
    "prime_rl": {
        "schema_version": 1, "token_ids": [10, *IDS], "loss_mask": [False, *map(bool, TOOL)],
        "inference_logprobs": [0, -1, -1, 0, 0, -1],
    },
    "verifiers": {
        "nodes": [
            {"parent": None, "message": {"role": "user", "content": "q"}, "sampled": False, "token_ids": [10]},
            {"parent": 0, "message": {"role": "assistant", "content": "a"}, "sampled": True, "token_ids": IDS[:2],
             "logprobs": [-1, -1]},
            {"parent": 1, "message": {"role": "tool", "content": "t"}, "sampled": False, "token_ids": IDS[2:4]},
            {"parent": 2, "message": {"role": "assistant", "content": "b"}, "sampled": True, "token_ids": IDS[4:],
             "logprobs": [-1]},
        ],
        "rewards": {},
    },
}  # fmt: skip


@pytest.mark.parametrize("format_", sorted(DUMPS))
def test_fault_39_readers_leave_a_tools_tokens_out_and_their_placeholders(tmp_path, format_):
    (made,) = read(tmp_path, DUMPS[format_])
    assert made.response_mask.tolist() == list(map(bool, TOOL))
    np.testing.assert_array_equal(made.tracks["student"].logprobs, np.float32([-1, -1, np.nan, np.nan, -1]))


@pytest.mark.parametrize("format_", ["slime", "nemo_rl", "prime_rl"])
@pytest.mark.parametrize("value", ["0", 0.5, None, 2])
def test_fault_39_a_mask_that_says_neither_yes_nor_no_is_refused(tmp_path, format_, value):
    """bool("0") is True: a tool's token would count as the student's."""
    name = {"slime": "loss_mask", "nemo_rl": "token_loss_mask", "prime_rl": "loss_mask"}[format_]
    record = {**DUMPS[format_]}
    mask = [*TOOL] if format_ == "slime" else [0, *TOOL]
    mask[-2] = value
    record[name] = [mask] if format_ == "nemo_rl" else mask
    with pytest.raises(ReadError, match=rf"value {len(mask) - 2} of {name}, expected 0 or 1"):
        read(tmp_path, record)
