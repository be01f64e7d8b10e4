"""Checkpoints of one student, compared by step: real ones, trained here for a few steps."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.store_files import PART
from opd_widgets.errors import InvalidInputError, MissingSignalError, ReadError
from tests import tiny
from tests.same_scores import assert_same_scores

STEPS = (0, 2, 5)
OPTIONS = opd.Options(batch_tokens=64, top_k=16)
HINTS = {"sum": "it is 19"}


def rollouts():
    texts = ["12+7=19", "ab", "12-7=5; so", "q", "19 19 19 19"]
    made = [
        opd.Rollout(id=f"r{i}", messages=[opd.Message("user", "12+7=?")], response_text=text, question="sum")
        for i, text in enumerate(texts)
    ]
    ready = opd.score(made, tiny.model(0), {}, noise_rollouts=0, progress=False).rollouts
    # one token of the third was not the student's own: shown, in no mean
    return [replace(r, response_mask=np.arange(len(r)) != 1) if r.id == "r2" else r for r in ready]


def trained(steps):
    """Return models after 0, 2 and 5 steps of AdamW on one text."""
    import torch

    from opd_widgets.models.hf import HFModel

    model = copy.deepcopy(tiny.qwen(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids = torch.tensor([tiny.tokenizer().encode("12+7=19 because 7+12=19")])
    made = {}
    for step in range(max(steps) + 1):
        if step in steps:
            made[step] = HFModel((copy.deepcopy(model), tiny.tokenizer()), device="cpu", name=f"checkpoint-{step}")
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return made


def teachers(student):
    return {
        "Other": opd.Teacher(tiny.model(1)),
        "Self": opd.Teacher(student, context=opd.contexts.free_text(HINTS)),
    }


@pytest.fixture(scope="module")
def direct():
    """Scores by step, from memory."""
    return {
        step: opd.score(rollouts(), student, teachers(student), options=OPTIONS, noise_rollouts=0, progress=False)
        for step, student in trained(STEPS).items()
    }


@pytest.fixture(scope="module")
def folder(direct, tmp_path_factory):
    """The same scores as runs: one scored into its folder, two saved."""
    out = tmp_path_factory.mktemp("runs")
    student = trained((2,))[2]
    opd.score_to(
        rollouts(), student, teachers(student), out / "b", options=OPTIONS, noise_rollouts=0, step=2, progress=False
    )
    direct[0].save(out / "c", step=0)
    direct[5].save(out / "a", step=5)
    return out


def counted_values(scores, signal, teacher):
    return np.concatenate([scores.signal(signal, i, teacher)[r.counted] for i, r in enumerate(scores.rollouts)])


def test_runs_open_by_step_and_each_is_what_was_scored(folder, direct):
    steps = opd.load_steps(folder)
    assert list(steps) == list(STEPS)
    assert 2 in steps
    assert 3 not in steps
    assert steps.teachers == ("Other", "Self")
    for step in STEPS:
        assert steps[step].student == f"checkpoint-{step}"
        # a batch of another size rounds otherwise; saved scores are the same to the bit
        if step != 2:
            assert_same_scores(steps[step], direct[step])
    for given in (str(folder / "*"), [folder / "a", folder / "b", folder / "c"], [folder, folder / "a"]):
        assert list(opd.load_steps(given)) == list(STEPS)
    with pytest.raises(InvalidInputError, match="found step 3, expected one of 0, 2, 5"):
        steps[3]


@pytest.mark.parametrize(
    ("signal", "teacher"), [("advantage", "Other"), ("reverse_kl", "Self"), ("student_entropy", None)]
)
def test_means_by_step_are_those_of_the_scores(folder, direct, signal, teacher):
    steps = opd.load_steps(folder)
    frame = steps.by_step(signal, teacher)
    assert list(frame["step"]) == list(STEPS)
    summary = steps.summary([signal])
    own = summary["teacher"].isna() if teacher is None else summary["teacher"] == teacher
    assert list(summary[own]["step"]) == list(STEPS)
    for place, step in enumerate(STEPS):
        values = counted_values(direct[step], signal, teacher).astype(np.float64)
        assert np.isfinite(values).all()
        row = frame.iloc[place]
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["median"] == pytest.approx(
            np.sort(values)[[len(values) // 2, (len(values) - 1) // 2]].mean(), abs=1e-6
        )
        assert row["tokens"] == len(values) == sum(map(len, direct[step].rollouts)) - 1  # the masked one is out
        assert summary[own].iloc[place]["mean"] == pytest.approx(values.mean(), abs=1e-6)
    assert frame["mean"].nunique() == len(STEPS)  # the checkpoints do differ


def test_the_same_rollout_under_every_checkpoint(folder, direct):
    steps = opd.load_steps(folder)
    assert steps.shared() == tuple(f"r{i}" for i in range(5))
    found = steps.compare("r2", "advantage", "Self")
    assert found.steps == STEPS
    assert found.values.shape == (3, 10)
    assert found.values.dtype == np.float32
    assert "".join(found.tokens) == "12-7=5; so"
    for row, step in zip(found.values, STEPS, strict=True):
        np.testing.assert_allclose(row, direct[step].signal("advantage", 2, "Self"), atol=0 if step != 2 else 1e-5)
    frame = found.to_pandas()
    assert frame[(frame["step"] == 5) & (frame["position"] == 3)]["value"].item() == found.values[2, 3]
    assert frame["token"][13] == "7"
    assert steps.compare("r2", "student_entropy").values.shape == (3, 10)


def test_the_table_of_all(folder, direct):
    frame = opd.load_steps(folder).to_pandas()
    assert list(frame.columns[:3]) == ["step", "rollout_id", "rollout"]
    assert len(frame) == sum(len(scores.to_pandas()) for scores in direct.values())
    row = frame[(frame["step"] == 0) & (frame["rollout_id"] == "r1") & (frame["teacher"] == "Other")]
    np.testing.assert_array_equal(row["advantage"], direct[0].signal("advantage", 1, "Other"))


def test_infinite_and_undefined_values_are_counted_and_in_no_mean(tmp_path):
    for step, logprobs in ((1, [-1.0, -np.inf, -3.0, np.nan]), (2, [-np.inf] * 4)):
        tracks = {"student": opd.LogprobTrack(logprobs), "teacher": opd.LogprobTrack([-2.0, -1.0, -np.inf, -1.0])}
        scores = opd.scores_from_tracks([opd.Rollout(id="r", response_ids=[1, 2, 3, 4], tracks=tracks)])
        scores.save(tmp_path / str(step), step=step)
    steps = opd.load_steps(tmp_path)
    frame = steps.by_step("advantage", "teacher")
    # step 1: -1, +inf, -inf, missing; step 2: +inf, +inf, (-inf) - (-inf), +inf
    columns = ["tokens", "infinite", "undefined", "missing"]
    assert frame[columns].to_numpy().tolist() == [[1, 2, 0, 1], [0, 3, 1, 0]]
    assert frame["mean"][0] == -1.0
    assert np.isnan(frame["mean"][1])
    row = steps.summary(["advantage"]).iloc[1]
    assert row[["step", *columns]].tolist() == [2, 0, 3, 1, 0]


def one(step=None, teacher="teacher", response=(1, 2), engine="vllm", **save):
    track = opd.LogprobTrack(-np.ones(len(response)), provenance=opd.Provenance(engine=engine))
    rollout = opd.Rollout(
        id="r", prompt_ids=[5], response_ids=response, step=step, tracks={"student": track, teacher: track}
    )
    return opd.scores_from_tracks([rollout], **save)


def test_the_step_of_the_rollouts_counts_where_the_run_says_none(tmp_path):
    one(step=7).save(tmp_path / "a")
    one(step=7).save(tmp_path / "b", step=9)
    assert list(opd.load_steps(tmp_path)) == [7, 9]


def test_a_run_of_no_known_step_says_how_to_give_it(tmp_path):
    one().save(tmp_path / "a")
    with pytest.raises(InvalidInputError, match=r"none of them names one.*scores\.save\(path, step=N\)"):
        opd.load_steps(tmp_path)
    mixed = [replace(one(step=s).rollouts[0], id=f"r{s}") for s in (1, 2)]
    opd.scores_from_tracks(mixed).save(tmp_path / "a")
    with pytest.raises(InvalidInputError, match="its rollouts are of steps 1, 2"):
        opd.load_steps(tmp_path)
    with pytest.raises(InvalidInputError, match="found step=-1, expected a whole number"):
        one().save(tmp_path / "b", step=-1)
    with pytest.raises(InvalidInputError, match="found step=True"):
        one().save(tmp_path / "b", step=True)


def test_two_runs_of_one_step_are_named(tmp_path):
    one(step=7).save(tmp_path / "a")
    one(step=7).save(tmp_path / "b")
    with pytest.raises(InvalidInputError, match=r"two runs are of step 7: .*/a' and .*/b'"):
        opd.load_steps(tmp_path)


def test_runs_under_other_teachers_or_settings_do_not_open_together(tmp_path):
    one(step=1).save(tmp_path / "a")
    one(step=2, teacher="bigger").save(tmp_path / "b")
    with pytest.raises(
        InvalidInputError, match=r"steps 1 and 2 differ in teachers: \['teacher'\] against \['bigger'\]"
    ):
        opd.load_steps(tmp_path)
    from opd_widgets.measures.signal import SignalSettings

    one(step=2, settings=SignalSettings(gamma=0.5)).save(tmp_path / "b")
    with pytest.raises(InvalidInputError, match="differ in the setting 'gamma'"):
        opd.load_steps(tmp_path)


def test_teachers_asked_otherwise_do_not_open_together_or_are_noted(tmp_path):
    student, some = tiny.model(0), rollouts()[:2]
    for step, (arguments, hint) in enumerate((({}, "it is 19"), ({"enable_thinking": False}, "it is 19"))):
        teacher = opd.Teacher(student, opd.contexts.free_text(hint), arguments)
        scores = opd.score(some, student, {"T": teacher}, noise_rollouts=0, progress=False)
        scores.save(tmp_path / "kwargs" / str(step), step=step)
    with pytest.raises(InvalidInputError, match="differ in the chat template's arguments of teacher 'T'"):
        opd.load_steps(tmp_path / "kwargs")
    for step, hint in enumerate(("it is 19", "it is 20")):
        teacher = opd.Teacher(student, opd.contexts.free_text(hint))
        out = tmp_path / "texts" / str(step)
        out.parent.mkdir(exist_ok=True)
        opd.score_to(some, student, {"T": teacher}, out, noise_rollouts=0, progress=False, step=step)
    with pytest.warns(UserWarning, match="teacher 'T' has other context texts or wording at steps 0 and 1"):
        steps = opd.load_steps(tmp_path / "texts")
    assert len(steps.notes) == 1


def test_unlike_computations_warn_and_are_noted(tmp_path):
    one(step=1).save(tmp_path / "a")
    one(step=2, engine="transformers").save(tmp_path / "b")
    with pytest.warns(UserWarning, match="is not alike at steps 1 and 2 in engine vllm against transformers") as seen:
        steps = opd.load_steps(tmp_path)
    assert [str(warning.message).partition(" is ")[0] for warning in seen] == ["the student", "teacher 'teacher'"]
    assert len(steps.notes) == 2


def test_an_unfinished_run_is_refused_and_half_a_run_is_none(tmp_path):
    one(step=1).save(tmp_path / "a")
    one(step=2).save(tmp_path / "b")
    half = tmp_path / f"c{PART}"
    shutil.copytree(tmp_path / "b", half)
    assert list(opd.load_steps(tmp_path)) == [1, 2]
    manifest = tmp_path / "b" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "finished": False}))
    with pytest.raises(ReadError, match="b' is not finished: 1 of 1 batches"):
        opd.load_steps(tmp_path)
    with pytest.raises(ReadError, match=r"found no run at .*nowhere"):
        opd.load_steps(tmp_path / "nowhere")
    with pytest.raises(ReadError, match="found no run"):
        opd.load_steps(str(tmp_path / "z*"))
    with pytest.raises(InvalidInputError, match="found an empty list"):
        opd.load_steps([])


def test_nothing_to_compare_says_what_to_do(tmp_path):
    one(step=1).save(tmp_path / "a")
    one(step=2, response=(1, 3)).save(tmp_path / "b")
    steps = opd.load_steps(tmp_path)
    assert steps.shared() == ()
    with pytest.raises(InvalidInputError, match=r"its response at steps 1 and 2 differs \(2 ids each\)"):
        steps.compare("r", "advantage")
    with pytest.raises(InvalidInputError, match=r"scored at none of the steps 1, 2.*score the same rollouts"):
        steps.compare("q", "advantage")
    with pytest.raises(MissingSignalError, match=r"no signal 'reverse_kl' at step 1, 2; there are .*'advantage'"):
        steps.by_step("reverse_kl", "teacher")
    with pytest.raises(MissingSignalError, match="no signal 'nothing'"):
        steps.summary(["nothing"])
    with pytest.raises(InvalidInputError, match=r"no teacher 'x'; there are \['teacher'\]"):
        steps.by_step("advantage", "x")


def test_an_id_that_two_rollouts_of_a_run_have_is_refused(tmp_path):
    rollout = one().rollouts[0]
    for step, ids in ((1, ("r", "r", "s")), (2, ("r", "q", "s"))):
        opd.scores_from_tracks([replace(rollout, id=name) for name in ids]).save(tmp_path / str(step), step=step)
    steps = opd.load_steps(tmp_path)
    assert steps.shared() == ("s",)
    assert steps.compare("s", "advantage").steps == (1, 2)
    with pytest.raises(InvalidInputError, match="2 rollouts of step 1 have the id 'r', expected one"):
        steps.compare("r", "advantage")


def test_several_teachers_have_to_be_named(folder):
    steps = opd.load_steps(folder)
    with pytest.raises(InvalidInputError, match="signal 'advantage' belongs to a teacher"):
        steps.by_step("advantage")


def test_a_run_is_continued_under_its_step(folder, tmp_path):
    shutil.copytree(folder / "b", tmp_path / "b")
    student = trained((2,))[2]
    given = (rollouts(), student, teachers(student), tmp_path / "b")
    with pytest.raises(InvalidInputError, match="begun as step 2 and is continued as step 3"):
        opd.score_to(*given, options=OPTIONS, step=3, progress=False)
    opd.score_to(*given, options=OPTIONS, progress=False)
    assert list(opd.load_steps(tmp_path)) == [2]
