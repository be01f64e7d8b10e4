"""Rollouts that bring the student's numbers along, from another computation: kept, or scored anew and compared."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, MissingSignalError
from tests import tiny
from tests.models.stub_server import ServedModel, serving

TEXTS = ["12+7=19", "ab; 3", "12-7=5; so", "q", "19 19 19 19"]
OPTIONS = opd.Options(batch_tokens=64, top_k=16)


def half():
    """The same weights in bfloat16: real numbers of another precision."""
    import copy

    from opd_widgets.models.hf import HFModel

    return HFModel((copy.deepcopy(tiny.qwen(0)).bfloat16(), tiny.tokenizer()), device="cpu", name="tiny-0")


def quiet(*given, **more):
    return opd.score(*given, options=OPTIONS, noise_rollouts=0, progress=False, **more)


@pytest.fixture(scope="module")
def bare():
    made = [
        opd.Rollout(id=f"r{i}", messages=[opd.Message("user", "12+7=?")], response_text=text, question="sum")
        for i, text in enumerate(TEXTS)
    ]
    return quiet(made, tiny.model(0), {}).rollouts


@pytest.fixture(scope="module")
def sampled(bare):
    """Rollouts with the student's own track, as a bfloat16 engine gave it; the third has a token of a tool."""
    kind = opd.Provenance(engine="vllm", dtype="bfloat16", temperature=1.0)
    items = quiet(bare, half(), {}).items
    made = [
        replace(rollout, tracks={"student": replace(item.student, provenance=kind, rank=None, topk=None, entropy=None)})
        for rollout, item in zip(bare, items, strict=True)
    ]
    mask = np.arange(len(made[2])) != 1
    return (*made[:2], replace(made[2], response_mask=mask), *made[3:])


def teachers():
    student = tiny.model(0)
    return {
        "Other": opd.Teacher(tiny.model(1)),
        "Self": opd.Teacher(student, context=opd.contexts.free_text({"sum": "it is 19"})),
    }


def test_by_default_the_student_is_scored_anew_and_the_difference_is_shown(sampled, bare, tmp_path):
    scores = quiet(sampled, tiny.model(0), teachers())
    plain = quiet(bare, tiny.model(0), teachers())
    for mine, theirs in zip(scores.items, plain.items, strict=True):
        np.testing.assert_array_equal(mine.student.logprobs, theirs.student.logprobs)
        np.testing.assert_array_equal(
            mine.teachers["Self"].signals["advantage"], theirs.teachers["Self"].signals["advantage"]
        )
    found = scores.student_mismatch()
    by_hand = [
        rollout.tracks["student"].logprobs.astype(np.float64) - item.student.logprobs.astype(np.float64)
        for rollout, item in zip(sampled, scores.items, strict=True)
    ]
    for one, other in zip(found.differences, by_hand, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    counted = np.concatenate([values[r.counted] for values, r in zip(by_hand, sampled, strict=True)])
    assert len(found.values) == sum(map(len, TEXTS)) - 1 == len(counted)
    assert found.p99 == pytest.approx(np.percentile(np.abs(counted), 99), abs=1e-6)
    assert found.largest == pytest.approx(np.abs(counted).max(), abs=1e-6)
    assert 1e-4 < found.p99 < 0.5  # bfloat16 against float32: seen, and no other model
    assert (found.infinite, found.undefined) == (0, 0)
    assert found.came_from[0].engine == "vllm"
    assert found.scored_by[0].engine == "transformers"
    note = next(note for note in scores.notes if "came with the rollouts" in note)
    assert "engine vllm, dtype bfloat16, temperature 1, raw or processed unknown" in note
    assert "engine transformers, dtype float32, temperature 1, raw" in note
    assert (
        f"{found.p99:.3g} nats at the 99th percentile and {found.largest:.3g} at most, over {len(counted)} tokens"
        in note
    )
    frame = found.to_pandas()
    assert frame["counted"].sum() == len(counted)
    assert len(frame) == len(counted) + 1
    assert opd.load(scores.save(tmp_path / "run")).student_mismatch().p99 == found.p99


def test_a_run_notes_the_difference_as_well(sampled, tmp_path):
    opd.score_to(
        sampled, tiny.model(0), teachers(), tmp_path / "run", options=OPTIONS, noise_rollouts=0, progress=False
    )
    run = opd.load(tmp_path / "run")
    note = next(note for note in run.notes if note.startswith("the track 'student' that came with the rollouts"))
    assert f"{run.student_mismatch().p99:.3g} nats at the 99th percentile" in note


def test_rollouts_without_a_track_have_no_mismatch_and_no_note(bare):
    scores = quiet(bare, tiny.model(0), {})
    assert scores.notes == ()
    with pytest.raises(
        MissingSignalError, match=r"no rollout has a track 'student' to compare with \(there are none\)"
    ):
        scores.student_mismatch()


def test_minus_infinity_is_counted_and_in_no_figure():
    tracks = {"student": opd.LogprobTrack([-1.0, -np.inf, -np.inf, np.nan, -2.0])}
    rollout = opd.Rollout(id="r", response_ids=[1, 2, 3, 4, 5], tracks=tracks)
    other = opd.LogprobTrack([-1.5, -3.0, -np.inf, -1.0, -2.25])
    scores = opd.scores_from_tracks([replace(rollout, tracks={"student": other})])
    found = replace(scores, rollouts=(rollout,)).student_mismatch()
    np.testing.assert_array_equal(found.differences[0], [0.5, -np.inf, np.nan, np.nan, 0.25])
    assert (found.infinite, found.undefined, found.largest) == (1, 2, 0.5)
    assert "over 2 tokens, 1 infinite" in found.note()


def test_the_kept_track_is_the_students_side_and_the_student_is_not_asked(sampled, tmp_path):
    student = tiny.model(0)
    asked = []
    handle = tiny.qwen(0).register_forward_hook(lambda *_: asked.append("whole"))
    inner = tiny.qwen(0).model.register_forward_hook(lambda *_: asked.append("backbone"))
    try:
        with pytest.warns(
            UserWarning, match=r"Other and student are not alike in engine vllm against transformers"
        ) as seen:
            scores = quiet(sampled, student, {"Other": opd.Teacher(tiny.model(1))}, rescore_student=False)
    finally:
        handle.remove()
        inner.remove()
    assert asked == []
    said = str(seen[0].message)
    assert "dtype bfloat16 against float32" in said
    assert "rescore_student=True" in said
    assert said in scores.notes
    whole = quiet(sampled, student, {"Other": opd.Teacher(tiny.model(1))})
    for place, rollout in enumerate(sampled):
        kept = rollout.tracks["student"].logprobs
        np.testing.assert_array_equal(scores.items[place].student.logprobs, kept)
        theirs = whole.items[place].teachers["Other"]
        mine = scores.items[place].teachers["Other"]
        np.testing.assert_allclose(mine.track.logprobs, theirs.track.logprobs, atol=1e-5)
        np.testing.assert_array_equal(mine.track.rank, theirs.track.rank)
        np.testing.assert_allclose(mine.track.entropy, theirs.track.entropy, atol=1e-5)
        np.testing.assert_allclose(mine.signals["advantage"], theirs.track.logprobs - kept, atol=1e-5)
        assert "reverse_kl" not in mine.signals
        np.testing.assert_array_equal(mine.prompt_ids, theirs.prompt_ids)
    assert scores.student == "tiny-0"
    assert scores.teachers == whole.teachers
    assert set(whole.items[0].teachers["Other"].track.topk.ids.ravel().tolist()) <= set(scores.pieces)
    assert opd.load(scores.save(tmp_path / "run")).notes == scores.notes
    opd.Explorer(scores)


def test_a_context_teacher_sees_its_own_prompt_beside_the_kept_track(sampled):
    with pytest.warns(UserWarning, match="not alike"):
        scores = quiet(sampled, tiny.model(0), teachers(), rescore_student=False)
    whole = quiet(sampled, tiny.model(0), teachers())
    for place in range(len(sampled)):
        mine, theirs = (found.items[place].teachers["Self"] for found in (scores, whole))
        assert mine.context == theirs.context == "it is 19"
        np.testing.assert_array_equal(mine.prompt_ids, theirs.prompt_ids)
        np.testing.assert_allclose(mine.track.logprobs, theirs.track.logprobs, atol=1e-5)


def test_a_teacher_behind_a_server_beside_the_kept_track(sampled):
    with serving(ServedModel(tiny.model(1))) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0), retries=0, timeout=30)
        scores = quiet(sampled, tiny.model(0), {"Remote": opd.Teacher(remote)}, rescore_student=False)
    direct = quiet(sampled, tiny.model(0), {"Other": opd.Teacher(tiny.model(1))})
    for mine, theirs in zip(scores.items, direct.items, strict=True):
        one, other = mine.teachers["Remote"].track, theirs.teachers["Other"].track
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-4)
        np.testing.assert_array_equal(one.rank, other.rank)
        known = one.topk.ids >= 0  # a server ranks rows of the head that are no token, and those are left out
        np.testing.assert_array_equal(one.topk.ids[known], other.topk.ids[known])
        assert known[:, :5].all()


def test_what_cannot_be_scored_beside_a_kept_track_says_so(sampled, bare):
    with pytest.raises(InvalidInputError, match=r"1 of 5 rollouts brought no track 'student' along \(first 'r4'\)"):
        quiet([*sampled[:4], bare[4]], tiny.model(0), {}, rescore_student=False)
    with pytest.raises(InvalidInputError, match="found a teacher named 'student'"):
        quiet(sampled, tiny.model(0), {"student": opd.Teacher(tiny.model(1))}, rescore_student=False)


def test_a_dumps_teacher_against_a_student_scored_anew(sampled, bare):
    reference = quiet(bare, tiny.model(1), {}).items
    both = [
        replace(rollout, tracks={**rollout.tracks, "ref": item.student})
        for rollout, item in zip(sampled, reference, strict=True)
    ]
    with pytest.warns(
        UserWarning, match=r"ref and student are not alike.*scores_from_tracks\(rollouts, rescore_student=model"
    ):
        opd.scores_from_tracks(both)
    scores = opd.scores_from_tracks(
        both, rescore_student=tiny.model(0)
    )  # alike now: no warning, which would be an error
    direct = quiet(bare, tiny.model(0), {}).items
    for place, item in enumerate(scores.items):
        np.testing.assert_allclose(item.student.logprobs, direct[place].student.logprobs, atol=1e-5)
        advantage = reference[place].student.logprobs - direct[place].student.logprobs
        np.testing.assert_allclose(scores.signal("advantage", place, "ref"), advantage, atol=1e-5)
    assert scores.notes == (scores.student_mismatch().note(),)
    assert scores.student_mismatch().p99 > 1e-4


def test_a_dump_that_does_not_say_its_mode_is_called_unknown(tmp_path):
    """Row 35: whether numbers are raw or processed is said, or said to be unknown; never guessed."""
    record = {"id": "r", "prompt_ids": [5], "response_ids": [7, 8], "tracks": {"student": {"logprobs": [-1.0, -2.0]}}}
    scores = quiet([read(tmp_path, record)], tiny.model(0), {})
    assert "engine unknown, dtype unknown, temperature unknown, raw or processed unknown" in scores.notes[0]


def read(folder, record):
    example = opd.Rollout(id="x", prompt_ids=[5], response_ids=[7], tracks={"student": opd.LogprobTrack([-1.0])})
    opd.write_rollouts([example], folder / "shape.jsonl")
    shape = json.loads((folder / "shape.jsonl").read_text().splitlines()[-1])
    track = {name: value for name, value in shape["tracks"]["student"].items() if name != "provenance"}
    shape.update({**record, "tracks": {"student": {**track, "logprobs": record["tracks"]["student"]["logprobs"]}}})
    (folder / "dump.jsonl").write_text(json.dumps(shape) + "\n")
    return opd.read_rollouts(folder / "dump.jsonl")[0]


@pytest.mark.parametrize("rescore", [True, False])
def test_prompts_are_looked_at_whoever_the_students_side_is(sampled, rescore):
    twice = [replace(r, prompt_ids=np.concatenate([r.prompt_ids[:1], r.prompt_ids])) for r in sampled]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scores = quiet(twice, tiny.model(0), {"Self": teachers()["Self"]}, rescore_student=rescore)
    assert any("chat template makes" in str(warning.message) for warning in seen)
    assert any("chat template makes" in note for note in scores.notes)
