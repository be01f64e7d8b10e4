"""Bad input: one clear error that says what was found, what was expected, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import (
    ContextError,
    InvalidInputError,
    LengthLimitError,
    MissingSignalError,
    ModelLoadError,
    RolloutError,
)
from tests import tiny

ROLLOUT = opd.Rollout(id="r", prompt_ids=[3, 9, 4], response_ids=[8, 9], messages=[opd.Message("user", "1+2=?")])


def score(rollouts=(ROLLOUT,), teachers=None, student=None):
    return opd.score(list(rollouts), student or tiny.model(0), teachers or {}, progress=False)


def test_a_path_that_holds_no_model(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ModelLoadError, match=r"holds no model: found notes\.txt, expected config\.json"):
        opd.HFModel(tmp_path)


def test_a_name_that_is_neither_folder_nor_hub_model(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelLoadError, match="no model could be loaded from 'nobody/nothing'"):
        opd.HFModel("nobody/nothing")


def test_a_pair_the_wrong_way_round():
    with pytest.raises(InvalidInputError, match=r"expected \(model, tokenizer\)"):
        opd.HFModel((tiny.tokenizer(), tiny.qwen()))


@pytest.mark.parametrize(("setting", "said"), [({"dtype": "float12"}, "float12"), ({"device": "tpu9"}, "tpu9")])
def test_a_dtype_or_device_that_is_none(setting, said):
    with pytest.raises(InvalidInputError, match=said):
        opd.HFModel((tiny.qwen(), tiny.tokenizer()), **setting)


def test_a_teacher_of_another_tokenizer_and_a_prompt_of_ids_alone():
    other = opd.HFModel((tiny.qwen(5), tiny.tokenizer("zyxwvutsrqponmlkjihgfedcba")), device="cpu", name="foreign")
    bare = opd.Rollout(id="bare", prompt_ids=[3], response_ids=[8])
    with pytest.raises(ContextError, match=r"prompt of 1 ids and neither messages nor prompt_text in rollout 'bare'"):
        score([bare], teachers={"foreign": opd.Teacher(other)})


def test_an_empty_list_of_rollouts():
    with pytest.raises(InvalidInputError, match=r"empty list of rollouts.*read_rollouts"):
        score([])


def test_ids_outside_the_vocabulary():
    bad = opd.Rollout(id="bad", prompt_ids=[3], response_ids=[8, 99])
    with pytest.raises(
        RolloutError, match=r"'bad' holds id 99 at response token 1, and 'tiny-0' has rows for ids 0 to 63"
    ):
        score([bad])


def test_a_context_longer_than_the_model_takes():
    teachers = {"long": opd.Teacher(tiny.model(0), opd.contexts.free_text("x" * 300))}
    with pytest.raises(LengthLimitError, match=r"'long' takes 256 tokens .* needs 31\d: .*, 300 of them the context"):
        score(teachers=teachers)


def test_a_rollout_longer_than_the_student_takes():
    long = opd.Rollout(id="l", prompt_ids=[3], response_ids=np.full(300, 9))
    with pytest.raises(LengthLimitError, match="needs 301: a prompt of 1, and a response of 300"):
        score([long])


def test_a_context_without_text_for_a_question():
    teachers = {"t": opd.Teacher(tiny.model(0), opd.contexts.one_correct({"other": "x"}))}
    with pytest.raises(ContextError, match="no correct text for question ''"):
        score(teachers=teachers)


def test_a_context_has_no_place_in_a_prompt_of_ids_alone():
    bare = opd.Rollout(id="r", prompt_ids=[3], response_ids=[8])
    teachers = {"t": opd.Teacher(tiny.model(0), opd.contexts.free_text("x"))}
    with pytest.raises(ContextError, match="no messages"):
        score([bare], teachers)


def test_the_commonest_slips():
    with pytest.raises(InvalidInputError, match=r"teacher's model of type str.*opd\.HFModel"):
        opd.Teacher("Qwen/Qwen3-4B")
    with pytest.raises(InvalidInputError, match=r"context of type str.*free_text"):
        opd.Teacher(tiny.model(0), "a hint")
    with pytest.raises(InvalidInputError, match=r"expected opd\.Teacher"):
        score(teachers={"t": tiny.model(0)})
    with pytest.raises(InvalidInputError, match="expected a mapping"):
        opd.score([ROLLOUT], tiny.model(0), [opd.Teacher(tiny.model(0))])
    with pytest.raises(InvalidInputError, match="rollout 0 is of type str"):
        score(["text"])


def test_asking_scores_for_what_they_do_not_have():
    scores = score(teachers={"a": opd.Teacher(tiny.model(1)), "b": opd.Teacher(tiny.model(0))})
    with pytest.raises(InvalidInputError, match=r"no teacher 'c'; there are \['a', 'b'\]"):
        scores.signal("advantage", 0, "c")
    with pytest.raises(InvalidInputError, match="name one of"):
        scores.signal("advantage", 0)
    with pytest.raises(InvalidInputError, match="index 7, expected 0 to 0"):
        scores.signal("advantage", 7, "a")
    with pytest.raises(MissingSignalError, match="no signal 'kl'"):
        scores.signal("kl", 0, "a")


def test_a_template_that_refuses_a_system_turn_says_so():
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turns') }}{% endif %}x"
    model = opd.HFModel((tiny.qwen(6), tiny.tokenizer(template=strict)), device="cpu", name="strict")
    teachers = {"t": opd.Teacher(model, opd.contexts.free_text("x", placement="system"))}
    with pytest.raises(ContextError, match="no system turns"):
        score(teachers=teachers)
