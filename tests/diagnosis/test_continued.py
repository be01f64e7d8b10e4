"""A diagnosis in a folder that is asked for more, or for something else."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.store_files import DIAGNOSIS, only_writer
from opd_widgets.diagnosis.diagnose import diagnosis_cost
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.run.save import save_diagnosis
from opd_widgets.diagnosis.run.stored import load_diagnosis
from opd_widgets.errors import InvalidInputError, ReadError
from tests import tiny
from tests.diagnosis.toy_run import (
    BUDGET,
    END,
    LENGTH,
    QUESTIONS,
    VOCAB,
    assert_no_draw_twice,
    assert_same,
    assert_same_drawn,
    assert_same_folders,
    even,
    files,
    has_digit,
    odd,
    run,
    speaker,
)


def test_a_larger_budget_goes_on_with_the_same_initial_rollouts(whole, copy):
    before = load_diagnosis(whole)
    after = run(out=copy, budget=2 * BUDGET)
    assert after.about["generated_tokens"] >= 2 * BUDGET
    for one, other in zip(before.evidence, after.evidence, strict=True):
        assert_same_nodes_and_more(one, other)
        assert one.initial.sum() == other.initial.sum()
    assert_no_draw_twice(copy)
    assert_same(load_diagnosis(copy), after)
    again = run(out=copy, budget=BUDGET)  # less than was spent: nothing more
    assert [len(one.rollouts) for one in again.evidence] == [len(one.rollouts) for one in after.evidence]


def assert_same_nodes_and_more(one, other):
    assert one.nodes.prefixes == other.nodes.prefixes
    assert len(other.rollouts) > len(one.rollouts)
    for a, b in zip(one.rollouts, other.rollouts, strict=False):
        assert_same_drawn(a, b)


def test_a_budget_that_was_too_small_for_the_initial_rollouts_is_topped_up(tmp_path):
    small = run(out=tmp_path, budget=50)
    large = run(out=tmp_path, budget=BUDGET)
    assert small.about["initial_rollouts"] < 8 * len(QUESTIONS)
    assert small.about["generated_tokens"] < 2 * 50
    assert large.about["initial_rollouts"] >= 8 * len(QUESTIONS)
    assert_no_draw_twice(tmp_path)


def test_more_initial_rollouts_can_be_asked_for_and_nodes_are_read_again(whole, copy):
    before = load_diagnosis(whole)
    more = int(before.evidence[0].initial.sum()) + 5
    after = run(out=copy, initial=more, budget=BUDGET + 500)
    assert [int(one.initial.sum()) for one in after.evidence] == [more] * 3
    assert_no_draw_twice(copy)


def test_another_teacher_later_has_the_nodes_read_again_and_keeps_every_rollout(whole, copy):
    before = load_diagnosis(whole)
    wider = {"A": speaker(1), "B": speaker(2), "Sharp": speaker(3, scale=3.0)}
    after = run(out=copy, teachers=wider, budget=BUDGET + 1000)
    for one, other in zip(before.evidence, after.evidence, strict=True):
        assert other.nodes.teachers == ("A", "B", "Sharp")
        for a, b in zip(one.rollouts, other.rollouts, strict=False):
            assert_same_drawn(a, b)
        for prefix, tokens in zip(one.nodes.prefixes, one.nodes.tokens, strict=True):
            if prefix in other.nodes.prefixes:
                row = other.nodes.tokens[other.nodes.prefixes.index(prefix)]
                assert set(tokens[tokens >= 0].tolist()) <= set(row.tolist())
    assert_no_draw_twice(copy)
    assert_same(load_diagnosis(copy), after)


def test_another_model_under_a_teachers_name_has_the_nodes_read_again(copy):
    after = run(out=copy, teachers={"A": speaker(1), "B": speaker(9)})
    fresh = run(teachers={"A": speaker(1), "B": speaker(9)})
    one, other = after.evidence[0].nodes, fresh.evidence[0].nodes
    assert one.prefixes == other.prefixes
    assert np.array_equal(one.teacher_logp, other.teacher_logp)


@pytest.mark.parametrize("changes", [{"spending": "even"}, {"spending": "paper"}, {"rounds": 2}, {"batch_rows": 7}])
def test_the_rest_may_be_spent_otherwise(whole, copy, changes):
    before = load_diagnosis(whole)
    after = run(out=copy, budget=BUDGET + 800, **changes)
    for one, other in zip(before.evidence, after.evidence, strict=True):
        assert_same_nodes_and_more(one, other)
    assert_no_draw_twice(copy)


def other_policies(**what):
    base = speaker(0)

    def policy(question):
        inner = base(question)
        given = {"end_ids": [END], "vocab_size": VOCAB, **what}
        return FunctionPolicy(inner.next_logprobs, **given)

    return policy


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"student": speaker(7)}, r"question 'one' has other weights"),
        ({"student": other_policies(end_ids=[3])}, r"question 'one'\.ends\[0\] was 4 and is 3"),
        ({"questions": QUESTIONS[:2]}, "its question 'three' is not asked"),
        (
            {"questions": [opd.Question(one.id, one.messages, answer="1") for one in QUESTIONS]},
            r"question 'one'\.answer was '0' and is '1'",
        ),
        ({"verifier": odd}, r"the verifier was tests\.diagnosis\.toy_run\.even and is .*odd"),
        ({"verifier": lambda question, text: even(question, text)}, "the verifier was"),  # noqa: PLW0108
        (
            {"questions": [*QUESTIONS, opd.Question("four", "another", answer="0")]},
            "question 'four' is not one of its questions",
        ),
        ({"max_new_tokens": LENGTH + 1}, "max_new_tokens was 6 and is 7"),
        ({"seed": 1}, "seed was 0 and is 1"),
    ],
)
def test_another_diagnosis_is_refused_and_nothing_changes(whole, changes, says):
    before = files(whole)
    with pytest.raises(InvalidInputError, match=says) as error:
        run(out=whole, **changes)
    assert str(whole) in str(error.value)
    assert files(whole) == before


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (lambda: {"student": tiny.model(2)}, "student.name was 'tiny-0' and is 'tiny-2'"),
        (lambda: {"student": tiny.model(2, name="tiny-0")}, "student has other weights"),
        (lambda: {"student": retold("zyxwvutsrqponmlkjihgfedcba 0123456789+-=?:;\n")}, "student.tokenizer.entries was"),
        (lambda: {"student": retold(template="{{ messages[0]['content'] }}!")}, r"question 'sum'\.prompt was"),
        (lambda: {"questions": [opd.Question("sum", "4+4=?")]}, r"question 'sum'\.prompt was"),
    ],
)
def test_another_model_tokenizer_or_prompt_is_refused(tmp_path, changes, says):
    given = {
        "questions": [opd.Question("sum", "3+4=?")],
        "student": tiny.model(0),
        "teachers": {"Other": tiny.model(1)},
        "verifier": has_digit,
        "budget": 60,
        "max_new_tokens": 4,
    }
    run(out=tmp_path, **given)
    later = {**given, **changes()}
    with pytest.raises(InvalidInputError, match=says):
        run(out=tmp_path, **{**later, "teachers": {"Own": opd.Teacher(later["student"])}})


def retold(characters=tiny.CHARACTERS, template=tiny.TEMPLATE):
    return opd.HFModel((tiny.qwen(0), tiny.tokenizer(characters, template)), device="cpu", name="tiny-0")


def test_two_processes_at_once_are_refused(copy):
    before = files(copy)
    with only_writer(copy), pytest.raises(InvalidInputError, match="another process is writing"):
        run(out=copy)
    assert files(copy) == before


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"holds 'notes.txt' and no diagnosis.json.*choose another place"):
        run(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(InvalidInputError, match="found a file at"):
        run(out=tmp_path / "notes.txt")


def test_scores_and_diagnoses_are_told_apart(whole, tmp_path):
    with pytest.raises(ReadError, match=r"holds a diagnosis, not scores; open it with opd\.load_diagnosis"):
        opd.load(whole)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(ReadError, match=r"holds scores, not a diagnosis; open them with opd\.load"):
        load_diagnosis(tmp_path)
    with pytest.raises(ReadError, match="found no diagnosis at"):
        load_diagnosis(tmp_path / "nowhere")


def test_a_later_version_is_refused(copy):
    text = (copy / DIAGNOSIS).read_text().replace('"version": 1', '"version": 2')
    (copy / DIAGNOSIS).write_text(text)
    with pytest.raises(ReadError, match=r"version 2, expected 'opd_widgets\.diagnosis' version 1"):
        load_diagnosis(copy)


def test_what_was_saved_from_memory_opens_alike_and_is_not_continued(whole, tmp_path):
    result = load_diagnosis(whole).with_settings(loss="jsd", level=0.8)
    path = save_diagnosis(result.evidence, result.about, tmp_path / "saved", result.settings)
    assert_same(load_diagnosis(path), result)
    with pytest.raises(InvalidInputError, match="was saved from memory, which nothing continues"):
        run(out=path)
    with pytest.raises(InvalidInputError, match="holds a diagnosis already"):
        save_diagnosis(result.evidence, result.about, path)


def test_the_probe_is_the_beginning_of_the_run(whole, tmp_path):
    given = {"verifier": even, "max_new_tokens": LENGTH, "batch_rows": 64, "rounds": 6, "max_nodes": 40}
    teachers = {"A": speaker(1), "B": speaker(2)}
    cost = diagnosis_cost(QUESTIONS, speaker(0), teachers, budget=BUDGET, out=tmp_path, **given)
    probe = load_diagnosis(tmp_path).about
    assert (cost.probe_rollouts, cost.probe_tokens) == (probe["initial_rollouts"], probe["generated_tokens"])
    assert 0 < cost.probe_rollouts <= 64
    mean = cost.probe_tokens / cost.probe_rollouts
    assert cost.initial == int(np.clip(0.25 * BUDGET / mean / 3, 8, 200))
    assert cost.read == round(mean * cost.initial * 3)
    assert cost.targeted == round(2 * (BUDGET - mean * cost.initial * 3) / mean)
    assert cost.seconds == pytest.approx(cost.probe_seconds * BUDGET / cost.probe_tokens)
    run(out=tmp_path)
    assert_same_folders(tmp_path, whole)


def test_held_out_rollouts_are_kept_topped_up_and_never_among_the_others(tmp_path):
    first = run(out=tmp_path / "run", held_out=4, budget=400)
    assert {name: len(its) for name, its in first.held_out.items()} == dict.fromkeys(("one", "two", "three"), 4)
    more = run(out=tmp_path / "run", held_out=9, budget=400)
    for name, its in more.held_out.items():
        assert len(its) == 9
        for a, b in zip(first.held_out[name], its, strict=False):
            assert_same_drawn(a, b)
    for one, other in zip(first.evidence, more.evidence, strict=True):
        assert [a.ids.tolist() for a in one.rollouts] == [b.ids.tolist() for b in other.rollouts]
    assert_same(load_diagnosis(tmp_path / "run"), more)
    assert_same(load_diagnosis(more.save(tmp_path / "saved")), more)
    assert_no_draw_twice(tmp_path / "run")
