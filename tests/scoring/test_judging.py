"""A verifier that faults gives no verdict: it is never counted as wrong."""

from __future__ import annotations

import threading
import time
import warnings
from contextvars import ContextVar

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.judging import Judge, judge

QUESTION = opd.Question("q", "1+1=?", answer="2")
SHORT = 0.1


def raises(_question, _text):
    msg = "broken"
    raise KeyError(msg)


@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (True, "correct"),
        (np.True_, "correct"),
        (1.0, "correct"),
        (np.float32(1), "correct"),
        (False, "incorrect"),
        (0, "incorrect"),
        (None, "unverified"),
        (0.5, "unverified"),
        (float("nan"), "unverified"),
        ("no", "unverified"),
        ([], "unverified"),
    ],
)
def test_only_a_clear_answer_is_a_verdict(said, outcome, timeout):
    verdict = judge(lambda _question, _text: said, QUESTION, "2", timeout)
    assert verdict.outcome == outcome
    assert bool(verdict.reason) is (outcome == "unverified")


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_a_verifier_that_raises_says_why(timeout):
    verdict = judge(raises, QUESTION, "2", timeout)
    assert (verdict.outcome, verdict.reason) == ("unverified", "KeyError: 'broken'")


def test_a_late_verifier_gives_no_verdict_and_its_thread_ends():
    def loops(_question, _text):
        while True:
            try:
                time.sleep(0.001)
            except Exception:  # noqa: BLE001 - what a verifier may do
                continue

    begun = time.perf_counter()
    verdict = judge(loops, QUESTION, "2", SHORT)
    assert verdict.outcome == "unverified"
    assert "no verdict within 0.1 s" in verdict.reason
    assert time.perf_counter() - begun < 5
    late = [thread for thread in threading.enumerate() if thread.name == "verifier"]
    for thread in late:
        thread.join(5)
        assert not thread.is_alive()


def test_context_variables_reach_a_verifier_with_a_limit():
    setting = ContextVar("setting", default=False)
    setting.set(True)
    assert judge(lambda _question, _text: setting.get(), QUESTION, "", 5.0).outcome == "correct"


def test_verdicts_and_reasons_are_counted():
    asked = Judge(lambda _question, text: {"2": True, "3": False}[text])
    for text in ["2", "3", "3", "x", "x", "y"]:
        asked.judge(QUESTION, text)
    assert asked.counts == {"correct": 1, "incorrect": 2, "unverified": 3}
    assert asked.reasons == {"KeyError: 'x'": 2, "KeyError: 'y'": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked.warn_if_mute()


def test_a_verifier_without_any_verdict_is_named():
    asked = Judge(raises)
    asked.judge(QUESTION, "2")
    with pytest.warns(UserWarning, match="no verdict on any of 1 rollouts.*KeyError: 'broken'"):
        asked.warn_if_mute()


@pytest.mark.parametrize(("verifier", "timeout", "said"), [("number", None, "type str"), (raises, 0, "timeout=0")])
def test_bad_arguments_are_errors_and_no_verdicts(verifier, timeout, said):
    with pytest.raises(InvalidInputError, match=said):
        judge(verifier, QUESTION, "2", timeout)
