"""Other scores in a view: what was selected stays where they have it, and nothing meant for the old ones lands."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from tests import tiny

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]
WAIT = 20


@pytest.fixture(scope="module")
def lab():
    rollouts = opd.sample_rollouts(QUESTIONS, tiny.model(0), n=3, max_new_tokens=12, seed=1)
    return rollouts, tiny.model(0), {"hinted": opd.Teacher(tiny.model(0), opd.contexts.free_text("hint"))}


def scored(lab, rollouts):
    return opd.score(rollouts, *lab[1:], progress=False)


@pytest.fixture
def explorer(lab):
    return opd.Explorer(scored(lab, lab[0]), *lab[1:])


def agree(explorer):
    """Whether the browser takes edits for what it shows."""
    state = explorer.get_state(["scores", "live_new"])
    return state["scores"]["meta"]["generation"] == state["live_new"]["generation"]


def test_edits_and_scores_are_of_one_generation_whatever_was_assigned(explorer, lab):
    assert agree(explorer)
    explorer.scores = explorer.scores
    other = opd.score(lab[0][:1], tiny.model(2), {"hinted": opd.Teacher(tiny.model(2))}, progress=False)
    with pytest.raises(InvalidInputError, match="the student given is"):
        explorer.scores = other
    with pytest.raises(Exception, match="scores"):
        explorer.scores = 3
    before = explorer.generation
    assert explorer.set_context("hinted", "x", rollout=0).wait(WAIT)
    assert agree(explorer)
    assert explorer.generation == before
    explorer.scores = scored(lab, lab[0][:2])
    assert explorer.generation == before + 1
    assert agree(explorer)
    page = explorer.page_state()
    assert page["live"]["generation"] == page["scores"]["meta"]["generation"]


def test_the_rollout_stays_by_its_id_and_the_token_inside(explorer, lab):
    chosen = lab[0][1]
    explorer.rollout, explorer.token = 1, len(chosen) - 1
    explorer.scores = scored(lab, lab[0][::-1])
    assert explorer.place()["rollout"] == chosen.id
    assert explorer.token == len(chosen) - 1
    explorer.scores = scored(lab, [r for r in lab[0] if r.id != chosen.id])
    assert 0 <= explorer.rollout < 5
    assert explorer.token < len(explorer.scores.rollouts[explorer.rollout])


def test_a_linked_view_goes_where_the_others_are(explorer, lab):
    whole = opd.TokenStrip(explorer.scores)
    explorer.scores = scored(lab, lab[0][:2])
    selection = opd.link(whole, explorer)
    whole.rollout = 4
    assert explorer.place()["rollout"] != lab[0][4].id
    explorer.scores = scored(lab, lab[0][3:])
    assert explorer.place()["rollout"] == lab[0][4].id == selection.place["rollout"]


def test_a_page_has_the_likeliest_tokens_of_edits_where_it_has_those_of_scores(explorer, monkeypatch):
    for name in ("opd_widgets.widgets._traits", "opd_widgets.widgets.live.wire"):
        monkeypatch.setattr(f"{name}.WITH_SCORES", 1)
    assert explorer.set_context("hinted", "x", rollout=0).wait(WAIT)
    assert explorer.live["entries"][0]["top"] is None
    page = explorer.page_state()
    assert page["scores"]["student_top"] is not None
    assert page["live"]["entries"][0]["top"] is not None
    lean = explorer.page_state(top_k=False)
    assert lean["live"]["entries"][0]["top"] is None
