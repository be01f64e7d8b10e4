"""Edits that the front end asks for: the newest wins, what is taken back does not run, and nothing old is said."""

from __future__ import annotations

import threading

import pytest

import opd_widgets as opd
from opd_widgets.errors import Cancelled
from opd_widgets.scoring.jobs import Job
from tests import tiny

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]
WAIT = 20


@pytest.fixture(scope="module")
def lab():
    rollouts = opd.sample_rollouts(QUESTIONS, tiny.model(0), n=3, max_new_tokens=12, seed=1)
    return rollouts, tiny.model(0), {"hinted": opd.Teacher(tiny.model(0), opd.contexts.free_text("hint"))}


@pytest.fixture(scope="module")
def scores(lab):
    return opd.score(*lab, progress=False)


@pytest.fixture
def explorer(lab, scores):
    return opd.Explorer(scores, lab[1], lab[2])


def ask(widget, method, **params):
    """Send a request as the front end does and return the answer."""
    sent: list[dict] = []
    widget.send = sent.append
    widget._handle_custom_msg({"kind": "request", "id": "1", "method": method, "params": params}, [])
    return sent[0]


def wait_idle(explorer):
    for key in list(explorer.live_scoring()._jobs):
        assert explorer.live_scoring()._jobs[key].wait(WAIT)


def test_an_edit_delivered_after_its_own_reset_does_not_come_back(explorer):
    ask(explorer, "reset_context", teacher="hinted", rollout=0, view="v", sequence=2)
    late = ask(explorer, "set_context", teacher="hinted", rollout=0, text="old", view="v", sequence=1)
    assert late["result"] == {"superseded": True}
    assert explorer.live["entries"] == []


def test_rollouts_that_name_no_question_are_edited_one_by_one(lab):
    rollouts = [
        opd.Rollout(id=str(i), prompt_ids=r.prompt_ids, response_ids=r.response_ids, messages=r.messages)
        for i, r in enumerate(lab[0][:2])
    ]
    explorer = opd.Explorer(opd.score(rollouts, lab[1], lab[2], progress=False), lab[1], lab[2])
    jobs = [explorer.set_context("hinted", text, rollout=i) for i, text in enumerate(("one", "two"))]
    assert all(job.wait(WAIT) for job in jobs)
    assert [item.teachers["hinted"].context for item in explorer.edited_scores().items] == ["one", "two"]


def test_a_request_given_up_before_it_arrives_does_nothing(explorer):
    explorer._handle_custom_msg({"kind": "cancel", "id": "1"}, [])
    assert ask(explorer, "set_context", teacher="hinted", rollout=0, text="x")["result"] == {"superseded": True}
    assert explorer.live["entries"] == []


def test_giving_up_an_old_request_leaves_a_newer_edit_alone(explorer):
    ask(explorer, "set_context", teacher="hinted", rollout=0, text="first", view="v", sequence=1)
    wait_idle(explorer)
    job = explorer.set_context("hinted", "second", rollout=0)
    explorer._handle_custom_msg({"kind": "cancel", "id": "1"}, [])
    assert job.wait(WAIT)
    assert job.error is None


def test_a_reset_beats_a_result_on_its_way(explorer, monkeypatch):
    """The worker is held between its last result and telling of it; the reset comes in between."""
    reached, go_on = threading.Event(), threading.Event()
    publish = explorer.live_scoring().publish

    def held(live, job, progress):
        if progress.state == "done":
            reached.set()
            go_on.wait(WAIT)
        publish(live, job, progress)

    monkeypatch.setattr(explorer.live_scoring(), "publish", held)
    job = explorer.set_context("hinted", "slow", rollout=0)
    assert reached.wait(WAIT)
    explorer.reset_context("hinted", 0)
    go_on.set()
    assert job.wait(WAIT)
    assert explorer.live["entries"] == []
    assert explorer.job["state"] == "idle"


@pytest.mark.parametrize("end", ["reset", "new scores"])
def test_what_was_reset_is_not_said_to_be_cancelled(explorer, lab, monkeypatch, end):
    """The worker stands before its second rollout while the edit is taken back."""
    reached, go_on = threading.Event(), threading.Event()
    live = explorer.live_scoring()
    keep = live._keep

    def held(job, edit, *args, **kwargs):
        if edit[1] != 0:
            reached.set()
            go_on.wait(WAIT)
        keep(job, edit, *args, **kwargs)

    monkeypatch.setattr(live, "_keep", held)
    job = explorer.set_context("hinted", "slow", rollout=0)
    assert reached.wait(WAIT)
    if end == "reset":
        explorer.reset_context("hinted", 0)
    else:
        explorer.scores = opd.score(lab[0][:3], *lab[1:], progress=False)
    go_on.set()
    assert job.wait(WAIT)
    assert isinstance(job.error, Cancelled)
    assert explorer.job["state"] == "idle"
    assert explorer.live["entries"] == []


def test_the_older_of_two_edits_does_not_win_by_coming_between(explorer, monkeypatch):
    """The older one is held where its prompt is being made, and the newer one comes meanwhile."""
    reached, go_on = threading.Event(), threading.Event()
    edit = type(explorer.live_scoring()).edit

    def held(live, teacher, rollout, text):
        if text == "old":
            reached.set()
            go_on.wait(0.3)
        return edit(live, teacher, rollout, text)

    monkeypatch.setattr(type(explorer.live_scoring()), "edit", held)
    asked = {"teacher": "hinted", "rollout": 0, "view": "v"}
    rpc = explorer._requests.methods["set_context"]
    older = threading.Thread(target=rpc, kwargs={**asked, "request_id": "old", "text": "old", "sequence": 1})
    older.start()
    assert reached.wait(WAIT)
    newer = threading.Thread(target=rpc, kwargs={**asked, "request_id": "new", "text": "new", "sequence": 2})
    newer.start()
    older.join(WAIT)
    newer.join(WAIT)
    wait_idle(explorer)
    assert explorer.edited_scores().items[0].teachers["hinted"].context == "new"


def test_an_edit_given_up_while_it_is_taken_in_does_not_run(explorer, monkeypatch):
    reached = threading.Event()
    edit = type(explorer.live_scoring()).edit
    jobs: list[Job] = []

    def held(live, teacher, rollout, text):
        reached.set()
        gave_up.wait(0.2)
        jobs.append(edit(live, teacher, rollout, text)[0])
        return jobs[0], 1

    gave_up = threading.Event()
    monkeypatch.setattr(type(explorer.live_scoring()), "edit", held)
    asked = {"teacher": "hinted", "rollout": 0, "view": "v", "request_id": "7", "text": "x", "sequence": 1}
    taking = threading.Thread(target=explorer._requests.methods["set_context"], kwargs=asked)
    taking.start()
    assert reached.wait(WAIT)
    explorer.give_up("7")
    taking.join(WAIT)
    assert jobs[0].wait(WAIT)
    assert jobs[0].cancelled
