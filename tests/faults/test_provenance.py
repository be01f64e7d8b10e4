"""Numbers of two engines, temperatures or modes: never subtracted without a word."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from transformers import GenerationConfig

import opd_widgets as opd
from opd_widgets.widgets._traits import wire_scores
from tests import tiny
from tests.faults.made import FORMATS, at, dumps, hand_softmax, read, scored

PROMPT, RESPONSE = [3, 12, 4], [9, 40, 12, 11]


def engine_values(temperature=1.0, top_p=1.0, seed=0):
    """What an engine that scales and truncates would report for the same step, from the model's own logits."""
    rows = hand_softmax(tiny.qwen(seed), PROMPT, RESPONSE) / temperature
    rows -= np.log(np.exp(rows).sum(-1, keepdims=True))
    kept = []
    for row in rows:
        order = np.argsort(-row)
        before = np.cumsum(np.exp(row[order])) - np.exp(row[order])
        kept.append(np.exp(row[order][before < top_p]).sum())
    return at(rows, RESPONSE) - np.log(kept), np.log(kept)


def dumped(**tracks):
    made = {name: opd.LogprobTrack(np.float32(values), provenance=by) for name, (values, by) in tracks.items()}
    return opd.Rollout(id="r", prompt_ids=PROMPT, response_ids=RESPONSE, tracks=made)


def test_fault_32_a_loaded_track_stays_beside_the_rescored_one():
    """vllm#18352, transformers#31267, prime-rl#2438 and others: an engine's values are not the trainer's."""
    rng = np.random.default_rng(0)
    engine = engine_values()[0] + rng.normal(0, 0.02, len(RESPONSE))
    rollout = dumped(student=(engine, opd.Provenance("vllm", "tiny", "bfloat16", 1.0, "raw")))
    scores = scored([rollout], tiny.model(0), {"itself": opd.Teacher(tiny.model(0))})
    mine, theirs = scores.items[0].student, scores.rollouts[0].tracks["student"]
    np.testing.assert_allclose(mine.logprobs, engine_values()[0], atol=1e-4)
    np.testing.assert_array_equal(theirs.logprobs, np.float32(engine))
    np.testing.assert_allclose(scores.signal("advantage", 0), 0, atol=1e-6)  # not engine against transformers
    assert mine.provenance.differences(theirs.provenance) == [
        "engine transformers against vllm", "dtype float32 against bfloat16",
    ]  # fmt: skip


def test_fault_32_tracks_of_two_engines_are_labelled_when_subtracted():
    values = engine_values()[0]
    rollout = dumped(
        student=(values, opd.Provenance("vllm", dtype="bfloat16")),
        teacher=(values, opd.Provenance("transformers", dtype="float32")),
    )
    with pytest.warns(UserWarning, match="engine vllm against transformers; dtype bfloat16 against float32"):
        scores = opd.scores_from_tracks([rollout])
    assert "engine vllm against transformers" in " ".join(scores.notes)


def test_fault_34_processed_log_probabilities_differ_by_the_kept_mass():
    """trl#6789, trl#7269: the log of the mass that top_p keeps biases every ratio."""
    raw, _ = engine_values()
    processed, kept = engine_values(top_p=0.8)
    np.testing.assert_allclose(processed - raw, -kept, atol=1e-12)
    assert (kept < 0).any()
    rollout = dumped(
        student=(raw, opd.Provenance("vllm", temperature=1.0, logprob_mode="raw")),
        teacher=(np.minimum(processed, 0), opd.Provenance("vllm", temperature=0.7, logprob_mode="processed")),
    )
    expected = "temperature 1.0 against 0.7; logprob_mode raw against processed"
    with pytest.warns(UserWarning, match=expected):
        notes = opd.scores_from_tracks([rollout]).notes
    assert expected in " ".join(notes)


def test_fault_34_a_local_model_is_raw_whatever_its_generation_config_says():
    import copy

    net = copy.deepcopy(tiny.qwen(0))
    net.generation_config = GenerationConfig(do_sample=True, temperature=0.5, top_p=0.8, top_k=3)
    model = opd.HFModel((net, tiny.tokenizer()), device="cpu")
    track = scored([opd.Rollout(id="r", prompt_ids=PROMPT, response_ids=RESPONSE)], model).items[0].student
    np.testing.assert_allclose(track.logprobs, engine_values()[0], atol=1e-4)
    assert (track.provenance.temperature, track.provenance.logprob_mode) == (1.0, "raw")


@pytest.mark.parametrize("format_", sorted(set(FORMATS) - {"prime_rl"}))
def test_fault_35_a_mode_that_a_dump_does_not_say_is_unknown_and_shown_so(tmp_path, format_):
    """vllm#42259, vllm-project/vime#64, #69: nobody knows which kind of log-probability they have."""
    (rollout,) = read(tmp_path, dumps([-0.5, -0.25])[format_])
    assert rollout.tracks["student"].provenance.logprob_mode == "unknown"
    assert rollout.tracks["student"].provenance.temperature is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # to be told, not warned of: nothing is known to be wrong
        scores = opd.scores_from_tracks([rollout])
    shown = " ".join(wire_scores(scores)["meta"]["notes"])
    assert "raw or processed unknown" in shown
    assert "temperature unknown" in shown


def test_fault_35_what_is_known_is_said(tmp_path):
    record = dumps([-0.5, -0.25])["prime_rl"]
    record["trainer_logprobs"] = record.pop("inference_logprobs")
    (rollout,) = read(tmp_path, record)
    scores = opd.scores_from_tracks([rollout])
    assert "engine prime_rl trainer, dtype unknown, temperature unknown, raw or processed processed" in scores.notes[-1]


def test_fault_35_a_teacher_says_it_in_its_description():
    values = engine_values()[0]
    rollout = dumped(student=(values, opd.Provenance()), teacher=(values, opd.Provenance("vllm", logprob_mode="raw")))
    (row,) = wire_scores(opd.scores_from_tracks([rollout]))["meta"]["teachers"]
    assert "engine vllm, dtype unknown, temperature unknown, raw or processed raw" in row["description"]
