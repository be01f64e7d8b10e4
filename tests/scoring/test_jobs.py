"""One worker: in order, newest of a key wins, cancel takes effect at the next checkpoint."""

from __future__ import annotations

import threading
import time

import pytest

from opd_widgets.errors import Cancelled
from opd_widgets.scoring.jobs import Worker

WAIT = 10


@pytest.fixture
def gate():
    event = threading.Event()
    yield event
    event.set()


def until(gate):
    def work(job):
        while not gate.is_set():
            job.checkpoint()
            time.sleep(0.005)

    return work


def test_jobs_run_in_order_on_one_other_thread(gate):
    worker, seen = Worker(), []

    def note(index):
        return lambda _: seen.append((index, threading.get_ident()))

    jobs = [worker.submit("first", until(gate)), *(worker.submit(i, note(i)) for i in range(5))]
    gate.set()
    assert all(job.wait(WAIT) for job in jobs)
    assert [i for i, _ in seen] == list(range(5))
    assert len({thread for _, thread in seen}) == 1
    assert seen[0][1] != threading.get_ident()


def test_the_newest_of_a_key_wins_and_others_are_left_alone(gate):
    worker, seen = Worker(), []
    running = worker.submit("edit", until(gate))
    other = worker.submit("other", lambda _: seen.append("other"))
    second = worker.submit("edit", lambda _: seen.append("second"))
    newest = worker.submit("edit", lambda _: seen.append("newest"))
    assert newest.wait(WAIT)
    assert other.wait(WAIT)
    assert seen == ["other", "newest"]
    assert isinstance(running.error, Cancelled)
    assert isinstance(second.error, Cancelled)


def test_cancel_stops_what_runs_and_drops_what_waits(gate):
    worker = Worker()
    running = worker.submit("a", until(gate))
    waiting = worker.submit("b", lambda _: None)
    assert worker.cancel("b")
    assert worker.cancel("a")
    assert running.wait(WAIT)
    assert isinstance(running.error, Cancelled)
    assert isinstance(waiting.error, Cancelled)
    assert not worker.cancel("a")


def test_an_error_is_kept_and_the_worker_goes_on():
    worker = Worker()
    bad = worker.submit("a", lambda _: 1 / 0)
    good = worker.submit("b", lambda _: None)
    assert good.wait(WAIT)
    assert isinstance(bad.error, ZeroDivisionError)
    assert good.error is None


def test_the_thread_lives_only_while_there_is_work():
    worker = Worker()
    assert worker.submit("a", lambda _: None).wait(WAIT)
    deadline = time.monotonic() + WAIT
    while worker._thread is not None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert worker._thread is None
    assert worker.submit("a", lambda _: None).wait(WAIT)


def test_a_long_job_lets_others_go_first_but_not_a_newer_one_of_its_kind(gate):
    worker, seen, begun = Worker(), [], threading.Event()

    def long(job):
        begun.set()
        gate.wait(WAIT)
        worker.others_first()
        seen.append(("long", job.cancelled, threading.get_ident()))

    def note(name):
        return lambda _: seen.append((name, worker.newest("long") is newer, threading.get_ident()))

    first = worker.submit("long", long)
    assert begun.wait(WAIT)  # one that has not begun is dropped when a newer one comes
    short = worker.submit("short", note("short"))
    newer = worker.submit("long", note("newer"))
    gate.set()
    assert all(job.wait(WAIT) for job in (first, short, newer))
    assert [name for name, *_ in seen] == ["short", "long", "newer"]
    assert seen[1][1]  # the newer one of its kind has told it to stop
    assert len({thread for *_, thread in seen}) == 1
