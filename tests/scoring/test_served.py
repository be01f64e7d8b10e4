"""Teachers behind a server beside the same ones here: a stub serves a small model in both engines' formats."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError
from tests import tiny
from tests.models.stub_server import ServedModel, serving

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]
ABSENT = {
    "reverse_kl", "forward_kl", "jsd", "teacher_entropy", "baseline_subtracted", "skew_reverse_kl", "clipped_kl",
    "entropy_divergence", "student_outside", "teacher_outside",
}  # fmt: skip
SERVERS = {
    "vllm": {"engine": "vllm"},
    "vllm with scale-out": {"engine": "vllm", "any_id": True},
    "sglang": {"engine": "sglang"},
}


@pytest.fixture(scope="module")
def rollouts():
    drawn = opd.sample_rollouts(QUESTIONS, tiny.model(0, vocab=50), n=2, max_new_tokens=12, seed=1)
    prompt = drawn[0].prompt_ids
    empty = opd.Rollout(id="empty", prompt_ids=prompt, response_ids=[])
    bare = opd.Rollout(
        id="bare", prompt_ids=[], response_ids=drawn[0].response_ids
    )  # its first token has nothing before
    return [*drawn, empty, bare]


def scored(stub, rollouts, **more):
    remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0, vocab=50), retries=0, timeout=30)
    teachers = {"here": opd.Teacher(tiny.model(1, vocab=50)), "there": opd.Teacher(remote)}
    with pytest.warns(UserWarning, match="engine transformers against"):
        return opd.score(rollouts, tiny.model(0, vocab=50), teachers, progress=False, **more)


@pytest.fixture(scope="module", params=SERVERS, ids=list(SERVERS))
def scores(request, rollouts):
    with serving(ServedModel(tiny.model(1, vocab=50), **SERVERS[request.param])) as stub:
        return request.param, scored(stub, rollouts)


def test_a_teacher_there_says_what_it_says_here(scores):
    engine, found = scores
    for item in found.items:
        here, there = item.teachers["here"], item.teachers["there"]
        assert set(here.signals) - set(there.signals) == ABSENT
        for name, values in there.signals.items():
            if name == "teacher_mass" and engine == "vllm":
                continue
            wanted = here.signals[name]
            if name == "teacher_rank" and engine == "sglang":  # known only inside the top-k
                wanted = np.where(wanted <= 20, wanted, np.nan)
            np.testing.assert_allclose(values, wanted, atol=2e-5, err_msg=name)
        np.testing.assert_array_equal(there.track.topk.ids[:, :10], here.track.topk.ids[:, :10])
        np.testing.assert_allclose(there.student_at_top[:, :10], here.student_at_top[:, :10], atol=2e-5)
        assert there.track.entropy is None
        assert there.track.provenance.engine == engine.split()[0]
        assert there.track.context_hash == here.track.context_hash


def test_fault_48_the_students_top_k_is_asked_for_where_the_server_can(scores):
    # a token the teacher does not rank is missing, not impossible
    engine, found = scores
    for item in found.items:
        here, there = item.teachers["here"].at_student_top, item.teachers["there"].at_student_top
        said = np.isfinite(there)
        np.testing.assert_allclose(there[said], here[said], atol=2e-5)
        if engine != "vllm":
            np.testing.assert_array_equal(said, np.isfinite(here))
        mass = (item.teachers[who].signals["teacher_mass"] for who in ("there", "here"))
        bound, whole = (values[np.isfinite(values)] for values in mass)
        assert (bound <= whole + 1e-5).all()
    bounded = [note for note in found.notes if "a lower bound" in note]
    assert bool(bounded) == (engine == "vllm")


def test_fault_47_no_divergence_is_made_of_a_top_k(scores):
    # a truncated one can be negative: it is absent, and the mass that is covered is shown
    for item in scores[1].items:
        there = item.teachers["there"].signals
        assert not [name for name in there if "kl" in name or name == "jsd"]
        mass = there["teacher_mass"][np.isfinite(there["teacher_mass"])]
        assert ((mass >= 0) & (mass <= 1 + 1e-5)).all()


def test_notes_say_what_is_absent(scores):
    note = next(note for note in scores[1].notes if "no full distribution" in note)
    assert note.startswith("there: ")
    assert all(name in note for name in ABSENT)


def test_the_widget_shows_such_scores(scores):
    opd.Explorer(scores[1]).close()


def test_top_k_over_the_servers_limit(rollouts):
    with serving(ServedModel(tiny.model(1, vocab=50), most=20)) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0, vocab=50), retries=0)
        with pytest.raises(InvalidInputError, match=r"30 likeliest.* at most 20"):
            opd.score(
                rollouts,
                tiny.model(0, vocab=50),
                {"there": opd.Teacher(remote)},
                options=opd.Options(top_k=30),
                progress=False,
            )


def test_rows_that_are_no_token_are_in_no_top_k():
    # this head has 64 rows and the tokenizer 50 ids: a server ranks all rows, and those left keep their order
    with serving(ServedModel(tiny.model(1))) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0), retries=0)
        drawn = opd.sample_rollouts(QUESTIONS[:1], tiny.model(0), n=1, max_new_tokens=8, seed=3)
        with pytest.warns(UserWarning, match="engine"):
            found = opd.score(
                drawn,
                tiny.model(0),
                {"here": opd.Teacher(tiny.model(1)), "there": opd.Teacher(remote)},
                progress=False,
            )
    here, there = (found.items[0].teachers[name].track for name in ("here", "there"))
    np.testing.assert_array_equal(there.rank, here.rank)
    for mine, theirs in zip(here.topk.ids, there.topk.ids, strict=True):
        said = theirs[theirs >= 0]
        assert 0 < len(said) < 20
        assert said.tolist() == mine[: len(said)].tolist()
        assert (theirs[len(said) :] == -1).all()


def test_a_rollout_over_the_servers_limit_is_not_sent(rollouts):
    with serving(ServedModel(tiny.model(1, vocab=50, limit=16))) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0, vocab=50), retries=0)
        with pytest.raises(LengthLimitError, match="'there' takes 15 tokens"):
            opd.score(rollouts, tiny.model(0, vocab=50), {"there": opd.Teacher(remote)}, progress=False)


def test_a_student_has_to_be_here(rollouts):
    with serving(ServedModel(tiny.model(1, vocab=50))) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0, vocab=50))
        with pytest.raises(InvalidInputError, match="hidden states are not here"):
            opd.score(rollouts, remote, {}, progress=False)
        assert not stub.requests


def test_a_server_can_write_rollouts():
    with serving(ServedModel(tiny.model(1, vocab=50))) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0, vocab=50), retries=0)
        drawn = opd.sample_rollouts(QUESTIONS, remote, n=3, max_new_tokens=5, seed=1)
    assert [rollout.question for rollout in drawn] == ["q1"] * 3 + ["q2"] * 3
    bodies = [request.body for request in stub.requests if "n" in (request.body or {}) and request.body["n"] == 3]
    assert len(bodies) == 2
    assert len({body["seed"] for body in bodies}) == 2


def test_a_run_is_scored_by_a_server_and_opens_without_it(tmp_path, rollouts):
    with serving(ServedModel(tiny.model(1, vocab=50))) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0, vocab=50), retries=0)
        with pytest.warns(UserWarning, match="engine"):
            opd.score_to(
                rollouts, tiny.model(0, vocab=50), {"there": opd.Teacher(remote)}, tmp_path / "run", progress=False
            )
    again = opd.load(tmp_path / "run")
    assert "reverse_kl" not in again.items[0].teachers["there"].signals
    assert any("no full distribution" in note for note in again.notes)
