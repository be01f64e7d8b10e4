"""Minus infinity, its differences, and JSON, which has a word for neither."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import PhiConfig, PhiForCausalLM

import opd_widgets as opd
from opd_widgets.data.readers.own import from_record, to_record
from opd_widgets.errors import ReadError
from opd_widgets.scoring.report import Report
from opd_widgets.scoring.summary import summarise
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import FORMATS, dumps, read, scored

INF = float("inf")


def tracked(student, teacher, **fields):
    """A rollout with a student's and a teacher's track."""
    tracks = {name: opd.LogprobTrack(np.float32(v)) for name, v in (("student", student), ("teacher", teacher))}
    ids = list(range(len(student)))
    return opd.Rollout(**{"id": "r", "prompt_ids": [1], "response_ids": ids, "tracks": tracks, **fields})


def advantage(student, teacher):
    return opd.scores_from_tracks([tracked(student, teacher)]).signal("advantage", 0)


def floats(values):
    return [None if np.isnan(value) else float(value) for value in values]


def test_fault_26_minus_infinity_travels_and_stays_apart_from_missing_and_zero():
    """sglang#20323, #5984, #4097, slime#1790: out of range float values are not JSON compliant."""
    scores = opd.scores_from_tracks([tracked([-1.0, -INF, np.nan, 0.0, -1.0], [-INF, -INF, -1.0, 0.0, np.nan])])
    wire = wire_scores(scores)
    json.dumps(wire["meta"], allow_nan=False)
    planes = [(plane["signal"], plane["teacher"]) for plane in wire["meta"]["planes"]]
    values = np.frombuffer(wire["values"], "<f4").reshape(len(planes), -1)
    row = values[planes.index(("advantage", "teacher"))]
    np.testing.assert_array_equal(row, np.float32([-INF, np.nan, np.nan, 0, np.nan]))


@given(st.lists(st.one_of(st.floats(-50, 0, width=32), st.sampled_from([np.nan, -INF, 0.0])), max_size=8))
def test_fault_26_a_file_keeps_nan_minus_infinity_and_zero_apart(values):
    record = json.loads(json.dumps(to_record(tracked(values, values[::-1])), allow_nan=False))
    (back,) = from_record(record)
    for name, wanted in (("student", values), ("teacher", values[::-1])):
        np.testing.assert_array_equal(back.tracks[name].logprobs, np.float32(wanted))


def test_fault_26_a_run_on_disk_keeps_them_apart(tmp_path):
    scores = opd.scores_from_tracks([tracked([-1.0, -INF, np.nan, 0.0], [-INF, -INF, -1.0, 0.0])])
    back = opd.load(scores.save(tmp_path / "run"))
    np.testing.assert_array_equal(back.signal("advantage", 0), scores.signal("advantage", 0))
    np.testing.assert_array_equal(back.items[0].student.logprobs, scores.items[0].student.logprobs)


def test_fault_26_a_report_is_json_where_every_mean_is_of_nothing(tmp_path):
    scores = opd.scores_from_tracks([tracked([-1.0], [-INF], outcome="correct")])
    found = json.dumps(Report.of(scores, tmp_path, 0.0).to_dict(), allow_nan=False)
    assert json.loads(found)["teachers"] == [
        {"teacher": "teacher", "all": None, "correct": None, "incorrect": None, "infinite": 1, "undefined": 0}
    ]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("-Infinity", -INF),
        ('"-inf"', -INF),
        ("-9999.0", -INF),
        ("NaN", None),
        ("null", None),
        ("-0.0", 0.0),
        ("0", 0.0),
    ],
)
def test_fault_26_every_reader_takes_what_dumps_write_for_it(tmp_path, format_, written, meant):
    text = json.dumps(dumps([-0.5, -0.123, -0.25])[format_]).replace("-0.123", written)
    (rollout,) = read(tmp_path, json.loads(text))
    track = rollout.tracks["student"]
    assert floats(track.logprobs) == [-0.5, meant, -0.25]
    assert track.censored.tolist() == [False, written == "-9999.0", False]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("written", ["Infinity", "0.7", '"high"', "[]", "{}", "true", "false"])
def test_fault_26_what_is_no_log_probability_is_refused_and_its_line_named(tmp_path, format_, written):
    text = json.dumps(dumps([-0.5, -0.123, -0.25])[format_]).replace("-0.123", written)
    with pytest.raises(ReadError, match=r"line 1( sample 1)?: .*(above 0.*at token 1|expected a number)"):
        read(tmp_path, json.loads(text))


def test_fault_27_by_hand():
    """p-e-w/heretic#348, trl#5594: (-inf) - (-inf) poisoned a sum."""
    found = advantage([-1.0, -INF, -INF, -2.0], [-INF, -1.0, -INF, -1.0])
    assert floats(found) == [-INF, INF, None, 1.0]


def test_fault_27_undefined_is_in_no_mean_and_counted():
    rollouts = [
        tracked([-1.0, -INF, -2.0, -1.0], [-INF, -INF, -1.0, np.nan], outcome="correct"),
        tracked([-INF, -3.0], [-1.0, -1.0], id="u"),
    ]
    (row,) = summarise(opd.scores_from_tracks(rollouts)).to_dict("records")
    assert row["correct"] == pytest.approx(1.0)
    assert (row["infinite"], row["undefined"]) == (2, 1)


def test_fault_27_the_report_says_how_many(tmp_path):
    text = Report.of(opd.scores_from_tracks([tracked([-1.0, -INF], [-INF, -INF])]), tmp_path, 0.0).to_text()
    assert "(1 infinite values are in no mean)" in text
    assert "(1 undefined values are in no mean)" in text


def test_fault_27_signals_along_a_response_leave_it_out():
    """One undefined or infinite value must not decide all the others."""
    with_it = opd.scores_from_tracks([tracked([-1.0, -INF, -3.0, -1.0], [-2.0, -INF, -1.0, -INF])])
    without = opd.scores_from_tracks([tracked([-1.0, np.nan, -3.0, np.nan], [-2.0, np.nan, -1.0, np.nan])])
    for name in ("reward_to_go", "discounted_advantage", "position_weighted"):
        found, wanted = with_it.signal(name, 0), without.signal(name, 0)
        np.testing.assert_allclose(found[[0, 2]], wanted[[0, 2]], err_msg=name)
        assert np.isnan(found[1])


def suppressed(seed, tokens):
    """A real Phi whose head has a bias, at which generation suppresses tokens."""
    config = PhiConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=256, initializer_range=0.3,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = PhiForCausalLM(config).eval()
    with torch.no_grad():
        net.lm_head.bias[list(tokens)] = -1e9
    return opd.HFModel((net, tiny.tokenizer()), device="cpu", name=f"phi-{seed}")


def test_fault_27_a_token_suppressed_in_both_models():
    student, teacher = suppressed(0, {40, 41}), suppressed(1, {40, 42})
    rollout = opd.Rollout(id="r", prompt_ids=[3, 12], response_ids=[9, 40, 41, 42, 10])
    scores = scored([rollout], student, {"t": opd.Teacher(teacher)})
    found = floats(scores.signal("advantage", 0))
    assert found[1:4] == [None, INF, -INF]
    assert np.isfinite(scores.signal("advantage", 0)[[0, 4]]).all()
    for name in ("reverse_kl", "forward_kl", "jsd", "student_entropy", "teacher_entropy"):
        assert not np.isnan(scores.signal(name, 0)).any(), name
        assert (scores.signal(name, 0) >= 0).all(), name
    (row,) = summarise(scores).to_dict("records")
    assert (row["infinite"], row["undefined"]) == (2, 1)
