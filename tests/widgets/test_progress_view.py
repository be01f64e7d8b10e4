"""A running diagnosis from Python's side: it ends as a plain one, stopped or not, beside the main thread."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.plain import json_text
from opd_widgets.diagnosis.diagnose import diagnose
from opd_widgets.diagnosis.run.stored import load_diagnosis
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.jobs import WORKER
from opd_widgets.widgets.page import page_html
from tests.diagnosis.toy_run import (
    BUDGET,
    GIVEN,
    assert_same,
    assert_same_folders,
    even,
    run,
)

WAIT = 120


@pytest.fixture(scope="module")
def plain():
    return run()


@pytest.fixture
def start():
    """Start a run of the toy; it is closed at the end, and over."""
    made: list[opd.ProgressView] = []

    def view(**changes):
        given = {**GIVEN, **changes}
        asked, student, teachers = (given.pop(name) for name in ("questions", "student", "teachers"))
        made.append(opd.ProgressView(asked, student, teachers, **given))
        return made[-1]

    yield view
    for one in made:
        one.close()
        one._run.wait(WAIT)


class Stops:
    """A checkpoint that stops the run before some of its batches."""

    def __init__(self, *at):
        self.at, self.count, self.threads = set(at), 0, set()
        self.view: opd.ProgressView | None = None
        self.ready = threading.Event()

    def __call__(self):
        self.threads.add(threading.current_thread())
        self.ready.wait(WAIT)
        self.count += 1
        if self.count in self.at:
            self.view.stop()
            WORKER.newest("diagnosis").checkpoint()


def test_it_ends_as_a_plain_run_in_another_thread(start, plain):
    stops = Stops()
    stops.ready.set()
    view = start(checkpoint=stops)
    assert view.wait(WAIT)
    assert_same(view.result, plain)
    assert view.progress["state"] == "done"
    assert view.progress["spent"] == plain.about["generated_tokens"]
    assert view.progress["initial"]["rollouts"] == plain.about["initial_rollouts"]
    assert view.progress["targeted"]["rollouts"] == plain.about["targeted_rollouts"]
    assert stops.threads
    assert threading.main_thread() not in stops.threads


@pytest.mark.parametrize("stored", [False, True])
def test_stopped_and_resumed_it_ends_as_a_plain_run(start, plain, tmp_path, stored):
    stops = Stops(2, 5, 8, 12, 16, 21)  # in the initial rollouts, before nodes are read, among targeted ones
    out = tmp_path / "run" if stored else None
    view = stops.view = start(checkpoint=stops, out=out)
    stops.ready.set()
    halts, before = 0, -1
    while view.wait(WAIT) and view.progress["state"] == "stopped":
        halts += 1
        assert view.progress["spent"] >= before
        before = view.progress["spent"]
        if view.progress["teachers"]:
            part = view.result
            assert not part.about["finished"]
            assert part.about["generated_tokens"] == before
            assert part.about["notes"][-1].startswith("not finished: ")
        view.resume()
    assert halts == 6
    assert view.progress["state"] == "done"
    assert_same(view.result, plain)
    if out:
        run(out=tmp_path / "plain")
        assert_same_folders(out, tmp_path / "plain")


def test_what_was_stopped_goes_on_by_a_plain_call_and_the_other_way_round(start, plain, tmp_path):
    stops = Stops(10)
    view = stops.view = start(checkpoint=stops, out=tmp_path)
    stops.ready.set()
    view.wait(WAIT)
    assert not load_diagnosis(tmp_path).about["finished"]
    view.close()
    assert_same(run(out=tmp_path), plain)
    again = start(out=tmp_path)
    again.wait(WAIT)
    assert_same(again.result, plain)


def test_a_result_while_it_runs_is_of_whole_batches_and_does_not_change(start, plain):
    parts: list[opd.Diagnosis] = []

    def checkpoint():
        if len(parts) < 12 and box and box[0].progress["teachers"]:
            parts.append(box[0].result)

    box: list[opd.ProgressView] = []
    box.append(start(checkpoint=checkpoint))
    here = []
    while not box[0].wait(0.02):
        try:
            here.append(box[0].result)
        except InvalidInputError as error:
            assert "there is no result yet" in str(error)  # noqa: PT017 - either is right
    assert parts
    for part in [*parts, *here]:
        for one, whole in zip(part.evidence, plain.evidence, strict=False):
            assert len(one.rollouts) <= len(whole.rollouts)
            for a, b in zip(one.rollouts, whole.rollouts, strict=False):
                assert a.ids.tolist() == b.ids.tolist()
        assert len(part.nodes) > 0


def test_a_second_start_is_refused_in_one_line(start):
    stops = Stops()
    view = start(checkpoint=stops)
    with pytest.raises(InvalidInputError, match="this diagnosis is running in this process: stop it with its stop"):
        view.resume()
    with pytest.raises(InvalidInputError, match="another diagnosis is running in this process"):
        start()
    sent: list[dict] = []
    view.send = lambda content, *_: sent.append(content)
    view._handle_custom_msg({"kind": "request", "id": "1", "method": "resume", "params": {}}, [])
    assert sent[-1]["error"]["message"].startswith("this diagnosis is running")
    view._handle_custom_msg({"kind": "request", "id": "2", "method": "stop", "params": {}}, [])
    assert sent[-1]["result"] == {"stopping": True}
    stops.ready.set()
    view.wait(WAIT)
    assert view.progress["state"] == "stopped"
    view.resume()
    view.wait(WAIT)
    with pytest.raises(InvalidInputError, match="at its end"):
        view.resume()
    view.stop()  # nothing to stop, and no error
    view.close()
    with pytest.raises(InvalidInputError, match="closed"):
        view.resume()


def test_bad_input_is_refused_in_the_cell_and_nothing_starts(start):
    with pytest.raises(InvalidInputError, match="found budget=0"):
        start(budget=0)
    with pytest.raises(InvalidInputError, match="found checkpoint of type int"):
        start(checkpoint=3)
    assert WORKER.newest("diagnosis") is None or WORKER.newest("diagnosis").ended


def test_an_error_is_one_line_and_the_run_goes_on_from_there(start, plain):
    left = [9]

    def verifier(question, text):
        return even(question, text)

    def checkpoint():
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("the server\nis gone")

    view = start(verifier=verifier, checkpoint=checkpoint)
    with pytest.raises(RuntimeError, match="is gone"):
        view.wait(WAIT)
    assert view.progress["state"] == "failed"
    assert view.progress["message"] == "RuntimeError: the server is gone"
    view.resume()
    assert view.wait(WAIT)
    assert view.progress["message"] == ""
    assert [len(one.rollouts) for one in view.result.evidence] == [len(one.rollouts) for one in plain.evidence]


def test_closing_stops_the_run_and_says_nothing_more(start):
    stops = Stops()
    view = start(checkpoint=stops)
    heard: list[object] = []
    view.close()
    view.observe(heard.append, "progress")
    stops.ready.set()
    assert view._run.wait(WAIT)
    time.sleep(0.15)
    assert view._run.state == "stopped"
    assert stops.count <= 1
    assert heard == []


def test_it_says_something_ten_times_a_second_at_most_and_the_last_word_is_the_end(start):
    heard: list[tuple[float, str]] = []
    stops = Stops()
    view = start(checkpoint=stops, batch_rows=4, rounds=24, budget=1000)
    view.observe(lambda change: heard.append((time.monotonic(), change["new"]["state"])), "progress")
    stops.ready.set()
    view.wait(WAIT)
    assert stops.count > 20
    times = [at for at, _ in heard[:-1]]  # waiting for it sends the last word at once
    assert len(times) > 3
    assert min(np.diff(times)) > 0.09
    assert heard[-1][1] == "done"


@pytest.mark.parametrize("guard", [True, False], ids=["while it runs", "at every word"])
def test_a_listener_may_stop_the_run(start, guard):
    """Also from the timer's thread, and while the worker says something itself."""
    view = start(batch_rows=4, rounds=24, budget=1000)

    def enough(change):
        if change["new"]["spent"] > 0 and (not guard or change["new"]["state"] == "running"):
            view.stop()

    view.observe(enough, "progress")
    assert view._run.wait(WAIT)
    assert view.wait(WAIT)
    assert view._run.error is None
    assert view.progress["state"] in {"stopped", "done"}


def test_short_work_goes_between_two_batches(start):
    stops = Stops()
    view = start(checkpoint=stops)
    done: list[str] = []
    job = WORKER.submit("an edit", lambda _: done.append(view._run.state))
    stops.ready.set()
    assert job.wait(WAIT)
    assert done == ["running"]
    view.wait(WAIT)


def test_what_is_shown_is_plain_json_and_says_what_the_result_says(start):
    view = start(held_out=3)
    view.wait(WAIT)
    shown, result = view.progress, view.result
    json_text({name: value for name, value in shown.items() if name != "line"})
    line = np.frombuffer(shown["line"], "<f4").reshape(-1, 3)
    assert (np.diff(line[:, 0]) > 0).all()
    assert line[-1, 0] == shown["spent"]
    summary = result.summary()
    nodes = result.nodes.assign(width=lambda row: row.alignment_high - row.alignment_low)
    for teacher in shown["teachers"]:
        its = nodes[nodes.teacher == teacher["name"]]
        assert teacher["nodes"] == len(its)
        assert teacher["scored"] == its.alignment.notna().sum()
        assert teacher["width"] == pytest.approx(its.width.median(), abs=0.1)  # of fewer draws
        counted = its[its.verdict == ""]
        weights = counted.correct + counted.incorrect
        assert teacher["mean"] == pytest.approx(np.average(counted.alignment_mean, weights=weights), abs=0.1)
        assert teacher["low"] <= teacher["mean"] <= teacher["high"]
        row = summary.loc[(summary.teacher == teacher["name"]) & (summary.outcome == "all")].iloc[0]
        assert row.mean_cosine_low - 0.1 <= teacher["mean"] <= row.mean_cosine_high + 0.1
    widest = shown["widest"][0]
    assert widest["high"] - widest["low"] >= shown["widest"][-1]["high"] - shown["widest"][-1]["low"]
    assert shown["held_out"]["rollouts"] == 9
    assert shown["questions"] == {"waiting": 0, "working": 0, "done": 3, "read": 3}
    cut = sum(drawn.truncated for one in result.evidence for drawn in one.rollouts)
    assert shown["warnings"][0].startswith(f"{cut:,} of ")
    assert repr(view) == f"ProgressView(done, {shown['spent']:,} of {BUDGET:,} tokens)"


def test_a_page_shows_the_last_state_and_nothing_to_press(start):
    view = start()
    view.wait(WAIT)
    state = view.page_state()["progress"]
    assert (state["live"], state["state"]) == (False, "done")
    assert '"live": false' in page_html(view).replace('"live":false', '"live": false')


def test_a_selected_node_is_a_place(start):
    view = start()
    view.wait(WAIT)
    assert view.place() == {}
    view.go_to({"question": "two", "node": 3, "teacher": "B", "rollout": "two/1"})
    assert view.place() == {"question": "two", "rollout": None, "token": None, "node": 3, "teacher": "B"}
    assert len(view.result.evidence[1].nodes) > 3


@pytest.mark.slow
def test_the_lab_stopped_twice_ends_as_a_plain_run():
    lab = opd.demo(questions=2, rollouts=2)
    given = {"verifier": lab.verifier, "budget": 6000, "seed": 1, "batch_rows": 128}
    stops = Stops(3, 6)
    view = stops.view = opd.ProgressView(lab.questions, lab.student, lab.teachers, **given, checkpoint=stops)
    stops.ready.set()
    while view.wait(WAIT) and view.progress["state"] == "stopped":
        view.resume()
    assert stops.count > 6
    assert_same(view.result, diagnose(lab.questions, lab.student, lab.teachers, **given, progress=False))
    view.close()
