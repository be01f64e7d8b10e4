"""What the browser is sent of a teacher of another tokenizer."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.widgets._traits import wire_scores
from tests import byte_pair

HINT = "It is 12, <b>no</b> more."


@pytest.fixture(scope="module")
def scores():
    student, teacher = byte_pair.student(), byte_pair.teacher()
    questions = [opd.Question("q1", "What is 10+2=?"), opd.Question("q2", "Hello world")]
    rollouts = opd.sample_rollouts(questions, student, n=2, max_new_tokens=12, seed=1)
    hint = opd.contexts.free_text(HINT, placement="system")
    teachers = {
        "same": opd.Teacher(byte_pair.student(3)),
        "other": opd.Teacher(teacher),
        "hinted": opd.Teacher(teacher, hint),
    }
    return opd.score(rollouts, student, teachers, progress=False)


@pytest.fixture(scope="module")
def wire(scores):
    return wire_scores(scores)


def test_groups_along_the_token_axis(scores, wire):
    assert list(wire["groups"]) == ["other", "hinted"]
    found = np.frombuffer(wire["groups"]["other"], "<i4")
    np.testing.assert_array_equal(found, np.concatenate([item.teachers["other"].groups for item in scores.items]))


def test_values_stand_at_a_groups_last_token(wire):
    row = wire["meta"]["planes"].index({"signal": "advantage", "teacher": "other"})
    values = np.frombuffer(wire["values"], "<f4").reshape(-1, wire["meta"]["tokens"])[row]
    groups = np.frombuffer(wire["groups"]["other"], "<i4")
    last = np.append(groups[1:] != groups[:-1], True) & (groups >= 0)
    assert (np.isnan(values) == ~last).all()


def test_the_teachers_own_tokens_of_each_group(scores, wire):
    for record, item in zip(wire["meta"]["rollouts"], scores.items, strict=True):
        own = item.teachers["other"].own
        assert list(record["other_tokens"]) == ["other", "hinted"]
        assert len(record["other_tokens"]["other"]) == item.teachers["other"].groups.max() + 1
        assert sum(map(len, record["other_tokens"]["other"])) == (own.groups >= 0).sum()
        assert record["other_lengths"]["other"] == len(own.ids)
        assert all(text for group in record["other_tokens"]["other"] for text in group)


def test_a_prompt_is_spelled_in_the_teachers_own_tokens(scores, wire):
    record, prompts = wire["meta"]["rollouts"][0], wire["meta"]["prompts"]
    prompt = prompts[record["teacher_prompts"]["hinted"]]
    texts = prompt["cells"]["texts"]
    assert "".join(texts) == f"<system> {HINT}\n<user> What is 10+2=?\n<assistant> "
    assert prompt["tokens"] == len(scores.items[0].teachers["hinted"].prompt_ids)
    start, stop = prompt["differs"]  # the context, to the cell
    assert HINT in "".join(texts[start:stop])
    assert HINT not in "".join(texts[start + 1 : stop])
    assert HINT not in "".join(texts[start : stop - 1])
    assert prompts[record["teacher_prompts"]["other"]]["differs"] is None


def test_the_others_keep_their_top_tokens(wire):
    assert wire["meta"]["top_k"] == 10
    ids = {name: np.frombuffer(top["ids"], "<u4") for name, top in wire["teacher_top"].items()}
    assert (ids["same"] != 0xFFFFFFFF).all()
    assert (ids["other"] == 0xFFFFFFFF).all()


def test_every_signal_that_a_teacher_lacks_is_there_under_the_one_that_has_it(wire):
    available = {row["name"] for row in wire["meta"]["signals"] if row["available"]}
    assert {"advantage", "reverse_kl"} <= available
    planes = {(plane["signal"], plane["teacher"]) for plane in wire["meta"]["planes"]}
    assert ("reverse_kl", "same") in planes
    assert ("reverse_kl", "other") not in planes
