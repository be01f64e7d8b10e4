"""The Explorer from Python's side: traits, wire form, live scoring."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import Cancelled, ContextError, InvalidInputError, LengthLimitError, MissingSignalError
from tests import tiny

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]
WAIT = 20


@pytest.fixture(scope="module")
def lab():
    rollouts = opd.sample_rollouts(QUESTIONS, tiny.model(0), n=3, max_new_tokens=12, seed=1)
    teachers = {
        "other": opd.Teacher(tiny.model(1)),
        "hinted": opd.Teacher(tiny.model(0), opd.contexts.free_text("hint")),
    }
    return rollouts, tiny.model(0), teachers


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


def plane(state, name, teacher):
    meta = state["scores"]["meta"]
    values = np.frombuffer(state["scores"]["values"], "<f4").reshape(len(meta["planes"]), -1)
    return values[meta["planes"].index({"signal": name, "teacher": teacher})]


def test_wire_form_carries_the_numbers_of_the_scores(scores):
    state = opd.Explorer(scores).get_state()
    meta = state["scores"]["meta"]
    for index, row in enumerate(meta["rollouts"]):
        here = slice(row["offset"], row["offset"] + row["length"])
        for teacher in scores.teachers:
            np.testing.assert_array_equal(
                plane(state, "advantage", teacher)[here], scores.signal("advantage", index, teacher)
            )
        np.testing.assert_array_equal(
            plane(state, "student_entropy", None)[here], scores.signal("student_entropy", index)
        )
        ids = np.frombuffer(state["scores"]["token_ids"], "<u4")[here]
        assert ids.tolist() == scores.rollouts[index].response_ids.tolist()
    assert meta["tokens"] == sum(map(len, scores.rollouts))
    assert [t["name"] for t in meta["teachers"]] == list(scores.teachers)


def test_wire_form_names_every_token_it_mentions(scores):
    state = opd.Explorer(scores).get_state()["scores"]
    for part in (state["student_top"], *state["teacher_top"].values()):
        ids = set(np.frombuffer(part["ids"], "<u4").tolist()) - {0xFFFFFFFF}
        assert {str(i) for i in ids} <= set(state["meta"]["vocab"])


def test_wire_form_says_what_only_the_teacher_sees(scores):
    meta = opd.Explorer(scores).get_state()["scores"]["meta"]
    prompts = meta["prompts"]
    row = meta["rollouts"][0]
    assert prompts[row["teacher_prompts"]["other"]]["differs"] is None
    hinted = prompts[row["teacher_prompts"]["hinted"]]
    start, stop = hinted["differs"]
    assert "hint" in "".join(hinted["cells"]["texts"][start:stop])
    assert row["contexts"] == {"hinted": {"text": "hint", "tokens": 4, "leaks": None}}


def test_one_scale_for_all_and_a_reason_for_what_is_missing(scores):
    rows = {row["name"]: row for row in opd.Explorer(scores).get_state()["scores"]["meta"]["signals"]}
    assert rows["advantage"]["available"]
    assert rows["advantage"]["limit"] > 0
    assert rows["advantage"]["noise"] == scores.noise["advantage"]
    assert rows["topk_overlap"]["limit"] == 1
    assert not rows["alignment"]["available"]
    assert "targeted rollouts" in rows["alignment"]["reason"]


def test_infinite_and_missing_values_cross_as_they_are():
    rollout = opd.Rollout(id="r", prompt_ids=[], response_ids=[7, 8])
    scores = opd.score([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, progress=False)
    state = opd.Explorer(scores).get_state()
    assert np.isnan(plane(state, "advantage", "t")[0])


def test_a_signal_that_is_not_there_is_refused_with_the_reason(explorer, lab):
    with pytest.raises(MissingSignalError, match="'alignment' is not available in these scores: needs success"):
        explorer.signal = "alignment"
    alone = opd.Explorer(opd.score(lab[0], lab[1], {}, progress=False))
    assert alone.signal == "student_entropy"
    explorer.signal = "reverse_kl"
    explorer.scores = alone.scores
    assert explorer.signal == "student_entropy"


def test_labels_keep_what_special_tokens_kept_apart():
    ids = [7, 8, 4, 8, 1]  # b c <a> c <eos>
    rollout = opd.Rollout(
        id="r", prompt_ids=[3], response_ids=ids, messages=[opd.Message("user", "mine")], question="q"
    )
    other = opd.Rollout(id="s", prompt_ids=[3], response_ids=ids, messages=[opd.Message("user", "its")], question="q")
    rows = opd.Explorer(opd.score([rollout, other], tiny.model(0), {}, progress=False)).get_state()["scores"]["meta"][
        "rollouts"
    ]
    assert rows[0]["label"] == "bc c"
    assert [row["title"] for row in rows] == ["mine", "its"]


def test_selection_is_checked_and_the_error_names_the_choices(explorer):
    explorer.rollout, explorer.token, explorer.teacher, explorer.signal = 5, 3, "hinted", "reverse_kl"
    with pytest.raises(InvalidInputError, match="rollout=6, expected 0 to 5"):
        explorer.rollout = 6
    with pytest.raises(InvalidInputError, match="no teacher 'x'; there are"):
        explorer.teacher = "x"
    with pytest.raises(KeyError, match="no signal 'x'"):
        explorer.signal = "x"
    with pytest.raises(InvalidInputError, match="token=-2"):
        explorer.token = -2
    assert (explorer.rollout, explorer.token, explorer.teacher, explorer.signal) == (5, 3, "hinted", "reverse_kl")


def test_new_scores_keep_the_selection_where_they_can(explorer, lab):
    explorer.rollout, explorer.teacher = 5, "hinted"
    explorer.scores = opd.score(lab[0][:2], lab[1], {"other": lab[2]["other"]}, progress=False)
    assert explorer.rollout == 1
    assert explorer.teacher == "other"


def test_an_edit_rescored_in_the_background_equals_scoring_with_that_context(explorer, lab):
    job = explorer.set_context("hinted", "answer 3", rollout=1)
    assert job.wait(WAIT)
    assert job.error is None
    edited = {"hinted": opd.Teacher(lab[1], opd.contexts.free_text("answer 3"))}
    fresh = opd.score(lab[0], lab[1], edited, progress=False)
    merged = explorer.edited_scores()
    for index in range(6):
        same_question = lab[0][index].question == lab[0][1].question
        wanted = (fresh if same_question else explorer.scores).signal("advantage", index, "hinted")
        np.testing.assert_allclose(merged.signal("advantage", index, "hinted"), wanted, atol=1e-5)
    assert sorted(entry["rollout"] for entry in explorer.live["entries"]) == [0, 1, 2]
    assert explorer.job["state"] == "done"
    assert (explorer.job["done"], explorer.job["total"]) == (3, 3)


def test_the_live_trait_carries_the_edits_numbers(explorer):
    explorer.set_context("hinted", "answer 3", rollout=0).wait(WAIT)
    entry = next(e for e in explorer.live["entries"] if e["rollout"] == 0)
    order = [p["signal"] for p in explorer.get_state()["scores"]["meta"]["planes"] if p["teacher"] == "hinted"]
    values = np.frombuffer(entry["values"], "<f4").reshape(len(order), -1)
    wanted = explorer.edited_scores().signal("advantage", 0, "hinted")
    np.testing.assert_array_equal(values[order.index("advantage")], wanted)
    assert entry["context"]["text"] == "answer 3"
    assert "answer 3" in "".join(entry["prompt"]["cells"]["texts"])


def test_reset_shows_the_first_context_again(explorer):
    explorer.set_context("hinted", "answer 3").wait(WAIT)
    explorer.reset_context("hinted")
    assert explorer.live["entries"] == []
    assert explorer.edited_scores().items[0].teachers["hinted"].context == "hint"


def test_the_scores_with_edits_spell_every_token_of_theirs(explorer):
    explorer.set_context("hinted", "new: 98765").wait(WAIT)
    scores = explorer.edited_scores()
    for item in scores.items:
        assert set(item.teachers["hinted"].prompt_ids.tolist()) <= set(scores.pieces)
        assert set(item.teachers["hinted"].track.topk.ids.ravel().tolist()) - {-1} <= set(scores.pieces)


def test_the_newest_edit_wins(explorer):
    jobs = [explorer.set_context("hinted", f"try {i}") for i in range(5)]
    assert all(job.wait(WAIT) for job in jobs)
    assert explorer.edited_scores().items[0].teachers["hinted"].context == "try 4"
    assert explorer.job["state"] == "done"


def test_an_edit_that_is_too_long_is_refused_at_once_and_nothing_changes(explorer):
    with pytest.raises(LengthLimitError, match="400 of them the context"):
        explorer.set_context("hinted", "x" * 400)
    with pytest.raises(ContextError, match="no context to edit"):
        explorer.set_context("other", "x")
    assert explorer.live["entries"] == []


def test_a_cancelled_edit_says_so_and_keeps_what_it_has(explorer, monkeypatch):
    """The first rollout is let through, the second waits for the cancel."""
    reached, go_on = threading.Event(), threading.Event()
    head = tiny.model(0).head
    calls = []

    def slow(rows):
        calls.append(len(rows))
        if len(calls) > 2:
            reached.set()
            go_on.wait(WAIT)
        return head(rows)

    monkeypatch.setattr(tiny.model(0), "head", slow)
    job = explorer.set_context("hinted", "slow", rollout=0)
    assert reached.wait(WAIT)
    assert ask(explorer, "cancel_job", teacher="hinted", question="q1")["result"] == {"cancelled": True}
    go_on.set()
    assert job.wait(WAIT)
    assert isinstance(job.error, Cancelled)
    assert explorer.job["state"] == "cancelled"
    assert [entry["rollout"] for entry in explorer.live["entries"]] == [0]


def test_requests_of_the_front_end(explorer):
    answer = ask(explorer, "set_context", teacher="hinted", rollout=0, text="answer 3")
    assert answer["ok"]
    assert answer["result"]["rollouts"] == 3
    refused = ask(explorer, "set_context", teacher="hinted", rollout=0, text="x" * 400)
    assert not refused["ok"]
    assert refused["error"]["type"] == "LengthLimitError"
    assert "400 of them the context" in refused["error"]["message"]
    assert not ask(explorer, "delete_everything")["ok"]
    assert ask(explorer, "reset_context", teacher="hinted", rollout=0)["ok"]


def test_reading_only(scores):
    explorer = opd.Explorer(scores)
    assert explorer.job["state"] == "none"
    with pytest.raises(InvalidInputError, match="only reads scores"):
        explorer.set_context("hinted", "x")
    assert not any(t["editable"] for t in explorer.get_state()["scores"]["meta"]["teachers"])
    assert explorer.edited_scores() is scores


def test_editable_are_the_teachers_with_a_context(explorer):
    teachers = explorer.get_state()["scores"]["meta"]["teachers"]
    assert {t["name"]: t["editable"] for t in teachers} == {"other": False, "hinted": True}


def test_half_of_what_live_scoring_needs(lab, scores):
    with pytest.raises(InvalidInputError, match="expected both"):
        opd.Explorer(scores, lab[1])
    with pytest.raises(InvalidInputError, match="rollouts alone"):
        opd.Explorer(lab[0])


def test_new_scores_end_the_edits_of_the_old_ones(explorer, lab):
    explorer.set_context("hinted", "answer 3").wait(WAIT)
    before = explorer.generation
    explorer.scores = opd.score(lab[0][3:], lab[1], lab[2], progress=False)
    assert explorer.generation == explorer.live["generation"] == before + 1
    assert explorer.live["entries"] == []
    assert explorer.edited_scores() is explorer.scores
    explorer.set_context("hinted", "answer 4").wait(WAIT)
    assert sorted(entry["rollout"] for entry in explorer.live["entries"]) == [0, 1, 2]
    assert explorer.edited_scores().items[0].teachers["hinted"].context == "answer 4"


def test_an_edit_is_scored_with_the_settings_of_the_scores(lab):
    options = opd.Options(top_k=17, settings=opd.SignalSettings(beta=0.1))
    scores = opd.score(*lab, options=options, progress=False)
    explorer = opd.Explorer(scores, lab[1], lab[2])
    explorer.set_context("hinted", "hint", rollout=0).wait(WAIT)
    same = explorer.edited_scores().signal("jsd", 0, "hinted")
    np.testing.assert_allclose(same, scores.signal("jsd", 0, "hinted"), atol=1e-5)
    with pytest.raises(InvalidInputError, match="were made with"):
        opd.Explorer(scores, lab[1], lab[2], options=opd.Options())


def test_another_student_or_an_unknown_teacher_is_refused(lab, scores):
    with pytest.raises(InvalidInputError, match="of student 'tiny-0' and the student given is 'tiny-1'"):
        opd.Explorer(scores, tiny.model(1), lab[2])
    with pytest.raises(InvalidInputError, match=r"not \['new'\]"):
        opd.Explorer(scores, lab[1], {**lab[2], "new": lab[2]["hinted"]})


def test_an_older_edit_delivered_late_does_not_win(explorer):
    new = ask(explorer, "set_context", teacher="hinted", rollout=0, text="new", view="v", sequence=2)
    old = ask(explorer, "set_context", teacher="hinted", rollout=1, text="old", view="v", sequence=1)
    assert not new["result"]["superseded"]
    assert old["result"] == {"superseded": True}
    wait_idle(explorer)
    assert explorer.edited_scores().items[0].teachers["hinted"].context == "new"


def test_tokens_that_are_not_the_students_set_no_scale(lab):
    base = lab[0][0]
    ids = np.append(base.response_ids, base.response_ids)
    mask = np.arange(len(ids)) < len(base.response_ids)
    half = opd.Rollout(id="h", prompt_ids=base.prompt_ids, response_ids=ids, response_mask=mask)
    own = opd.Rollout(id="o", prompt_ids=base.prompt_ids, response_ids=base.response_ids)
    teachers = {"other": lab[2]["other"]}
    limits = []
    for rollout in (half, own):
        scores = opd.score([rollout], lab[1], teachers, progress=False)
        rows = opd.Explorer(scores).get_state()["scores"]["meta"]["signals"]
        limits.append({row["name"]: row["limit"] for row in rows if row["name"] in {"advantage", "reverse_kl"}})
    assert limits[0] == limits[1]


def wait_idle(explorer):
    for key in list(explorer.live_scoring()._jobs):
        assert explorer.live_scoring()._jobs[key].wait(WAIT)


def test_two_explorers_do_not_disturb_each_other(lab, scores):
    one, two = (opd.Explorer(scores, lab[1], lab[2]) for _ in range(2))
    jobs = [one.set_context("hinted", "one"), two.set_context("hinted", "two")]
    assert all(job.wait(WAIT) for job in jobs)
    assert one.edited_scores().items[0].teachers["hinted"].context == "one"
    assert two.edited_scores().items[0].teachers["hinted"].context == "two"


def test_small_views_take_the_same_scores(scores):
    for view in (opd.TokenStrip, opd.RolloutList, opd.TokenPanel):
        widget = view(scores, rollout=1, teacher="hinted")
        assert repr(widget).startswith(f"{view.__name__}(Scores(6 rollouts")
        with pytest.raises(InvalidInputError, match=r"found str, expected opd\.Scores"):
            view("scores")
