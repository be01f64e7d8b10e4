"""What an edit does not change is read once: counted in tokens that go through the model, not in time."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import Cancelled, InvalidInputError
from tests import tiny

WAIT = 20
HINT = "think of 3 and of 4 and of 5 before you answer: "


@pytest.fixture
def lab():
    student = opd.HFModel((tiny.qwen(0, limit=512), tiny.tokenizer()), device="cpu", name="student")
    rollouts = opd.sample_rollouts([opd.Question("q1", "1+2=?")], student, n=3, max_new_tokens=30, seed=1)
    teachers = {"hinted": opd.Teacher(student, opd.contexts.free_text(HINT))}
    return rollouts, student, teachers


@pytest.fixture
def explorer(lab):
    return opd.Explorer(opd.score(*lab, progress=False), lab[1], lab[2])


def read(model, work):
    """The tokens that go through the backbone while `work` runs in the worker."""
    seen: list[int] = []
    handle = model._model.get_decoder().register_forward_pre_hook(
        lambda _, __, given: seen.append(given["input_ids"].numel()), with_kwargs=True
    )
    try:
        job = work()
        assert job.wait(20)
        assert job.error is None
        return sum(seen)
    finally:
        handle.remove()


def test_an_edit_after_the_editor_was_opened_reads_only_what_changed(lab, explorer):
    rollouts, student, _ = lab
    assert read(student, lambda: explorer.prepare_context("hinted", 0)) > 0
    prompt = explorer.scores.items[0].teachers["hinted"].prompt_ids
    text = HINT[:-2] + "!: "
    edited = read(student, lambda: explorer.set_context("hinted", text, 0))
    after = explorer._live.edited["hinted", 0].prompt_ids
    same = int(np.flatnonzero(prompt[: len(after)] != after[: len(prompt)])[0])
    longest = max(len(rollout) for rollout in rollouts)
    first = len(after) - same + len(rollouts[0]) - 1
    # the others: the student's prompt and responses anew, and the teacher's after the prompt read with the first
    others = 2 * (len(rollouts[0].prompt_ids) + longest + longest)
    assert edited <= first + others
    again = read(student, lambda: explorer.set_context("hinted", HINT[:-2] + "?: ", 0))
    assert again <= first + 2 * (longest + 1)  # the student is known throughout by now


def test_the_numbers_are_those_of_scoring_under_that_context(lab, explorer):
    rollouts, student, _ = lab
    explorer.prepare_context("hinted", 0).wait(20)
    for text in (HINT + "yes", HINT[:10] + "no", ""):
        assert explorer.set_context("hinted", text, 0).wait(20)
        expected = opd.score(rollouts, student, {"hinted": opd.Teacher(student, opd.contexts.free_text(text))})
        found = explorer.edited_scores()
        for index in range(len(rollouts)):
            for signal in ("advantage", "reverse_kl", "teacher_entropy"):
                np.testing.assert_allclose(
                    found.signal(signal, index, "hinted"), expected.signal(signal, index, "hinted"), atol=2e-4
                )


def test_the_view_asks_for_it_and_it_changes_nothing_shown(explorer):
    sent: list[dict] = []
    explorer.send = sent.append
    before = (explorer.get_state("live"), explorer.job)
    message = {"kind": "request", "id": "1", "method": "prepare_context", "params": {"teacher": "hinted", "rollout": 0}}
    explorer._handle_custom_msg(message, [])
    assert sent[0]["ok"]
    assert (explorer.get_state("live"), explorer.job) == before
    with pytest.raises(InvalidInputError, match="no teacher"):
        explorer.prepare_context("nobody", 0)


def test_closing_the_view_stops_what_nobody_will_see(explorer, monkeypatch):
    reached, go_on = threading.Event(), threading.Event()
    keep = explorer._live._keep

    def held(*args, **kwargs):
        reached.set()
        go_on.wait(WAIT)
        keep(*args, **kwargs)

    monkeypatch.setattr(explorer._live, "_keep", held)
    job = explorer.set_context("hinted", "slow", rollout=0)
    assert reached.wait(WAIT)
    explorer.close()
    go_on.set()
    assert job.wait(WAIT)
    assert isinstance(job.error, Cancelled)
