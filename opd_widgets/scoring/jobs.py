"""Scoring beside the main thread: one worker, the newest job of a kind wins, any job can be cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from opd_widgets.errors import Cancelled

Work = Callable[["Job"], None]


@dataclass(eq=False)
class Job:
    """A piece of work and its fate.

    Args:
        key: what it is about; a newer job of the same key takes its place.
        work: called in the worker with the job; it calls `checkpoint` between steps.

    """

    key: Hashable
    work: Work
    started: float = 0.0
    error: BaseException | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Ask the job to stop at its next checkpoint."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether someone asked it to stop."""
        return self._cancelled.is_set()

    @property
    def ended(self) -> bool:
        """Whether it is over, however it ended."""
        return self._ended.is_set()

    def checkpoint(self) -> None:
        """Stop here if asked to.

        Raises:
            Cancelled: the job was cancelled or a newer one took its place.

        """
        if self.cancelled:
            msg = "cancelled"
            raise Cancelled(msg)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, however it comes; False if it has not come in time."""
        return self._ended.wait(timeout)

    def run(self) -> None:
        """Do the work, in the worker's thread; an error is kept, not raised."""
        self.started = time.monotonic()
        try:
            self.checkpoint()
            self.work(self)
        except BaseException as error:  # noqa: BLE001 - a worker that dies would take all later jobs with it
            self.error = error
        finally:
            self._ended.set()

    def drop(self) -> None:
        """End the job without having run it."""
        self.cancel()
        self.error = Cancelled("a newer job took its place")
        self._ended.set()


class Worker:
    """Runs jobs one at a time in a thread of its own, which lives only while there is work.

    A model is not safe to use from two threads, so all live scoring of a process goes through one worker.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, Job] = {}
        self._running: list[Job] = []  # more than one where a long job lets others go first
        self._thread: threading.Thread | None = None

    def submit(self, key: Hashable, work: Work) -> Job:
        """Queue work; an older job of the same key is cancelled or never starts."""
        job = Job(key, work)
        with self._lock:
            older = self._waiting.pop(key, None)
            if older is not None:
                older.drop()
            running = self._of(key)
            if running is not None:
                running.cancel()
            self._waiting[key] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="opd-widgets-worker", daemon=True)
                self._thread.start()
        return job

    def cancel(self, key: Hashable) -> bool:
        """Cancel the waiting and the running job of a key; return whether there was one."""
        with self._lock:
            waiting = self._waiting.pop(key, None)
            if waiting is not None:
                waiting.drop()
            running = self._of(key)
            if running is not None:
                running.cancel()
        return waiting is not None or running is not None

    def newest(self, key: Hashable) -> Job | None:
        """Return the job of a key that waits or, failing that, runs."""
        with self._lock:
            if key in self._waiting:
                return self._waiting[key]
            return self._of(key)

    def others_first(self) -> None:
        """Run what waits, but for newer jobs of what runs; for a long job to call between its steps, in its thread.

        So a reader who edits a context need not wait for the end of a diagnosis.
        """
        while True:
            with self._lock:
                key = next((key for key in self._waiting if self._of(key) is None), None)
                if key is None:
                    return
                job = self._waiting.pop(key)
                self._running.append(job)
            self._run(job)

    def _loop(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                job = self._waiting.pop(next(iter(self._waiting)))
                self._running.append(job)
            self._run(job)

    def _run(self, job: Job) -> None:
        job.run()
        with self._lock:
            self._running.remove(job)

    def _of(self, key: Hashable) -> Job | None:
        """Return the running job of a key."""
        return next((job for job in self._running if job.key == key), None)


WORKER = Worker()
