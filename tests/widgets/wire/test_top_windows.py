"""The likeliest tokens by the window: what a block holds, when it is refused, and what a page says without them."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.widgets import _scores_widget, _traits
from opd_widgets.widgets._base import STATIC
from opd_widgets.widgets.wire.top_windows import columns_sent, top_bytes
from tests import tiny

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]
WAIT = 20
UNUSED = 0xFFFFFFFF


@pytest.fixture(scope="module")
def lab():
    rollouts = opd.sample_rollouts(QUESTIONS, tiny.model(0), n=2, max_new_tokens=12, seed=1)
    hint = opd.contexts.free_text("hint")
    return rollouts, tiny.model(0), {"other": opd.Teacher(tiny.model(1)), "hinted": opd.Teacher(tiny.model(0), hint)}


@pytest.fixture(scope="module")
def scores(lab):
    return opd.score(*lab, progress=False)


@pytest.fixture
def on_request(monkeypatch):
    """Make every run one that is too large to travel whole."""
    monkeypatch.setitem(_traits.wire_scores.__kwdefaults__, "most_top", 0)
    monkeypatch.setattr("opd_widgets.widgets.live.wire.WITH_SCORES", 0)


def ask(widget, **params):
    sent = []
    widget.send = lambda content, buffers=(): sent.append((content, list(buffers)))
    params = {"generation": widget.generation, "teacher": "other", "rollout": 0, "version": 0, "start": 0, **params}
    content = {"kind": "request", "id": params.pop("id", "1"), "method": "top_block", "params": params}
    widget._handle_custom_msg(content, [])
    return sent[0]


def arrays(buffers, count, k):
    kinds = ["<u4", "<f4", "<u4", "<f4", "<f4", "<f4"]
    return [np.frombuffer(part, kind).reshape(count, k) for part, kind in zip(buffers, kinds, strict=False)]


@pytest.mark.parametrize("view", [opd.Explorer, opd.TokenStrip, opd.TokenPanel, opd.RolloutList])
def test_a_block_is_a_part_of_the_whole(scores, view):
    whole = _traits.wire_scores(scores)
    k = whole["meta"]["top_k"]
    index = max(range(len(scores)), key=lambda n: len(scores.rollouts[n]))
    row = whole["meta"]["rollouts"][index]
    answer, buffers = ask(view(scores), rollout=index, start=3, stop=9)
    assert answer["ok"]
    assert {key: answer["result"][key] for key in ("start", "count", "k")} == {"start": 3, "count": 6, "k": k}
    top = whole["teacher_top"]["other"]
    student = whole["student_top"]
    wanted = [student["ids"], student["student"], top["ids"], top["teacher"], top["student"], top["at_student"]]
    here = slice(row["offset"] + 3, row["offset"] + 9)
    for found, all_of_it in zip(arrays(buffers, 6, k), wanted, strict=True):
        np.testing.assert_array_equal(found, np.frombuffer(all_of_it, found.dtype).reshape(-1, k)[here])
    named = {int(token) for part in (buffers[0], buffers[2]) for token in np.frombuffer(part, "<u4")} - {UNUSED}
    assert answer["result"]["vocab"] == {str(token): whole["meta"]["vocab"][str(token)] for token in named}
    assert [len(part) for part in buffers] == [6 * k * 4] * 6


def test_without_a_teacher_there_is_the_students_side(lab):
    alone = opd.TokenPanel(opd.score(lab[0], lab[1], {}, progress=False))
    answer, buffers = ask(alone, teacher="", stop=4)
    assert answer["ok"]
    assert len(buffers) == 2


def test_an_older_run_and_a_request_given_up_are_not_answered_with_data(scores):
    panel = opd.TokenPanel(scores)
    assert ask(panel, generation=panel.generation - 1, stop=4) == (
        {"kind": "response", "id": "1", "ok": True, "result": {"superseded": True}},
        [],
    )
    panel._handle_custom_msg({"kind": "cancel", "id": "late"}, [])
    assert ask(panel, id="late", stop=4)[0]["result"] == {"superseded": True}
    assert ask(panel, id="next", stop=4)[0]["result"]["count"] == 4


@pytest.mark.parametrize("stop", [0, 10_000])
def test_a_stretch_that_is_not_there_is_refused(scores, stop):
    answer, _ = ask(opd.TokenPanel(scores), stop=stop)
    assert not answer["ok"]
    assert answer["error"]["type"] == "InvalidInputError"
    assert (
        f"found tokens 0 to {stop}, expected at most 4096 of the {len(scores.rollouts[0])}"
        in answer["error"]["message"]
    )


@pytest.mark.usefixtures("on_request")
def test_an_edit_is_answered_in_the_version_that_is_shown(lab, scores):
    explorer = opd.Explorer(scores, lab[1], lab[2])
    explorer.set_context("hinted", "answer 3", rollout=0).wait(WAIT)
    entry = next(e for e in explorer.live["entries"] if e["rollout"] == 0)
    assert entry["top"] is None
    k = columns_sent(scores)
    stop = len(scores.rollouts[0])
    answer, buffers = ask(explorer, teacher="hinted", version=entry["version"], stop=stop)
    assert answer["ok"]
    edited = explorer.edited_scores().items[0].teachers["hinted"]
    found = arrays(buffers, stop, k)
    np.testing.assert_array_equal(found[2], edited.track.topk.ids[:, :k])
    np.testing.assert_array_equal(found[5], edited.at_student_top[:, :k])
    assert not np.array_equal(found[5], scores.items[0].teachers["hinted"].at_student_top[:, :k])
    assert ask(explorer, teacher="hinted", version=entry["version"] + 1, stop=4)[0]["result"] == {"superseded": True}
    refused = ask(opd.TokenPanel(scores), teacher="hinted", version=entry["version"], stop=4)[0]
    assert "select the token in the Explorer that edited the context" in refused["error"]["message"]


@pytest.mark.usefixtures("on_request")
def test_a_large_run_sends_none_of_it(scores):
    sent = opd.Explorer(scores).get_state()["scores"]
    assert sent["meta"]["top_source"] == "on_request"
    assert sent["meta"]["top_k"] == columns_sent(scores) > 0
    assert (sent["student_top"], sent["teacher_top"], sent["meta"]["vocab"]) == (None, {}, {})
    tokens = sum(map(len, scores.rollouts))
    sizes = {name: len(sent[name]) for name in ("values", "token_ids", "cells")}
    assert sizes == {"values": 4 * tokens * len(sent["meta"]["planes"]), "token_ids": 4 * tokens, "cells": 2 * tokens}
    assert (sent["mask"], sent["groups"]) == (None, {})


def test_the_limit_counts_the_bytes_that_would_travel(scores):
    sent = _traits.wire_scores(scores)
    assert sent["meta"]["top_source"] == "sent"
    parts = [sent["student_top"], *sent["teacher_top"].values()]
    assert top_bytes(scores) == sum(len(buffer) for part in parts for buffer in part.values())


def test_a_page_holds_them_up_to_a_size_and_says_where_not(scores, monkeypatch, recwarn):
    panel = opd.TokenPanel(scores)
    assert panel.page_state()["scores"]["meta"]["top_source"] == "sent"
    monkeypatch.setattr(_scores_widget, "IN_PAGE", top_bytes(scores) - 1)
    left = panel.page_state()["scores"]
    assert left["meta"]["top_source"] == "left_out"
    assert left["student_top"] is None
    assert "are not in this page; opd.write_page(..., top_k=True) writes them too." in left["meta"]["notes"][-1]
    assert panel.page_state(top_k=True)["scores"]["student_top"] is not None
    without = panel.page_state(top_k=False)["scores"]
    assert (without["student_top"], without["meta"]["notes"]) == (None, list(scores.notes))
    assert not recwarn


def test_a_page_without_them_warns_who_writes_it(scores, monkeypatch, tmp_path):
    if not (STATIC / "token_panel.js").exists():
        pytest.skip("the front end of this checkout has not been built")
    monkeypatch.setattr(_scores_widget, "IN_PAGE", 0)
    with pytest.warns(UserWarning, match="are not in this page") as seen:
        opd.write_page(opd.TokenPanel(scores), tmp_path / "page.html")
    assert seen[0].filename == __file__
