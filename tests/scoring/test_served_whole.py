"""A server that gives whole distributions beside the same model here: every signal, through the same measures."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError, ServerError
from opd_widgets.models import server
from opd_widgets.scoring import served
from tests import tiny
from tests.models.stub_server import Reply, ServedModel, serving

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]
L3 = {"reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl", "teacher_entropy", "baseline_subtracted",
      "entropy_divergence", "student_outside", "teacher_outside"}  # fmt: skip


@pytest.fixture(scope="module")
def rollouts():
    drawn = opd.sample_rollouts(QUESTIONS, tiny.model(0), n=2, max_new_tokens=12, seed=1)
    empty = opd.Rollout(id="empty", prompt_ids=drawn[0].prompt_ids, response_ids=[])
    return [*drawn, empty, opd.Rollout(id="bare", prompt_ids=[], response_ids=drawn[0].response_ids)]


def served_by(stub, **more):
    return opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0), retries=0, full_vocabulary=True, **more)


def scored(rollouts, remote, **more):
    teachers = {"here": opd.Teacher(tiny.model(1)), "there": opd.Teacher(remote)}
    with pytest.warns(UserWarning, match="engine transformers against"):
        return opd.score(rollouts, tiny.model(0), teachers, progress=False, **more)


@pytest.mark.parametrize(("chunk", "entries"), [(1024, 2**22), (3, 2**22), (1024, 1)])
def test_fault_47_all_signals_are_those_of_the_same_teacher_here(rollouts, monkeypatch, chunk, entries):
    # the head has 64 rows and the tokenizer 50 ids: padding rows count in neither
    monkeypatch.setattr(served, "_ENTRIES", entries)
    with serving(ServedModel(tiny.model(1), most=-1)) as stub:
        scores = scored(rollouts, served_by(stub), options=opd.Options(chunk_tokens=chunk))
    for item in scores.items:
        here, there = item.teachers["here"], item.teachers["there"]
        assert set(here.signals) == set(there.signals) >= L3
        for name, values in there.signals.items():
            np.testing.assert_allclose(values, here.signals[name], atol=2e-5, rtol=1e-4, err_msg=name)
        np.testing.assert_allclose(there.track.entropy, here.track.entropy, atol=1e-5)
        np.testing.assert_array_equal(there.track.rank, here.track.rank)
        np.testing.assert_array_equal(there.track.topk.ids, here.track.topk.ids)
        np.testing.assert_allclose(there.at_student_top, here.at_student_top, atol=1e-5)
        kl = there.signals["reverse_kl"]
        assert (kl[np.isfinite(kl)] >= -1e-6).all()
    assert not [note for note in scores.notes if "no full distribution" in note]


def test_against_a_divergence_worked_out_by_hand(rollouts):
    with serving(ServedModel(tiny.model(1), most=-1)) as stub:
        scores = scored(rollouts[:1], served_by(stub))
    ids = np.asarray(rollouts[0].token_ids)
    start, real = rollouts[0].prompt_len, tiny.model(0).tokenizer.size
    for at in (start, len(ids) - 1):
        logp = []
        for model in (tiny.model(0), tiny.model(1)):
            row = np.asarray(model.head(model.hidden([ids], [np.array([at - 1])])), np.float64)[0][:real]
            logp.append(row - np.log(np.exp(row).sum()))
        kl = float((np.exp(logp[0]) * (logp[0] - logp[1])).sum())
        assert scores.items[0].teachers["there"].signals["reverse_kl"][at - start] == pytest.approx(kl, rel=1e-4)


def test_fault_26_a_sentinel_is_minus_infinity_and_its_divergence_infinite(rollouts):
    class Clamped(ServedModel):
        clamps = False

        def rows(self, ids):
            rows = super().rows(ids).copy()
            if self.clamps:
                rows[np.arange(len(rows)), ids[1:]] = -9999.0
            return rows

    answers = Clamped(tiny.model(1), most=-1)
    with serving(answers) as stub:
        remote = served_by(stub)
        assert remote.limit  # its self-test is over
        answers.clamps = True
        scores = scored(rollouts[:1], remote)
    there = scores.items[0].teachers["there"]
    assert np.isneginf(there.track.logprobs).all()
    assert there.track.censored.all()
    real = rollouts[0].response_ids < tiny.model(0).tokenizer.size  # those that count in divergences
    assert np.isposinf(there.signals["reverse_kl"][real]).all()  # the student gives the token some probability
    assert np.isfinite(there.signals["jsd"]).all()


def test_a_run_with_whole_distributions_goes_to_disk_and_back(rollouts, tmp_path):
    out, student = tmp_path / "run", tiny.model(0)
    with serving(ServedModel(tiny.model(1), most=-1)) as stub:
        with pytest.warns(UserWarning, match="engine"):
            opd.score_to(rollouts, student, {"there": opd.Teacher(served_by(stub))}, out, progress=False)
        fewer = {"there": opd.Teacher(opd.ServerModel(stub.url, "tiny", tokenizer=student, retries=0))}
        with (
            pytest.warns(UserWarning, match="engine"),
            pytest.raises(InvalidInputError, match="full_vocabulary was True and is False"),
        ):
            opd.score_to(rollouts, student, fewer, out, progress=False)
    assert opd.load(out).items[0].teachers["there"].signals.keys() >= L3


def test_a_server_that_gives_few_says_how_to_get_all():
    with (
        serving(ServedModel(tiny.model(1), most=20)) as stub,
        pytest.raises(InvalidInputError, match=r"whole vocabulary of 64 .*at most 20.*--max-logprobs -1"),
    ):
        served_by(stub).distributions([np.arange(6, 12, dtype=np.int32)], [1])


def test_an_answer_that_lacks_ids_is_an_error():
    class Lacking(ServedModel):
        def completions(self, body):
            reply = super().completions(body)
            if body["prompt_logprobs"] == -1:
                del reply.body["choices"][0]["prompt_logprobs"][2]["7"]
            return Reply(reply.body)

    with (
        serving(Lacking(tiny.model(1), most=-1)) as stub,
        pytest.raises(ServerError, match=r"found 1 of 320 log-probabilities missing; expected all 64 ids"),
    ):
        served_by(stub).distributions([np.arange(8, 14, dtype=np.int32)], [1])


def test_a_large_vocabulary_is_refused_with_the_cost(monkeypatch):
    with pytest.raises(InvalidInputError, match=r"151,936, expected at most 4,096.*10,636 MB of JSON"):
        opd.ServerModel("http://127.0.0.1:9", "m", tokenizer=tiny.model(0), vocab_size=151_936, full_vocabulary=True)
    monkeypatch.setattr(server, "MOST_VOCABULARY", 30)
    with serving(ServedModel(tiny.model(1), most=-1)) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.tokenizer(), full_vocabulary=True)
        with pytest.raises(InvalidInputError, match="50, expected at most 30"):  # its tokenizer's, at least
            _ = remote.limit


def test_a_rollout_whose_answer_would_be_too_long_is_not_sent(rollouts, monkeypatch):
    monkeypatch.setattr(server, "MOST_ENTRIES", 64 * 16)
    with serving(ServedModel(tiny.model(1), most=-1)) as stub:
        with pytest.raises(LengthLimitError, match="'there' takes 16 tokens"):
            opd.score(rollouts, tiny.model(0), {"there": opd.Teacher(served_by(stub))}, progress=False)
        assert not [body for body in stub.requests if (body.body or {}).get("prompt_logprobs") == -1]


def test_sglang_is_refused():
    with (
        serving(ServedModel(tiny.model(1), engine="sglang")) as stub,
        pytest.raises(InvalidInputError, match="served by sglang, and full_vocabulary is known of vLLM only"),
    ):
        served_by(stub).distributions([np.arange(6, 12, dtype=np.int32)], [1])
