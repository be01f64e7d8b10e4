"""`ServerModel` against a real vLLM that serves the lab's student: `make test-server`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.errors import Cancelled, InvalidInputError, LengthLimitError, ServerError, TokenizerMismatchError
from tests import tiny
from tests.checkout import ROOT
from tests.models.live_server import MOST, PYTHON, vllm_python, vllm_serving
from tests.models.wide_student import write_wide_student

pytestmark = [pytest.mark.server, pytest.mark.slow]

STUDENT = ROOT / "opd_widgets/demo/models/student"
TOLERANCE = 2e-4  # nats; measured: 3e-5
KEY_VARIABLE, KEY = "OPD_WIDGETS_TEST_KEY", "a-key-for-this-test"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    python = vllm_python()
    if python is None:
        pytest.skip(f"no vLLM here: run `make test-server`, or name the Python of its environment in {PYTHON}")
    folder = tmp_path_factory.mktemp("vllm")
    wide = write_wide_student(STUDENT, folder / "student")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, KEY)
        with vllm_serving(python, wide, KEY, folder / "log") as server:
            yield server.url


@pytest.fixture(scope="module")
def lab():
    return opd.demo()


@pytest.fixture(scope="module")
def remote(url, lab):
    return opd.ServerModel(f"{url}/v1", "student", tokenizer=lab.student, api_key_env=KEY_VARIABLE, timeout=120)


def log_probabilities(model, ids, start):
    rows = model.head(model.hidden([ids], [np.arange(start - 1, len(ids) - 1)]))
    return np.asarray(torch.log_softmax(rows.double(), -1))


def test_log_probabilities_are_those_of_the_local_model(remote, lab):
    rollouts = lab.rollouts[:24]
    sequences = [rollout.token_ids for rollout in rollouts]
    starts = [rollout.prompt_len for rollout in rollouts]
    wanted = [
        np.argsort(-log_probabilities(lab.student, ids, at), axis=1)[:, :20]
        for ids, at in zip(sequences, starts, strict=True)
    ]
    found = remote.token_logprobs(sequences, starts, 20, wanted)
    apart = []
    for ids, start, said, top in zip(sequences, starts, found, wanted, strict=True):
        rows = log_probabilities(lab.student, ids, start)
        own = np.take_along_axis(rows, ids[start:, None].astype(np.int64), axis=1)
        apart += [np.abs(said.logprob - own[:, 0]).max()]
        # a rank is the number of likelier tokens but for those that the tolerance does not tell apart
        low, high = ((rows > own + sign * TOLERANCE).sum(axis=1) for sign in (1, -1))
        assert ((said.rank >= 1 + low) & (said.rank <= np.maximum(high, 1 + low))).all()
        assert (said.rank == 1 + (rows > own).sum(axis=1)).mean() > 0.99
        np.testing.assert_allclose(said.top_logprobs, -np.sort(-rows, axis=1)[:, :20], atol=TOLERANCE)
        known = np.isfinite(said.at)
        np.testing.assert_allclose(said.at[known], np.take_along_axis(rows, top, axis=1)[known], atol=TOLERANCE)
    assert max(apart) <= TOLERANCE


def test_a_teacher_behind_the_server_scores_like_the_same_one_here(remote, lab):
    teachers = {"here": opd.Teacher(lab.student), "there": opd.Teacher(remote)}
    hint = opd.contexts.free_text("The answer is 7.")
    teachers |= {"hinted here": opd.Teacher(lab.student, hint), "hinted there": opd.Teacher(remote, hint)}
    with pytest.warns(UserWarning, match="engine transformers against vllm"):
        scores = opd.score(lab.rollouts[:16], lab.student, teachers, progress=False)
    for item in scores.items:
        for name in ("", "hinted "):
            here, there = item.teachers[f"{name}here"], item.teachers[f"{name}there"]
            for signal in ("advantage", "teacher_surprisal", "position_weighted", "k3", "power_advantage"):
                np.testing.assert_allclose(there.signals[signal], here.signals[signal], atol=20 * TOLERANCE, rtol=1e-3)
            np.testing.assert_allclose(there.track.logprobs, here.track.logprobs, atol=TOLERANCE)
            assert (there.signals["teacher_rank"] == here.signals["teacher_rank"]).mean() > 0.99
            assert "reverse_kl" not in there.signals
            np.testing.assert_array_equal(there.prompt_ids, here.prompt_ids)
    assert scores.noise["teacher_surprisal"] < TOLERANCE


def _places(model, rollout):
    start, ids = rollout.prompt_len, rollout.token_ids
    rows = log_probabilities(model, ids, start)
    return [(ids[:at], row) for at, row in zip(range(start, len(ids)), rows, strict=True)]


def test_samples_follow_the_models_own_probabilities(remote, lab):
    prompt, rows = max(
        (found for rollout in lab.rollouts[:60] for found in _places(lab.student, rollout)),
        key=lambda place: float(-(np.exp(place[1]) * place[1]).sum()),
    )  # where the student hesitates most
    n = 12000
    drawn = remote.generate([prompt] * 6, n=n // 6, max_new_tokens=1, seed=11)
    counts = np.bincount([one.ids[0] for several in drawn for one in several], minlength=lab.student.vocab_size)
    expected = n * np.exp(rows)
    common = expected >= 5
    found = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], max(expected[~common].sum(), 1e-9))
    statistic, freedom = ((found - wanted) ** 2 / np.maximum(wanted, 0.5)).sum(), max(1, int(common.sum()))
    # the 1 - 1e-5 quantile of chi-square, after Wilson and Hilferty
    bound = freedom * (1 - 2 / (9 * freedom) + 4.265 * np.sqrt(2 / (9 * freedom))) ** 3
    assert statistic < bound
    cooler = np.exp(rows / 0.9) / np.exp(rows / 0.9).sum()
    assert n * ((cooler - np.exp(rows)) ** 2 / np.exp(rows)).sum() > bound  # a temperature of 0.9 would be found out


def test_samples_end_where_the_model_ends_them(remote, lab):
    prompts = [lab.rollouts[0].prompt_ids, lab.rollouts[-1].prompt_ids]
    drawn = remote.generate(prompts, n=4, max_new_tokens=40, seed=1)
    assert [len(one) for one in drawn] == [4, 4]
    for generation in (one for several in drawn for one in several):
        ended = generation.ids[-1] in lab.student.tokenizer.end_ids
        assert generation.stopped == ended
        assert ended or len(generation.ids) == 40
        assert not np.isin(generation.ids[:-1], list(lab.student.tokenizer.end_ids)).any()
    again = remote.generate(prompts, n=4, max_new_tokens=40, seed=1)
    assert [one.ids.tolist() for several in again for one in several] == [
        one.ids.tolist() for several in drawn for one in several
    ]


def _cut(lab, count):
    """Prompts with the beginnings of rollouts: what a diagnosis goes on from."""
    rng = np.random.default_rng(0)
    rollouts = [rollout for rollout in lab.rollouts if len(rollout.response_ids) > 1][:count]
    return [
        rollout.token_ids[: rollout.prompt_len + int(rng.integers(len(rollout.response_ids)))] for rollout in rollouts
    ]


def test_continuations_come_with_the_models_log_probabilities(remote, lab):
    asked = _cut(lab, 60)
    most = [1 + i % 40 for i in range(60)]
    seeds = [2**63 - 1 - i for i in range(60)]
    drawn = remote.continuations(asked, seeds=seeds, max_new_tokens=most)
    for ids, new, one in zip(asked, most, drawn, strict=True):
        ended = np.isin(one.ids, list(lab.student.tokenizer.end_ids))
        assert not ended[:-1].any()
        assert one.stopped == ended[-1]
        assert ended[-1] or len(one.ids) == new
        rows = log_probabilities(lab.student, np.concatenate([ids, one.ids]).astype(np.int32), len(ids))
        np.testing.assert_allclose(one.logprobs, rows[np.arange(len(one.ids)), one.ids], atol=TOLERANCE)
    # alone and in another order, up to what the server's arithmetic rounds otherwise
    again = remote.continuations(asked[::-1], seeds=seeds[::-1], max_new_tokens=most[::-1])[::-1]
    alone = [
        remote.continuations(asked[i : i + 1], seeds=seeds[i : i + 1], max_new_tokens=most[i : i + 1])[0]
        for i in (0, 9)
    ]
    same = [one.ids.tolist() == other.ids.tolist() for one, other in zip(drawn, again, strict=True)]
    assert np.mean(same) > 0.95
    assert [one.ids.tolist() for one in alone] == [drawn[i].ids.tolist() for i in (0, 9)]


def test_continuations_of_one_prompt_follow_the_models_own_probabilities(remote, lab):
    ids, row = max(
        (found for rollout in lab.rollouts[:60] for found in _places(lab.student, rollout)),
        key=lambda place: float(-(np.exp(place[1]) * place[1]).sum()),
    )
    n = 1500
    drawn = remote.continuations([ids] * n, seeds=range(n), max_new_tokens=[1] * n)
    counts, wanted = np.bincount([one.ids[0] for one in drawn], minlength=len(row)), n * np.exp(row)
    often = wanted >= 5
    freedom = int(often.sum()) - 1
    assert freedom >= 2
    assert ((counts - wanted)[often] ** 2 / wanted[often]).sum() < freedom + 4 * np.sqrt(2 * freedom)


def test_the_server_is_what_it_says(remote):
    assert remote.limit == 511
    assert remote.provenance == opd.Provenance("vllm", "student", "unknown", 1.0, "raw")
    assert not remote.scores_any_id  # needs a GPU and --enable-scale-out


def test_more_top_tokens_than_it_gives(remote, lab):
    rollout = lab.rollouts[0]
    with pytest.raises(InvalidInputError, match=f"{MOST + 1} likeliest.* at most {MOST}"):
        remote.token_logprobs([rollout.token_ids], [rollout.prompt_len], MOST + 1)


def test_the_longest_sequence_is_scored_and_a_longer_one_is_not_sent(remote):
    ids = (np.arange(511) % 40 + 5).astype(np.int32)
    assert np.isfinite(remote.token_logprobs([ids], [1], 1)[0].logprob).all()
    with pytest.raises(LengthLimitError, match="511 tokens, and 512"):
        remote.token_logprobs([np.append(ids, ids[:1])], [1], 1)


def test_another_tokenizer_name_or_key_is_found_out(url, lab, monkeypatch):
    with pytest.raises(TokenizerMismatchError):
        _ = opd.ServerModel(url, "student", tokenizer=tiny.model(0), api_key_env=KEY_VARIABLE).limit
    with pytest.raises(InvalidInputError, match=r"\['student'\]"):
        _ = opd.ServerModel(url, "teacher", tokenizer=lab.student, api_key_env=KEY_VARIABLE).limit
    monkeypatch.setenv("OTHER_KEY", "wrong")
    with pytest.raises(ServerError, match="401"):
        _ = opd.ServerModel(url, "student", tokenizer=lab.student, api_key_env="OTHER_KEY").limit
    with pytest.raises(ServerError, match="401"):
        _ = opd.ServerModel(url, "student", tokenizer=lab.student).limit


def test_the_tokenizer_is_loaded_from_where_the_server_says(url, lab):
    remote = opd.ServerModel(url, "student", api_key_env=KEY_VARIABLE)
    assert remote.tokenizer.vocabulary() == lab.student.tokenizer.vocabulary()
    assert remote.tokenizer.end_ids == lab.student.tokenizer.end_ids


def test_a_stop_takes_its_requests_back_from_the_engine(remote):
    sequences = [(np.arange(511) * (7 + i) % 40 + 5).astype(np.int32) for i in range(200)]
    kept: dict[str, Any] = {}

    def checkpoint():
        if len(kept) >= 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        remote.token_logprobs(sequences, [1] * 200, MOST, checkpoint=checkpoint, kept=kept)
    assert len(kept) < 60
    again = remote.token_logprobs(sequences[:4], [1] * 4, MOST, kept=kept)
    for ids, said in zip(sequences, again, strict=False):
        assert len(said.logprob) == len(ids) - 1
        assert np.isfinite(said.logprob).all()


def test_a_served_student_is_diagnosed_as_a_local_one(remote, lab):
    questions = lab.questions[:2]
    own, context = lab.teachers["Teacher"], lab.teachers["Self-1C"].context
    results = [
        opd.diagnose(
            questions,
            student,
            {"Teacher": own, "Self-1C": opd.Teacher(student, context)},
            verifier=lab.verifier,
            budget=2_000,
            max_new_tokens=48,
            progress=False,
        )
        for student in (remote, lab.student)
    ]
    for served, local in zip(*(result.evidence for result in results), strict=True):
        assert all(np.isfinite(drawn.logprobs[drawn.start :]).all() for drawn in served.rollouts)
        places = {prefix: row for row, prefix in enumerate(local.nodes.prefixes)}
        shared = [(row, places[prefix]) for row, prefix in enumerate(served.nodes.prefixes) if prefix in places]
        assert len(shared) > 1
        for one, other in shared:
            assert set(served.nodes.tokens[one].tolist()) - {-1} == set(local.nodes.tokens[other].tolist()) - {-1}
            found = dict(zip(served.nodes.tokens[one].tolist(), served.nodes.student_logp[one].tolist(), strict=True))
            wanted = dict(
                zip(local.nodes.tokens[other].tolist(), local.nodes.student_logp[other].tolist(), strict=True)
            )
            for token in set(wanted) - {-1}:
                assert found[token] == pytest.approx(wanted[token], abs=TOLERANCE)
    for result in results:
        nodes = result.nodes
        assert set(nodes[nodes.verdict == ""].teacher) == {"Teacher", "Self-1C"}
