"""Bad input: one clear error, or a result that says so."""

from __future__ import annotations

import time

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.diagnose import diagnosis_cost
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.errors import ContextError, InvalidInputError, LengthLimitError
from opd_widgets.models.protocol import Generation
from tests import tiny
from tests.diagnosis.toy_run import END, LENGTH, QUESTIONS, VOCAB, assert_same, even, run, speaker


def test_no_rollout_succeeds():
    result = run(verifier=lambda *_: False, budget=600)
    assert any(note.startswith("no initial rollout is correct") for note in result.about["notes"])
    assert result.nodes["alignment"].isna().all()
    assert len(result.nodes) > 0
    assert "no initial rollout is correct" in result.to_text()


def test_every_rollout_succeeds():
    result = run(verifier=lambda *_: True, max_new_tokens=40, budget=2000)
    assert any(note.startswith("every initial rollout is correct") for note in result.about["notes"])
    assert result.nodes["alignment"].isna().all()


def test_one_token_only():
    result = run(max_new_tokens=1, budget=200)
    assert all(len(one.nodes) == 1 for one in result.evidence)  # the prompt
    assert all((one.nodes.depths == 0).all() for one in result.evidence)
    assert any("are cut at 1 tokens" in note for note in result.about["notes"])
    assert all(len(drawn.ids) == 1 for one in result.evidence for drawn in one.rollouts)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"budget": 0}, "found budget=0, expected a whole number of at least 1"),
        ({"budget": 1.5}, r"found budget=1\.5"),
        ({"budget": True}, "found budget=True"),
        ({"max_new_tokens": 0}, "found max_new_tokens=0"),
        ({"initial": 0}, "found initial=0"),
        ({"rounds": 0}, "found rounds=0"),
        ({"held_out": -1}, "found held_out=-1, expected a whole number of at least 0"),
        ({"batch_rows": 0}, "found batch_rows=0"),
        ({"seed": 0.5}, r"found seed=0\.5"),
        ({"important": 0}, "found important=0, expected a probability"),
        ({"spending": "all"}, "found spending='all', expected one of width, even, paper"),
        ({"settings": {}}, "found settings of type dict"),
        ({"verifier": "number"}, "found a verifier of type str"),
        ({"verifier_timeout": 0}, "found verifier_timeout=0"),
        ({"teachers": {}}, "found teachers={}, expected at least one by name"),
        ({"teachers": [speaker(1)]}, "expected at least one by name"),
        ({"teachers": {"": speaker(1)}}, "found a teacher named ''"),
        ({"teachers": {"A": 3}}, "found int, expected a model"),
        ({"student": None}, "found NoneType, expected a model"),
        ({"student": lambda _: 3}, "found int for question 'one', expected the function to return a policy"),
        ({"questions": []}, "found no questions"),
        ({"questions": [QUESTIONS[0], QUESTIONS[0]]}, "found 2 questions of id 'one'"),
        ({"questions": ["text"]}, "question 0 is of type str"),
    ],
)
def test_a_slip_is_said_before_anything_is_written(tmp_path, changes, says):
    with pytest.raises(InvalidInputError, match=says):
        run(out=tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_a_question_of_no_text_cannot_be_made():
    with pytest.raises(InvalidInputError, match="question 'q' has no text"):
        opd.Question("q", " \n")


@pytest.mark.parametrize(
    ("verifier", "says"),
    [
        (lambda *_: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda *_: None, r"the verifier returned None \(NoneType\)"),
        (lambda _: True, "TypeError: .* takes 1 positional argument"),
    ],
)
def test_a_verifier_that_never_gives_a_verdict_stops_the_run_at_once(tmp_path, verifier, says):
    with pytest.raises(InvalidInputError, match=rf"gave no verdict on any of the first \d+ rollouts; .*{says}"):
        run(verifier=verifier, out=tmp_path)
    assert not list(tmp_path.glob("rollouts-*"))
    assert_same(run(out=tmp_path), run())  # a mended one may use the folder


def test_a_folder_in_which_nothing_was_drawn_binds_nobody(tmp_path):
    with pytest.raises(InvalidInputError, match="no verdict on any"):
        run(out=tmp_path, verifier=lambda *_: 1 / 0)
    assert_same(run(out=tmp_path, questions=QUESTIONS[:1]), run(questions=QUESTIONS[:1]))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"out": 3}, "out of type int, expected a folder's path"),
        ({"checkpoint": 3}, "checkpoint of type int, expected a function"),
        ({"seed": -1}, "seed=-1, expected a whole number of at least 0"),
    ],
)
def test_arguments_of_another_kind_are_named(given, says):
    with pytest.raises(InvalidInputError, match=says):
        run(**given)


@pytest.mark.parametrize("what", [{"seed": -1}, {"seed": "x"}, {"level": "x"}, {"draws": 0}])
def test_settings_that_cannot_be_are_named(what):
    with pytest.raises(InvalidInputError, match=next(iter(what))):
        opd.DiagnosisSettings(**what)


def test_a_bound_argument_makes_another_verifier():
    from functools import partial

    from opd_widgets.diagnosis.run.identity import identity_of

    policy = FunctionPolicy(lambda prefixes: np.log(np.full((len(prefixes), 2), 0.5)), end_ids=[1], vocab_size=2)
    asked = [opd.Question("q", "?")]
    one, other = (identity_of(asked, [policy], partial(modulo, modulus=k))["verifier"] for k in (2, 3))
    assert one != other
    assert one == identity_of(asked, [policy], partial(modulo, modulus=2))["verifier"]


def modulo(_question, text, modulus):
    return len(text) % modulus == 0


def test_the_room_of_every_teacher_decides_how_long_a_response_may_be():
    lab = opd.demo(questions=2, rollouts=1)
    result = opd.diagnose(
        lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=600, seed=0, progress=False
    )
    least = result.about["max_new_tokens"]
    assert least < 476  # the student alone has room for 498
    with pytest.raises(LengthLimitError, match=f"Ask for max_new_tokens={least} or less"):
        opd.diagnose(
            lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=600, max_new_tokens=least + 1
        )


def test_a_verifier_that_hangs_is_stopped_by_its_timeout():
    begun = time.monotonic()
    with pytest.raises(InvalidInputError, match=r"TimeoutError: no verdict within 0\.02 s"):
        run(verifier=lambda *_: time.sleep(0.5), verifier_timeout=0.02, questions=QUESTIONS[:1])
    assert time.monotonic() - begun < 20


def test_a_verifier_that_fails_now_and_then_costs_those_rollouts_and_is_counted():
    def verifier(question, text):
        if text.startswith("2"):
            raise OSError("busy")
        return even(question, text)

    result = run(verifier=verifier)
    assert result.about["outcomes"]["unverified"] > 0
    assert list(result.about["unverified_reasons"]) == ["OSError: busy"]
    assert any("initial rollouts are unverified and left out" in note for note in result.about["notes"])
    assert result.nodes["alignment"].notna().any()


def test_reasons_without_a_verdict_outlive_the_process(tmp_path):
    def verifier(question, text):
        if text.startswith("2"):
            raise OSError("busy")
        return even(question, text)

    first = run(verifier=verifier, out=tmp_path)
    assert run(verifier=verifier, out=tmp_path).about["unverified_reasons"] == first.about["unverified_reasons"]


def test_a_single_question():
    result = run(questions=QUESTIONS[:1])
    assert result.questions == ("one",)
    assert len(result.summary()) > 0


def test_a_policy_without_end_ids():
    uniform = np.log(np.full(3, 1 / 3))
    endless = FunctionPolicy(lambda prefixes: np.tile(uniform, (len(prefixes), 1)), end_ids=[], vocab_size=3)
    result = run(student=endless, teachers={"A": endless}, max_new_tokens=4, budget=600)
    assert result.truncated_share == 0
    assert {len(drawn.ids) for one in result.evidence for drawn in one.rollouts} == {4}


@pytest.mark.parametrize(
    ("logprobs", "says"),
    [
        (lambda prefixes: np.full((len(prefixes), VOCAB), -0.5), "whose probabilities sum to"),
        (lambda prefixes: np.full((len(prefixes), VOCAB), np.nan), "whose probabilities sum to nan"),
        (lambda prefixes: np.zeros((len(prefixes), 2)), r"gave shape \(1, 2\), expected \(1, 5\)"),
    ],
)
@pytest.mark.parametrize("whose", ["student", "teacher"])
def test_log_probabilities_that_are_none(tmp_path, logprobs, says, whose):
    bad = FunctionPolicy(logprobs, end_ids=[END], vocab_size=VOCAB)
    changes = {"student": bad} if whose == "student" else {"teachers": {"A": bad}}
    with pytest.raises(InvalidInputError, match=says):
        run(out=tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_a_sampler_of_ones_own_that_gives_no_log_probabilities_end_to_end(tmp_path):
    def student(question):
        inner = speaker(0)(question)

        def sample(prefixes, seeds, max_new_tokens):
            drawn = inner.sample(prefixes, seeds=seeds, max_new_tokens=max_new_tokens)
            return [Generation(one.ids, stopped=one.stopped) for one in drawn]

        return FunctionPolicy(inner.next_logprobs, sample, end_ids=[END], vocab_size=VOCAB)

    result, usual = run(student=student, out=tmp_path), run()
    first, other = result.evidence[0], usual.evidence[0]
    assert [one.ids.tolist() for one in first.rollouts[:30]] == [one.ids.tolist() for one in other.rollouts[:30]]
    assert all(np.isnan(one.logprobs).all() for one in first.rollouts if not one.start)
    assert result.nodes["alignment"].notna().any()
    assert_same(run(student=student, out=tmp_path), result)


def test_a_teacher_of_another_tokenizer():
    foreign = opd.HFModel((tiny.qwen(5), tiny.tokenizer("zyxwvutsrqponmlkjihgfedcba")), device="cpu", name="foreign")
    with pytest.raises(InvalidInputError, match="'foreign' has another tokenizer than the student 'tiny-0'"):
        run(student=tiny.model(0), teachers={"T": opd.Teacher(foreign)}, max_new_tokens=4)


def long(characters):
    return opd.Question("long", "a" * characters)


def test_a_student_without_room(tmp_path):
    given = {"student": tiny.model(0), "teachers": {"T": tiny.model(1)}, "out": tmp_path / "run"}
    with pytest.raises(LengthLimitError, match=r"the student takes 256 tokens and question 'long' needs .*shorten it"):
        run(questions=[long(300)], max_new_tokens=None, **given)
    with pytest.raises(LengthLimitError, match=r"and max_new_tokens=250\. Nothing is cut\. Ask for max_new_tokens=\d+"):
        run(questions=[long(50)], max_new_tokens=250, **given)
    assert not (tmp_path / "run").exists()


def test_a_teacher_whose_prompt_is_too_long(tmp_path):
    student = tiny.model(0)
    teacher = opd.Teacher(student, opd.contexts.free_text("x" * 240))
    with pytest.raises(LengthLimitError, match=r"takes 256 tokens"):
        run(student=student, teachers={"Long": teacher}, questions=[long(9)], max_new_tokens=20, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_context_without_a_text_for_a_question():
    teacher = opd.Teacher(tiny.model(0), opd.contexts.one_correct({"other": "x"}))
    with pytest.raises(ContextError, match="no correct text for question 'long'"):
        run(student=tiny.model(0), teachers={"T": teacher}, questions=[long(3)], max_new_tokens=4)


def test_the_cost_refuses_what_the_diagnosis_refuses():
    with pytest.raises(InvalidInputError, match="found budget=0"):
        diagnosis_cost(QUESTIONS, speaker(0), {"A": speaker(1)}, verifier=even, budget=0, max_new_tokens=LENGTH)
