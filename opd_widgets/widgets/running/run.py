"""A diagnosis in the worker: started, stopped between two batches, gone on with, and read at any time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opd_widgets.diagnosis.diagnose import result_of
from opd_widgets.diagnosis.run.about import unfinished
from opd_widgets.diagnosis.run.setup import setup
from opd_widgets.errors import Cancelled, InvalidInputError
from opd_widgets.scoring.jobs import WORKER, Job
from opd_widgets.widgets.running.standing import Standing

if TYPE_CHECKING:
    from opd_widgets.diagnosis.nodes import Nodes
    from opd_widgets.diagnosis.result import Diagnosis
    from opd_widgets.diagnosis.run.rounds import Rounds

KEY = "diagnosis"  # of the worker's job: one at a time in a process
RECENT = 30.0  # seconds over which the speed is taken
_STARTING = threading.Lock()


class RunningDiagnosis:
    """A diagnosis that the worker carries out.

    Args:
        given: the arguments of `diagnose`, by name.
        hear: called when there is something new to show, from several threads, without any lock held.

    Raises:
        InvalidInputError: as `diagnose` does.
        LengthLimitError: likewise.

    """

    def __init__(self, given: Mapping[str, Any], hear: Callable[[], None]) -> None:
        self._users: Callable[[], None] = given.get("checkpoint", lambda: None)
        self._begin = setup(**{**given, "progress": False, "checkpoint": self._checkpoint})
        if not callable(self._users):
            msg = f"found checkpoint of type {type(self._users).__name__}, expected a function without arguments"
            raise InvalidInputError(msg)
        self._hear = hear
        self._lock = threading.RLock()
        self._job: Job | None = None
        self._clock = _Clock()
        self._standing = Standing(self._begin)
        self._nodes: tuple[Nodes, ...] = ()
        self._final: Diagnosis | None = None
        self._closed = False
        self.error: Exception | None = None
        self.shown: Mapping[str, Any] = {**self._standing.nothing(), **self._clock.read(0), "state": "waiting"}

    @property
    def state(self) -> str:
        """One of waiting, running, stopping, stopped, done, failed."""
        return str(self.shown["state"])

    def start(self) -> None:
        """Begin, or go on.

        Raises:
            InvalidInputError: it is under way, or at its end, or closed, or another one runs in this process.

        """
        with _STARTING, self._lock:
            self._check_free()
            self.error = None
            self._note(state="waiting", message="")
            self._job = WORKER.submit(KEY, self._work)
        self._tell()

    def stop(self) -> bool:
        """Ask it to stop after the batch in hand; return whether it was under way."""
        with self._lock:
            job = self._job
            if job is None or job.ended or self.state not in {"waiting", "running", "stopping"}:
                return False
            job.cancel()
            self._note(state="stopping" if job.started else "stopped")
        self._tell()
        return True

    def close(self) -> None:
        """Stop, and show nothing any more."""
        self.stop()
        self._closed = True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is done, stopped or failed; False if it is not in time."""
        return self._job is None or self._job.wait(timeout)

    def result(self) -> Diagnosis:
        """Return what is there: a copy, that later batches do not change.

        Raises:
            InvalidInputError: no question's nodes are read yet.

        """
        if self._final is not None:
            return self._final
        nodes = self._nodes
        if not nodes:
            msg = (
                "there is no result yet: expected the nodes of at least one question to be read, after the initial "
                "rollouts; wait, or see what the view says"
            )
            raise InvalidInputError(msg)
        state = self._begin.rounds()  # of whole batches, whatever the worker does meanwhile
        state.nodes = [*nodes]
        told = self._begin.told(state, finished=False)
        told = {**told, "notes": [*told["notes"], unfinished(len(nodes), state.rollouts)]}
        return result_of(self._begin, state, told)

    def _check_free(self) -> None:
        if self._closed:
            msg = "this view is closed: make a new one, with the same `out` it goes on with what was drawn"
            raise InvalidInputError(msg)
        if self.state == "done":
            msg = "this diagnosis is at its end: for more, start one with the same `out` and a larger budget"
            raise InvalidInputError(msg)
        other = WORKER.newest(KEY)
        if other is not None and not other.ended and not other.cancelled:
            which = "this diagnosis" if other is self._job else "another diagnosis"
            msg = f"{which} is running in this process: stop it with its stop(), or wait for its end with its wait()"
            raise InvalidInputError(msg)

    def _checkpoint(self) -> None:
        """Stop where asked to, and let short work go first: called before every batch, in the worker."""
        job = self._job
        if job is not None:
            job.checkpoint()
            WORKER.others_first()
            job.checkpoint()
        self._users()

    def _work(self, job: Job) -> None:
        with self._lock:
            self._job = job
            self._clock.start()
            if not job.cancelled:
                self._note(state="running")
        self._tell()
        try:
            self._draw()
        except (Cancelled, KeyboardInterrupt):
            self._say(state="stopped", **self._clock.stop())
        except Exception as error:  # whatever went wrong is said in the view, and by `wait`
            self.error = error
            self._say(state="failed", message=_one_line(error), **self._clock.stop())
            raise
        else:
            self._say(state="done", **self._clock.stop())

    def _draw(self) -> None:
        begin = self._begin
        with begin.begun(self._look) as state:
            try:
                begin.carry_out(state)
            except (Cancelled, KeyboardInterrupt):
                state.collect()
                begin.tell(state, finished=False)
                self._look(state, last=True)
                raise
            told = begin.tell(state, finished=True)
            self._look(state, last=True)
        self._final = result_of(begin, state, told)

    def _look(self, state: Rounds, *, last: bool = False) -> None:
        """Take note of what there is; called in the worker, after every batch, round and question read."""
        if len(state.nodes) >= len(self._nodes):  # one that goes on takes its nodes in again first
            self._nodes = tuple(state.nodes)
        found = self._standing.read(state, last=last)
        if found is not None:
            self._say(**found, **self._clock.read(found["spent"], int(self._begin.plan.budget)))

    def _say(self, **changes: Any) -> None:
        self._note(**changes)
        self._tell()

    def _note(self, **changes: Any) -> None:
        with self._lock:
            self.shown = {**self.shown, **changes, "at": time.time()}

    def _tell(self) -> None:
        """Let it be heard: outside the lock, for a listener may stop the run, or wait for another thread that does."""
        if not self._closed:
            self._hear()


@dataclass(eq=False)
class _Clock:
    """How long it has run, and how fast."""

    _before: float = 0.0
    _began: float | None = None
    _points: deque[tuple[float, int]] = field(default_factory=deque)

    def start(self) -> None:
        self._began = time.perf_counter()
        self._points.clear()

    def stop(self) -> dict[str, Any]:
        """Return what is to be said at an end: nothing is left to wait for."""
        self._before, self._began = self._seconds(), None
        return {"seconds": round(self._before, 3), "speed": None, "left": None}

    def read(self, spent: int, budget: int = 0) -> dict[str, Any]:
        """Return seconds run, tokens a second lately, and seconds left at that speed; None where not known."""
        now = time.perf_counter()
        self._points.append((now, spent))
        while len(self._points) > 2 and now - self._points[0][0] > RECENT:
            self._points.popleft()
        (since, before), seconds = self._points[0], self._seconds()
        took = now - since
        speed = (spent - before) / took if self._began is not None and took > 0 and spent > before else None
        left = None if speed is None else max(0, budget - spent) / speed
        return {"seconds": round(seconds, 3), "speed": speed, "left": left}

    def _seconds(self) -> float:
        return self._before + (0.0 if self._began is None else time.perf_counter() - self._began)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()) or 'no more is known'}"
