"""Asynchronous work, waited for from ordinary code that looks up now and then and can call it off."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

LOOK_EVERY = 0.02  # seconds between two looks at `checkpoint`
# Seconds that work called off has to close its connections. A name lookup cannot be called off: a thread that hangs
# in one ends by itself.
CLOSES_WITHIN = 0.1


def finish(work: Coroutine[Any, Any, Result], checkpoint: Callable[[], None] = lambda: None) -> Result:
    """Return what asynchronous work comes to, done in a thread of its own that ends with it.

    A notebook's main thread runs a loop already, so the work cannot run there.

    Args:
        work: what to do.
        checkpoint: called again and again while it goes on. What it raises, or Ctrl-C, calls the work off and is
            raised here.

    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    thread = threading.Thread(target=_drive, args=(loop, task), name="opd-widgets-server", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            checkpoint()
            thread.join(LOOK_EVERY)
    except BaseException:
        with suppress(RuntimeError):  # the loop is closed: the work has ended meanwhile
            loop.call_soon_threadsafe(task.cancel)
        thread.join(CLOSES_WITHIN)
        raise
    return task.result()


def _drive(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    try:
        loop.run_until_complete(asyncio.wait({task}))
        if not task.cancelled():
            task.exception()  # looked at: asyncio complains of errors that nobody reads
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
