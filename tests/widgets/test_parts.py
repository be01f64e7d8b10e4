"""An edited rollout recolours part by part: what is there is right, what is not yet there is missing."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.measures.signals import REGISTRY
from tests import tiny

OPTIONS = opd.Options(chunk_tokens=5, top_k=16)


@pytest.fixture
def explorer():
    student = opd.HFModel((tiny.qwen(0), tiny.tokenizer()), device="cpu", name="student")
    rollouts = opd.sample_rollouts([opd.Question("q", "1+2=?")], student, n=2, max_new_tokens=23, seed=3)
    teachers = {"hinted": opd.Teacher(student, opd.contexts.free_text("hint"))}
    scores = opd.score(rollouts, student, teachers, options=OPTIONS, progress=False)
    assert min(map(len, rollouts)) > 10
    made = opd.Explorer(scores, student, teachers)
    made._live.panel = opd.Explorer(rollouts, student, teachers, options=OPTIONS)._live.panel
    return made


def watched(explorer, monkeypatch):
    """Every state of the first rollout's edit, as the front end could see it."""
    seen = []
    keep = explorer._live._keep

    def look(job, edit, scored, ids, *, whole=True):
        keep(job, edit, scored, ids, whole=whole)
        if edit == ("hinted", 0):
            seen.append((whole, explorer._live.edited[edit]))

    monkeypatch.setattr(explorer._live, "_keep", look)
    return seen


def test_the_first_colours_come_with_the_first_chunk(explorer, monkeypatch):
    seen = watched(explorer, monkeypatch)
    assert explorer.set_context("hinted", "it is 3", 0).wait(20)
    length = len(explorer.scores.rollouts[0])
    assert [whole for whole, _ in seen] == [False] * ((length - 1) // 5) + [True]
    final = seen[-1][1]
    for step, (_, part) in enumerate(seen[:-1], 1):
        done = 5 * step
        assert part.signals.keys() == final.signals.keys()
        for name, values in part.signals.items():
            if REGISTRY[name].whole:
                assert np.isnan(values).all()
            else:
                np.testing.assert_allclose(values[:done], final.signals[name][:done], atol=1e-6)
                assert np.isnan(values[done:]).all()
        np.testing.assert_array_equal(part.track.topk.ids[:done], final.track.topk.ids[:done])
        assert (part.track.topk.ids[done:] == -1).all()
        assert (part.track.rank[done:] == 0).all()
    assert not explorer._live._before


def test_half_a_rollout_is_given_up_for_what_was_there(explorer, monkeypatch):
    assert explorer.set_context("hinted", "it is 3", 0).wait(20)
    before = explorer._live.edited["hinted", 0]
    seen = watched(explorer, monkeypatch)
    keep = explorer._live._keep

    def stop(job, *given, **named):
        keep(job, *given, **named)
        job.cancel()

    monkeypatch.setattr(explorer._live, "_keep", stop)
    job = explorer.set_context("hinted", "it is 4", 0)
    assert job.wait(20)
    assert [whole for whole, _ in seen] == [False]
    assert explorer._live.edited["hinted", 0] is before
    assert not explorer._live._before
    explorer.reset_context("hinted", 0)
    assert ("hinted", 0) not in explorer._live.edited


def test_signals_that_look_ahead_say_so():
    """A signal whose value at a token changes with later tokens may not be shown of half a response."""
    rng = np.random.default_rng(0)
    from opd_widgets.measures.measured import Measured
    from opd_widgets.measures.signals import compute_signals

    def measured(n):
        columns = {name: np.abs(rng_columns[name][:n]) for name in rng_columns}
        columns |= {name: -columns[name] for name in ("student_logprob", "teacher_logprob")}
        tops = {name: np.arange(n * 4).reshape(n, 4) for name in ("student_top_ids", "teacher_top_ids")}
        return Measured(counted=np.ones(n, bool), **columns, **tops, teacher_at_student_top=-np.ones((n, 4)))

    rng_columns = {
        name: rng.normal(size=12)
        for name in Measured.__dataclass_fields__
        if name not in {"counted", "student_top_ids", "teacher_top_ids", "teacher_at_student_top"}
    }
    for per_teacher in (True, False):
        long, short = (compute_signals(measured(n), per_teacher=per_teacher) for n in (12, 7))
        for name, values in short.items():
            same = np.allclose(values, long[name][:7], equal_nan=True)
            assert same is not REGISTRY[name].whole, name
