"""The newest word, ten times a second at most: hosts drop messages that come faster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Word = TypeVar("Word")
INTERVAL = 0.1  # seconds between two updates


class Coalesced(Generic[Word]):
    """Passes values on at a bounded rate: those that come too fast give way to the newest, which is always passed on.

    Args:
        send: called with a value, in whichever thread says it or in a timer's; never twice at once.
        interval: seconds between two calls, at least.

    """

    def __init__(self, send: Callable[[Word], None], interval: float = INTERVAL) -> None:
        self._send, self._interval = send, interval
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._next: list[Word] = []
        self._sent = -interval
        self._closed = False

    def say(self, word: Word) -> None:
        """Pass a value on, now or a little later."""
        with self._lock:
            if self._closed:
                return
            self._next = [word]
            self._when_due()

    def flush(self) -> None:
        """Pass on what waits."""
        with self._lock:
            self._pass_on()

    def close(self) -> None:
        """Pass nothing on any more."""
        with self._lock:
            self._closed = True
            self._next = []
            if self._timer is not None:
                self._timer.cancel()

    def _later(self) -> None:
        with self._lock:
            self._timer = None
            if self._next:  # a timer that came late finds what it was set for said already, and newer words
                self._when_due()

    def _when_due(self) -> None:
        wait = self._sent + self._interval - time.monotonic()
        if wait <= 0:
            self._pass_on()
        elif self._timer is None:
            self._timer = threading.Timer(wait, self._later)
            self._timer.daemon = True
            self._timer.start()

    def _pass_on(self) -> None:
        if self._next and not self._closed:
            word = self._next.pop()
            self._send(word)
            self._sent = time.monotonic()
