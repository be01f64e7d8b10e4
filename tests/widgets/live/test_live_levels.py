"""Edits on the wire: nothing is sent twice in a row, and all of it is there for a late view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.widgets.live.levels import HELD, LIVE_TRAITS, LiveLevels, size
from tests import tiny

WAIT = 20


def entry(rollout, version, size=40 << 10):
    return {"teacher": "t", "rollout": rollout, "version": version, "values": bytes(size), "top": None}


def held(traits):
    """Return what a front end shows: of each place the highest version."""
    newest: dict[tuple[str, int], dict[str, Any]] = {}
    for trait in traits.values():
        for one in trait["entries"] if trait else []:
            at = (one["teacher"], one["rollout"])
            if at not in newest or one["version"] > newest[at]["version"]:
                newest[at] = one
    return newest


def test_a_job_of_many_rollouts_sends_each_a_few_times_and_shows_all_at_every_step():
    levels, shown, given, sent = LiveLevels(), {}, {}, []
    for step in range(200):
        given[step] = entry(step, step + 1)
        changed = levels.traits({"entries": list(given.values()), "vocab": {}, "generation": 1})
        sent.append(sum(size(one) for trait in changed.values() for one in trait["entries"]))
        shown.update(changed)
        assert {place[1]: one["version"] for place, one in held(shown).items()} == {
            rollout: one["version"] for rollout, one in given.items()
        }
    one = 40 << 10
    assert sorted(sent)[len(sent) // 2] <= HELD[0] + one  # half of the steps send the first trait at most
    assert sum(sent) < sum(n * one for n in range(1, 201)) / 5  # all of them at every step
    assert levels.traits({"entries": list(given.values()), "vocab": {}, "generation": 1}) == {}


def test_an_entry_that_changes_hides_the_one_before_it_and_a_reset_drops_both():
    levels, shown = LiveLevels(), {}
    for step in range(12):  # the first ones move on
        shown.update(levels.traits({"entries": [entry(n, n + 1) for n in range(step + 1)], "generation": 1}))
    again = [entry(0, 99), *(entry(n, n + 1) for n in range(1, 12))]
    changed = levels.traits({"entries": again, "generation": 1})
    shown.update(changed)
    assert held(shown)["t", 0]["version"] == 99
    shown.update(levels.traits({"entries": again[1:], "generation": 1}))
    assert ("t", 0) not in held(shown)
    assert len(held(shown)) == 11


def test_other_scores_and_names_of_tokens():
    levels = LiveLevels()
    first = levels.traits({"entries": [entry(0, 1)], "vocab": {"5": ["five", "t"]}, "generation": 1})
    assert first["live_new"]["vocab"] == {"5": ["five", "t"]}
    second = levels.traits({"entries": [], "vocab": {}, "generation": 2})
    assert set(second) == set(LIVE_TRAITS)
    assert all(trait == {"entries": [], "vocab": {}, "generation": 2} for trait in second.values())


@pytest.fixture(scope="module")
def edited():
    questions = [opd.Question("q1", "1+2=?")]
    rollouts = opd.sample_rollouts(questions, tiny.model(0), n=3, max_new_tokens=12, seed=1)
    teachers = {"hinted": opd.Teacher(tiny.model(0), opd.contexts.free_text("hint"))}
    explorer = opd.Explorer(rollouts, tiny.model(0), teachers)
    explorer.set_context("hinted", "answer 3").wait(WAIT)
    return explorer


def test_what_is_sent_is_what_the_trait_says(edited):
    state = edited.get_state()
    shown = held({name: state[name] for name in LIVE_TRAITS})
    assert sorted(place[1] for place in shown) == [0, 1, 2]
    assert {id(one) for one in shown.values()} == {id(one) for one in edited.live["entries"]}
    assert "live" not in state


def test_a_page_and_a_linked_view_have_the_edits(edited):
    page = edited.page_state()
    assert [one["rollout"] for one in page["live"]["entries"]] == [one["rollout"] for one in edited.live["entries"]]
    assert not set(LIVE_TRAITS) & set(page)
    panel = opd.TokenPanel(edited.scores)
    panel.live = edited.live
    values = np.frombuffer(held({name: panel.get_state()[name] for name in LIVE_TRAITS})["hinted", 0]["values"], "<f4")
    order = [p["signal"] for p in page["scores"]["meta"]["planes"] if p["teacher"] == "hinted"]
    wanted = edited.edited_scores().signal("advantage", 0, "hinted")
    np.testing.assert_array_equal(values.reshape(len(order), -1)[order.index("advantage")], wanted)


def test_a_second_edit_keeps_the_entries_it_does_not_touch(edited):
    before = {one["rollout"]: one for one in edited.live["entries"]}
    edited.token = 1
    assert {one["rollout"]: one for one in edited.live["entries"]} == before
    edited.set_context("hinted", "answer 4").wait(WAIT)
    after = {one["rollout"]: one for one in edited.live["entries"]}
    assert all(after[n]["version"] > before[n]["version"] for n in before)
