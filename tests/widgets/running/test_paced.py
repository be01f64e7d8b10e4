"""Word of what is newest at a bounded rate: on a clock that the test moves, and from two threads."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from opd_widgets.widgets.running.paced import Paced

SOON = 10  # seconds that a thread may take


class Clock:
    """Time that moves when told to, and the timers that wait for it."""

    def __init__(self):
        self.now, self.timers = 0.0, []

    def monotonic(self):
        return self.now

    def timer(self, wait, act):
        timer = Timer(self.now + wait, act)
        self.timers.append(timer)
        return timer

    def fire(self):
        due, self.timers = self.timers, []
        for timer in due:
            if not timer.cancelled:
                timer.act()


class Timer:
    def __init__(self, at, act):
        self.at, self.act, self.cancelled = at, act, False

    def start(self): ...

    def cancel(self):
        self.cancelled = True


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock.monotonic)
    monkeypatch.setattr("threading.Timer", clock.timer)
    return clock


@dataclass
class Teller:
    paced: Paced
    news: dict[str, Any]

    def __call__(self, word):
        self.news["newest"] = word
        self.paced.tell()


@pytest.fixture
def news():
    """What is newest, and what was said of it, when."""
    return {"newest": "", "said": []}


@pytest.fixture
def tell(clock, news):
    paced = Paced(lambda: news["said"].append((clock.now, news["newest"])), interval=1.0)

    return Teller(paced, news)


def test_the_first_goes_at_once_and_the_newest_of_the_others_when_it_is_due(tell, news, clock):
    for word in "abc":
        tell(word)
    assert news["said"] == [(0.0, "a")]
    (timer,) = clock.timers
    assert timer.at == 1.0
    clock.now = 1.0
    clock.fire()
    assert news["said"] == [(0.0, "a"), (1.0, "c")]
    assert not clock.timers


def test_a_timer_that_comes_late_does_not_hurry_what_follows(tell, news, clock):
    tell("a")
    tell("b")
    clock.now = 1.2  # the timer was due at 1.0 and has not come yet
    tell("c")
    tell("d")
    clock.now = 1.3
    clock.fire()
    assert news["said"] == [(0.0, "a"), (1.2, "c")]
    clock.now = 2.2
    clock.fire()
    assert news["said"][2:] == [(2.2, "d")]


def test_flush_says_what_waits_and_close_nothing_more(tell, news, clock):
    tell("a")
    tell("b")
    tell.paced.flush()
    assert [word for _, word in news["said"]] == ["a", "b"]
    tell.paced.flush()
    assert len(news["said"]) == 2
    tell("c")
    tell.paced.close()
    clock.now = 5.0
    clock.fire()
    tell("d")
    assert [word for _, word in news["said"]] == ["a", "b"]


def test_a_listener_may_make_news_and_flush_them(clock):
    said = []

    def send():
        said.append(clock.now)
        paced.tell()
        paced.flush()

    paced = Paced(send, interval=1.0)
    paced.tell()
    assert said == [0.0]
    for now in (1.0, 2.0):
        clock.now = now
        clock.fire()
    assert said == [0.0, 1.0, 2.0]


def test_flush_waits_for_another_thread_and_then_says_the_newest():
    begun, free = threading.Event(), threading.Event()
    newest, said = ["old"], []

    def send():
        word = newest[0]
        begun.set()
        free.wait(SOON)
        said.append(word)

    paced = Paced(send, interval=60)
    other = threading.Thread(target=paced.tell)
    other.start()
    assert begun.wait(SOON)
    newest[0] = "new"
    paced.tell()
    threading.Timer(0.05, free.set).start()
    paced.flush()
    other.join(SOON)
    assert said == ["old", "new"]
    paced.close()
