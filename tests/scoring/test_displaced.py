"""A context that takes something's place is told of: here, a template's own system prompt."""

from __future__ import annotations

import warnings

import pytest

import opd_widgets as opd
from tests import tiny

OWN = (
    "{% if messages[0]['role'] != 'system' %}<s>be good\n{% endif %}"
    "{% for m in messages %}<{{ m['role'][0] }}>{{ m['content'] }}\n{% endfor %}<a>"
)


def scored(placement, template=OWN, turns=()):
    student = opd.HFModel((tiny.qwen(0), tiny.tokenizer(template=template)), device="cpu", name="tiny-own")
    question = opd.Question("q", (*turns, opd.Message("user", "1+2=?")))
    rollouts = opd.sample_rollouts([question], student, n=2, max_new_tokens=4)
    teacher = opd.Teacher(student, opd.contexts.free_text("hint", placement=placement))
    return opd.score(rollouts, student, {"T": teacher}, progress=False, noise_rollouts=0)


def test_a_system_context_displaces_the_templates_own_system_prompt():
    with pytest.warns(UserWarning, match=r"T: its context takes the place of 'be good', which the chat template"):
        scores = scored("system")
    assert sum("takes the place" in note for note in scores.notes) == 1


@pytest.mark.parametrize(
    ("placement", "template", "turns"),
    [
        ("user", OWN, ()),
        ("system", OWN, (opd.Message("system", "be brief"),)),
        ("system_turn", OWN, (opd.Message("system", "be brief"),)),
        ("system", tiny.TEMPLATE, ()),
    ],
)
def test_a_context_that_only_adds_is_no_word(placement, template, turns):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = scored(placement, template, turns)
    assert not any("takes the place" in note for note in scores.notes)
