"""The newest word at a bounded rate, on a clock that the test moves."""

from __future__ import annotations

import pytest

from opd_widgets.widgets.running.coalesced import Coalesced


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


@pytest.fixture
def said():
    return []


@pytest.fixture
def words(clock, said):
    return Coalesced(lambda word: said.append((clock.now, word)), interval=1.0)


def test_the_first_word_goes_at_once_and_the_newest_of_the_others_when_it_is_due(words, said, clock):
    for word in "abc":
        words.say(word)
    assert said == [(0.0, "a")]
    (timer,) = clock.timers
    assert timer.at == 1.0
    clock.now = 1.0
    clock.fire()
    assert said == [(0.0, "a"), (1.0, "c")]


def test_a_timer_that_comes_late_does_not_hurry_the_next_word(words, said, clock):
    words.say("a")
    words.say("b")
    clock.now = 1.2  # the timer was due at 1.0 and has not come yet
    words.say("c")
    words.say("d")
    clock.now = 1.3
    clock.fire()
    assert said == [(0.0, "a"), (1.2, "c")]
    clock.now = 2.2
    clock.fire()
    assert said[2:] == [(2.2, "d")]


def test_flush_says_what_waits_and_close_nothing_more(words, said, clock):
    words.say("a")
    words.say("b")
    words.flush()
    assert [word for _, word in said] == ["a", "b"]
    words.say("c")
    words.close()
    clock.now = 5.0
    clock.fire()
    words.say("d")
    assert [word for _, word in said] == ["a", "b"]
