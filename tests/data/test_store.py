"""A run on disk: what is loaded is what was saved, and what cannot be loaded says why."""

from __future__ import annotations

import json
import math
import shutil
import sys
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import opd_widgets as opd
from opd_widgets.data.piece import Piece
from opd_widgets.data.scored import OwnTokens
from opd_widgets.data.scores import RolloutScores, Scores, TeacherInfo, TeacherScores
from opd_widgets.data.store_files import LOCK, PART, in_place, only_writer
from opd_widgets.data.store_manifest import plan_in_order
from opd_widgets.errors import InvalidInputError, MissingDependencyError, ReadError
from tests.same_scores import assert_same_scores

NAN, INF = math.nan, math.inf
F32 = np.float32
PROVENANCE = opd.Provenance("vllm", "m", "bfloat16", 0.7, "processed")


def topk(length, k=2):
    ids = np.arange(length * k).reshape(length, k) % 7
    return opd.TopK(ids, np.where(ids == 3, -INF, -ids.astype(F32) / 3))


def item(length, teachers=("T",)):
    student = opd.LogprobTrack(
        np.linspace(-5, 0, length, dtype=F32),
        rank=np.arange(length),
        entropy=np.full(length, 0.1, F32),
        topk=topk(length),
        provenance=PROVENANCE,
        context_hash="ab",
    )
    scored = TeacherScores(
        track=opd.LogprobTrack(np.full(length, -INF, F32), topk=topk(length, 3)),
        at_student_top=np.full((length, 2), NAN, F32),
        student_at_top=np.full((length, 3), -1.5, F32),
        signals={"advantage": np.full(length, -INF, F32), "k2": np.zeros(length, F32)},
        prompt_ids=np.asarray([5, 6], np.int32),
        context="the answer is 7",
        context_tokens=4,
        leaks_answer={0: None, 2: False}.get(length, True),
    )
    own = OwnTokens(np.asarray([9] * length, np.int32), np.arange(length, dtype=np.int32), {9: Piece(b"\xff")})
    foreign = replace(scored, groups=np.arange(length, dtype=np.int32), own=own)
    by_name = {name: foreign if name == "foreign" else scored for name in teachers}
    return RolloutScores(student, {"student_entropy": np.full(length, 0.1, F32)}, by_name)


def made(rollouts, items, **changes):
    names = dict.fromkeys(name for one in items for name in one.teachers)
    return Scores(
        rollouts=tuple(rollouts),
        student="s",
        teachers={
            name: TeacherInfo(name, "m", "free_text", "sees more", 128, self_distillation=True) for name in names
        },
        items=tuple(items),
        pieces={0: Piece(b"\xf0\x9f"), 3: Piece(b"<eos>", special=True)},
        questions={"q": "1+1?"},
        noise={"advantage": 1e-6},
        settings={"beta": 0.5, "clip": INF, "top_k": 2},
        notes=("the two are unlike",),
        **changes,
    )


# What the files of a run hold. A field that is new here is lost on disk until the tables have a column for it.
STORED = {
    Scores: "rollouts student teachers items pieces questions noise settings notes",
    RolloutScores: "student signals teachers",
    TeacherScores: (
        "track at_student_top student_at_top signals prompt_ids context context_tokens leaks_answer groups own"
    ),
    OwnTokens: "ids groups pieces",
    opd.LogprobTrack: "logprobs rank entropy topk censored provenance context_hash",
    opd.TopK: "ids logprobs",
    opd.Provenance: "engine model dtype temperature logprob_mode",
    Piece: "data special",
}


@pytest.mark.parametrize("record", STORED)
def test_every_field_of_a_record_is_stored(record):
    assert [field.name for field in fields(record)] == STORED[record].split()


def three():
    whole = opd.Rollout(
        id="half a pair \ud83d",
        prompt_ids=[1],
        response_ids=[2, 3, 3],
        messages=[opd.Message("user", "1+1?")],
        prompt_text="1+1?",
        response_text="2\ud83d",
        response_mask=[True, False, True],
        question="q",
        outcome="correct",
        reward={"format": -INF, "answer": None, "length": -0.0},
        status="stop",
        step=7,
        tracks={
            "student": opd.LogprobTrack([-9999.0, NAN, -0.25], provenance=PROVENANCE, topk=topk(3), entropy=[0, NAN, 1])
        },
        metadata={"loss": NAN, "floor": -INF, "zero": 0.0, "tags": ["a", None, True], "n": np.int64(3)},
    )
    empty = opd.Rollout(id="empty", prompt_ids=[], response_ids=[], reward=0.5)
    words = opd.Rollout(id="words", tokens=["a", "\ud83d"], text_source="strings", response_text="a")
    return made([whole, empty, words], [item(length, ("T", "foreign")) for length in (3, 0, 2)])


def test_what_is_loaded_is_what_was_saved(tmp_path):
    scores = three()
    assert scores.save(tmp_path / "run") == tmp_path / "run"
    assert_same_scores(opd.load(tmp_path / "run"), scores)
    assert not list(tmp_path.glob(f"*{PART}"))


floats = arrays.arrays(
    F32, st.integers(0, 6), elements=st.floats(width=32, allow_nan=True, allow_infinity=True), fill=st.nothing()
)


@settings(max_examples=30)  # each flushes a dozen files to the disk
@given(floats, floats.map(lambda values: -np.abs(values)))
def test_every_float_comes_back_as_it_was(tmp_path_factory, values, logprobs):
    path = tmp_path_factory.mktemp("run") / "run"
    rollouts = [
        opd.Rollout(id=str(i), prompt_ids=[1], response_ids=[0] * len(v)) for i, v in enumerate((values, logprobs))
    ]
    items = [
        replace(item(len(values)), signals={"student_entropy": values}),
        RolloutScores(opd.LogprobTrack(logprobs), {"student_entropy": logprobs}, {}),
    ]
    scores = made(rollouts, items)
    scores.save(path)
    assert_same_scores(opd.load(path), scores)


def test_teachers_need_not_be_the_same_everywhere_and_may_be_none(tmp_path):
    rollouts = [opd.Rollout(id=str(i), prompt_ids=[1], response_ids=[2, 3]) for i in range(3)]
    for items in ([item(2, "AB"), item(2, ()), item(2, "B")], [item(2, ())] * 3):
        scores = made(rollouts, items)
        scores.save(tmp_path / "run")
        assert_same_scores(opd.load(tmp_path / "run"), scores)


def test_without_rollouts_there_is_a_run_too(tmp_path):
    scores = made([], [])
    scores.save(tmp_path / "run")
    assert_same_scores(opd.load(tmp_path / "run"), scores)


def test_pandas_reads_the_shards_directly(tmp_path):
    three().save(tmp_path / "run")
    frame = pd.read_parquet(tmp_path / "run" / "shard-00000.parquet")
    assert frame.columns[:4].tolist() == ["rollout", "position", "token_id", "teacher"]
    teacher = frame[frame["teacher"] == "T"]
    assert teacher["rollout"].tolist() == [0, 0, 0, 2, 2]
    assert teacher["advantage"].tolist() == [-INF] * 5
    student = frame[frame["teacher"].isna()]
    assert student["token_id"].tolist()[:3] == [2, 3, 3]
    assert student["student_entropy"].tolist() == [F32(0.1)] * 5
    assert student["top_ids"].iloc[1].tolist() == [2, 3]
    rollouts = pd.read_parquet(tmp_path / "run" / "rollouts.parquet")
    assert rollouts["outcome"].tolist() == ["correct", "unknown", "unknown"]
    assert rollouts["reward"].iloc[1] == 0.5


def test_long_scores_are_cut_into_shards_in_order(tmp_path, monkeypatch):
    assert plan_in_order([3, 0, 2, 9, 1], tokens=4) == ((0, 1, 2), (3,), (4,))
    assert plan_in_order([]) == ()
    monkeypatch.setattr("opd_widgets.data.store_manifest.plan_in_order.__defaults__", (3,))
    scores = three()
    scores.save(tmp_path / "run")
    assert len(list((tmp_path / "run").glob("shard-*"))) == 2
    assert_same_scores(opd.load(tmp_path / "run"), scores)


def test_some_signals_without_topk_are_read_alone(tmp_path):
    three().save(tmp_path / "run")
    lean = opd.load(tmp_path / "run", signals=["advantage"])
    assert list(lean.items[0].teachers["T"].signals) == ["advantage"]
    assert lean.items[0].student.topk is None
    assert lean.items[0].teachers["T"].at_student_top.shape == (3, 0)
    np.testing.assert_array_equal(lean.signal("advantage", 0, "T"), three().signal("advantage", 0, "T"))


def test_a_finished_run_is_replaced_whole_and_nothing_else_is(tmp_path):
    path = tmp_path / "run"
    three().save(path)
    fewer = replace(three(), notes=())
    fewer.save(path)
    assert_same_scores(opd.load(path), fewer)
    (path / "figure.pdf").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"holds 'figure.pdf'.* choose another place"):
        fewer.save(path)
    (path / "figure.pdf").unlink()
    change_manifest(path, finished=False)
    with pytest.raises(InvalidInputError, match="unfinished run"):
        fewer.save(path)
    for name in ("file", "folder/rollouts.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
        with pytest.raises(InvalidInputError, match="choose another place"):
            fewer.save(tmp_path / name.partition("/")[0])
        assert (tmp_path / name).read_text() == "mine"


def test_a_save_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "run"
    three().save(path)
    rollout = replace(three().rollouts[0], metadata={"x": object()})
    with pytest.raises(InvalidInputError, match=r"metadata.*of type object, which JSON cannot hold"):
        made([rollout], [item(3)]).save(path)
    assert_same_scores(opd.load(path), three())
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def change_manifest(path, **changes):
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, **changes}))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (shutil.rmtree, "found no run at"),
        (lambda path: (path / "manifest.json").unlink(), "found no run at"),
        (lambda path: (path / "manifest.json").write_text('{"format": '), r"manifest.json of the run .* damaged"),
        (lambda path: (path / "manifest.json").write_text("[]"), "found a list, expected a JSON object"),
        (lambda path: (path / "manifest.json").write_text("{}"), "no manifest of a run"),
        (lambda path: change_manifest(path, version=2), r"of version 2, expected 1; update the package"),
        (lambda path: change_manifest(path, plan=[[0, 1]]), "names 2 rollouts, expected each of 3 once"),
        (lambda path: change_manifest(path, teachers=7), "damaged"),
        (lambda path: change_manifest(path, rollouts=["a", "b", "c"]), "not those of the manifest"),
        (lambda path: change_manifest(path, plan=[[0, 1], [2]]), r"holds rollouts \[0, 1, 2\]"),
        (lambda path: change_manifest(path, finished=False), "1 of 1 batches are there. Finish it by"),
        (lambda path: (path / "pieces.parquet").unlink(), "lacks pieces.parquet"),
        (lambda path: (path / "shard-00000.parquet").unlink(), "lacks shard-00000.parquet"),
        (lambda path: (path / "prompts-00000.parquet").unlink(), "lacks prompts-00000.parquet"),
        (
            lambda path: half(path / "shard-00000.parquet"),
            r"shard-00000.parquet .* damaged or half-written: .*[^.]\. Expected",
        ),
        (lambda path: half(path / "rollouts.parquet"), "rollouts.parquet .* damaged or half-written"),
        (lambda path: shutil.copy(path / "pieces.parquet", path / "shard-00000.parquet"), "damaged"),
        (lambda path: shutil.copy(path / "pieces.parquet", path / "prompts-00000.parquet"), "damaged"),
        (lambda path: shutil.copy(path / "pieces.parquet", path / "rollouts.parquet"), "damaged"),
        (lambda path: shutil.copy(path / "rollouts.parquet", path / "pieces.parquet"), "damaged"),
    ],
)
def test_a_run_that_cannot_be_read_is_one_clear_error(tmp_path, spoil, says):
    path = tmp_path / "run"
    three().save(path)
    spoil(path)
    with pytest.raises(ReadError, match=says) as error:
        opd.load(path)
    assert "\n" not in str(error.value)


def half(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def test_an_unfinished_run_opens_if_asked_and_says_so(tmp_path):
    path = tmp_path / "run"
    scores = three()
    scores.save(path)
    change_manifest(path, plan=[[0, 1, 2], [3]], rollouts=[*(r.id for r in scores.rollouts), "late"], finished=False)
    more = made([*scores.rollouts, opd.Rollout(id="late", response_text="")], [*scores.items, item(0)])
    more.save(tmp_path / "more")
    shutil.copy(tmp_path / "more" / "rollouts.parquet", path)
    found = opd.load(path, partial=True)
    assert found.notes == (
        *scores.notes,
        "not finished: 3 of 4 rollouts are scored. Score into the folder for the rest",
    )
    assert_same_scores(replace(found, notes=scores.notes), scores)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    three().save(tmp_path / "run")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for act in (lambda: opd.load(tmp_path / "run"), lambda: three().save(tmp_path / "other")):
        with pytest.raises(MissingDependencyError, match=r"opd-widgets\[parquet\]"):
            act()


def test_a_file_takes_its_place_only_when_it_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with in_place(path) as beside:
            beside.write_text("new, in part")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("file", "old")]


def test_one_process_writes_at_a_time(tmp_path):
    with (
        only_writer(tmp_path),
        pytest.raises(InvalidInputError, match="another process is writing"),
        only_writer(tmp_path),
    ):
        pass
    with only_writer(tmp_path):
        assert (tmp_path / LOCK).exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInputError, match="no run can be written"), only_writer(tmp_path / "file"):
        pass
