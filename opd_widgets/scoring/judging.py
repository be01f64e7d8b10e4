"""What a verifier makes of a response: right, wrong, or no verdict, and then why."""

from __future__ import annotations

import contextvars
import ctypes
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from opd_widgets.data.question import Question
from opd_widgets.errors import InvalidInputError

Verifier = Callable[[Question, str], bool]


@dataclass(frozen=True)
class Verdict:
    """What a verifier said of one response.

    Args:
        outcome: "unverified" where it raised, took too long or gave something that is neither right nor wrong.
        reason: why there is no verdict; empty where there is one.

    """

    outcome: Literal["correct", "incorrect", "unverified"]
    reason: str = ""


def judge(verifier: Verifier, question: Question, text: str, timeout: float | None = None) -> Verdict:
    """Ask a verifier about one response. One that faults never counts as wrong.

    A verdict is True or False, or a score that is exactly 1 or 0. Anything else is none: a `None` is more often a
    forgotten return than a wrong answer.

    Args:
        verifier: a function of (question, response text).
        question: what was asked.
        text: the response.
        timeout: seconds it may take; None waits without end. With a limit it runs in a thread of its own, so it may
            not use signals. One that is late is stopped as soon as it is in Python code again; one that stays in
            compiled code, such as a regular expression that backtracks, keeps its core busy until it returns, and no
            limit of time is kept while it holds the interpreter.

    Raises:
        InvalidInputError: no function, or a timeout that is not above 0.

    """
    if not callable(verifier):
        msg = f"found a verifier of type {type(verifier).__name__}, expected a function of (question, response text)"
        raise InvalidInputError(msg)
    if timeout is not None and not timeout > 0:
        msg = f"found timeout={timeout!r}, expected seconds above 0, or None to wait without end"
        raise InvalidInputError(msg)
    try:
        said = verifier(question, text) if timeout is None else _within(timeout, verifier, question, text)
        return _verdict(said)
    except Exception as error:  # noqa: BLE001 - any verifier's any fault means the same: it could not say
        return Verdict("unverified", f"{type(error).__name__}: {error}")


@dataclass
class Judge:
    """A verifier asked about many responses, and what came of it.

    Args:
        verifier: a function of (question, response text).
        timeout: seconds for each response; see `judge`.
        counts: verdicts by outcome.
        reasons: how often each reason for no verdict came up.

    """

    verifier: Verifier
    timeout: float | None = None
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def judge(self, question: Question, text: str) -> Verdict:
        """Return the verdict on one response, and count it."""
        verdict = judge(self.verifier, question, text, self.timeout)
        self.counts[verdict.outcome] += 1
        if verdict.reason:
            self.reasons[verdict.reason] += 1
        return verdict

    def warn_if_mute(self, stacklevel: int = 2) -> None:
        """Warn where the verifier never gave a verdict: that is a fault of the verifier, not of the rollouts."""
        faults = self.counts["unverified"]
        if faults and faults == self.counts.total():
            warnings.warn(
                f"the verifier gave no verdict on any of {faults} rollouts, so none is verified; the first time "
                f"{next(iter(self.reasons))}. Expected a function of (question, response text)",
                stacklevel=stacklevel + 1,
            )


def _verdict(said: Any) -> Verdict:
    known = isinstance(said, bool | np.bool_ | int | float | np.number)
    if not known or said not in {0, 1}:
        found = repr(said)[:60]
        return Verdict("unverified", f"the verifier returned {found} ({type(said).__name__}), expected True or False")
    return Verdict("correct" if said else "incorrect")


class _Late(SystemExit):
    """Ends a verifier's thread, and quietly. No `Exception`: a verifier that catches those would go on."""


def _within(seconds: float, verifier: Verifier, question: Question, text: str) -> Any:
    """Return what a verifier says in time; it runs in a thread, with this one's context variables."""
    ended: list[tuple[Any, BaseException | None]] = []
    context = contextvars.copy_context()

    def ask() -> None:
        try:
            ended.append((context.run(verifier, question, text), None))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            ended.append((None, error))

    thread = threading.Thread(target=ask, name="verifier", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive() and not ended:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Late))
        msg = f"no verdict within {seconds:g} s"
        raise TimeoutError(msg)
    thread.join()
    said, error = ended[0]
    if error is not None:
        raise error
    return said
