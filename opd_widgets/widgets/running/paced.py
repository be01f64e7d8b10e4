"""Word of what is newest, ten times a second at most: hosts drop messages that come faster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

INTERVAL = 0.1  # seconds between two words


class Paced:
    """Calls `send` after news, at a bounded rate and always once after the last.

    `send` looks up itself what is newest, so no older word comes after a newer one. It is called without any lock held,
    never twice at once; news it makes itself is sent when its time has come.

    Args:
        send: called in whichever thread brings news, or in a timer's.
        interval: seconds from one call to the next, at least.

    """

    def __init__(self, send: Callable[[], None], interval: float = INTERVAL) -> None:
        self._send, self._interval = send, interval
        self._changed = threading.Condition()
        self._timer: threading.Timer | None = None
        self._sender: int | None = None  # the thread that sends
        self._news = self._closed = False
        self._sent = -interval

    def tell(self) -> None:
        """Say that there is news: it is sent now or a little later."""
        with self._changed:
            self._news = True
            mine = self._take(hurry=False)
        if mine:
            self._pass_on()

    def flush(self) -> None:
        """Send at once what news there is; what another thread is sending is waited for."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._sender in {None, me})
            mine = self._take(hurry=True)
        if mine:
            self._pass_on()

    def close(self) -> None:
        """Send nothing any more."""
        with self._changed:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()

    def _take(self, *, hurry: bool) -> bool:
        """Return whether this thread is to send; where it is too soon, see that it is done in time."""
        if not self._news or self._closed or self._sender is not None:
            return False
        wait = self._sent + self._interval - time.monotonic()
        if wait > 0 and not hurry:
            self._wait(wait)
            return False
        self._news, self._sender = False, threading.get_ident()
        return True

    def _wait(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._later)
            self._timer.daemon = True
            self._timer.start()

    def _later(self) -> None:
        with self._changed:
            self._timer = None
            mine = self._take(hurry=False)  # a timer that came late may find that it is too soon again
        if mine:
            self._pass_on()

    def _pass_on(self) -> None:
        try:
            self._send()
        finally:
            with self._changed:
                self._sent, self._sender = time.monotonic(), None
                if self._news and not self._closed:
                    self._wait(self._interval)
                self._changed.notify_all()
