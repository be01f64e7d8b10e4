"""Answers of both engines, recorded and bent, as they are read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from opd_widgets.errors import InvalidInputError, ServerError
from opd_widgets.models.protocol import Sampling
from opd_widgets.models.server_answer import Draw, Position, scored_tokens
from opd_widgets.models.server_sglang import SglangWire
from opd_widgets.models.server_vllm import VllmWire
from tests.models.stub_server import Reply, client, refused, serving

ANSWERS = Path(__file__).parent / "answers"
VLLM = json.loads((ANSWERS / "vllm.json").read_text("utf-8"))
SGLANG = json.loads((ANSWERS / "sglang.json").read_text("utf-8"))
IDS = np.array([6, 15, 7, 17, 8], np.int32)  # what the recorded answers are about


def vllm(client, work, *request):
    return client.wait(getattr(VllmWire(client, "student"), work)(*request))


def sglang(client, work, *request):
    return client.wait(getattr(SglangWire(client, "m"), work)(*request))


def recorded(name):
    return Reply(VLLM[name]["body"], VLLM[name]["status"])


def test_fault_07_a_recorded_answer_begins_with_null_and_the_rest_is_looked_up_by_id():
    with serving(lambda _: recorded("score")) as stub:
        found = vllm(client(stub.url), "score", IDS, 1, 2, np.array([[6, 12], [40, 6], [-1, 7], [6, 6]]))
    entries = VLLM["score"]["body"]["choices"][0]["prompt_logprobs"]
    assert entries[0] is None
    for row, (token, entry) in enumerate(zip(IDS[1:].tolist(), entries[1:], strict=True)):
        assert found.logprob[row] == np.float32(entry[str(token)]["logprob"])
        assert found.rank[row] == entry[str(token)]["rank"]
        ranked = sorted(entry.values(), key=lambda said: said["rank"])[:2]
        np.testing.assert_array_equal(found.top_logprobs[row], np.float32([said["logprob"] for said in ranked]))
    assert found.at[0].tolist() == [np.float32(entries[1]["6"]["logprob"]), np.float32(entries[1]["12"]["logprob"])]
    assert np.isnan(found.at[1, 0])  # not said is missing, not 0
    assert np.isnan(found.at[2, 0])


def test_a_scoring_request_says_ids_and_greedy():
    with serving(lambda _: recorded("score")) as stub:
        vllm(client(stub.url), "score", IDS, 1, 2, None)
    body = stub.requests[0].body
    assert body["prompt"] == IDS.tolist()
    assert (body["prompt_logprobs"], body["max_tokens"], body["temperature"]) == (2, 1, 0.0)


def test_an_answer_may_name_the_sampled_token_first_last_or_not_at_all():
    first = scored_tokens([Position(3, {3: -5.0, 8: -0.1, 9: -2.0})], 2)
    last = scored_tokens([Position(3, {9: -2.0, 8: -0.1, 3: -5.0})], 2)
    for found in (first, last):
        assert found.top_ids.tolist() == [[8, 9]]
        assert found.logprob.tolist() == [-5.0]
    assert np.isnan(scored_tokens([Position(3, {8: -0.1})], 2).logprob[0])


def test_fault_07_an_answer_without_the_leading_null_is_not_taken_one_off():
    entries = VLLM["score"]["body"]["choices"][0]["prompt_logprobs"][1:]
    with (
        serving(lambda _: Reply({"choices": [{"prompt_logprobs": entries}]})) as stub,
        pytest.raises(ServerError, match="5 token ids and found 4 prompt_logprobs"),
    ):
        vllm(client(stub.url), "score", IDS, 1, 2, None)


@pytest.mark.parametrize("more", [0, 1, 2])
def test_fault_07_sglangs_scores_are_the_last_ones_wherever_they_start(more):
    # some versions begin at logprob_start_len, some one before, and the first may have no value
    given = SGLANG["score"]["meta_info"]
    meta = {name: [*[[None, 5, None]] * more, *given[name][-2:]] for name in ("input_token_logprobs",)}
    meta["input_top_logprobs"] = [*[None] * more, *given["input_top_logprobs"][-2:]]
    with serving(lambda _: Reply({**SGLANG["score"], "meta_info": {**given, **meta}})) as stub:
        found = sglang(client(stub.url), "score", np.array([5, 11, 20, 7], np.int32), 2, 2, None)
    assert found.logprob.tolist() == [np.float32(-0.3), -np.inf]


def test_fault_26_minus_infinity_in_json_is_a_value_however_it_is_written():
    said = '{"9": {"logprob": -Infinity, "rank": 2}, "8": {"logprob": -9999.0}, "7": {"logprob": -0.5}}'
    body = '{"choices": [{"prompt_logprobs": [null, %s]}]}' % ", ".join([said] * 4)  # noqa: UP031 - full of braces
    with serving(lambda _: Reply(body.encode())) as stub:
        found = vllm(client(stub.url), "score", np.full(5, 9, np.int32), 1, 3, np.array([[8, 7, 6]] * 4))
    assert np.isneginf(found.logprob).all()
    assert not found.censored.any()  # the server said -inf, and no sentinel
    assert found.at[0].tolist()[:2] == [-np.inf, -0.5]
    assert np.isnan(found.at[0, 2])
    assert found.top_ids[0, 0] == 7


def test_fault_26_a_sentinel_is_minus_infinity_and_censored():
    found = scored_tokens([Position(3, {3: -9999.0, 8: -0.1}), Position(8, {3: -9999.0, 8: float("-inf")})], 2)
    assert found.logprob.tolist() == [-np.inf, -np.inf]
    assert found.censored.tolist() == [True, False]
    assert found.top_logprobs[0].tolist() == [np.float32(-0.1), -np.inf]


def test_more_top_tokens_than_the_server_gives_is_an_error_with_both():
    with (
        serving(lambda _: recorded("too_many")) as stub,
        pytest.raises(InvalidInputError, match=r"51 likeliest.* at most 50.*top_k=50.*--max-logprobs 51"),
    ):
        vllm(client(stub.url), "score", IDS, 1, 51, None)


def test_another_refusal_shows_the_servers_words():
    with serving(lambda _: recorded("out_of_vocabulary")) as stub, pytest.raises(ServerError, match="out of vocab"):
        vllm(client(stub.url), "score", IDS, 1, 1, None)
    assert len(stub.requests) == 1  # a refusal is not tried again


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({}, "without prompt_logprobs"),
        ({"prompt_logprobs": [None, {}]}, "found 2 prompt_logprobs"),
        ({"prompt_logprobs": [None, *[{"1": {"logprob": -1.0}}] * 4]}, "not token 15"),
        (
            {"prompt_logprobs": [None, *[{"1": {"logprob": -1.0}}] * 4], "prompt_token_ids": [1, 2, 3, 4, 5]},
            "for other ids",
        ),
    ],
)
def test_an_answer_that_does_not_fit_the_request_is_an_error(choice, said):
    with serving(lambda _: Reply({"choices": [choice]})) as stub, pytest.raises(ServerError, match=said):
        vllm(client(stub.url), "score", IDS, 1, 1, None)


def test_recorded_samples_keep_their_end_token():
    with serving(lambda _: recorded("generate")) as stub:
        drawn = vllm(client(stub.url), "generate", Draw(IDS, 2, 4, 3, Sampling(), [1]))
    assert [(one.ids.tolist(), one.stopped) for one in drawn] == [([4, 8, 1], True)] * 2
    body = stub.requests[0].body
    wanted = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "n": 2}
    assert wanted.items() <= body.items()
    assert (body["presence_penalty"], body["frequency_penalty"], body["stop_token_ids"]) == (0.0, 0.0, [1])


def test_sglang_is_read_as_documented():
    ids = np.array([5, 11, 20, 7], np.int32)
    with serving(lambda _: Reply(SGLANG["score"])) as stub:
        found = sglang(client(stub.url), "score", ids, 2, 2, np.array([[3, 20], [20, 3]]))
    body = stub.requests[0].body
    assert (body["input_ids"], body["logprob_start_len"], body["token_ids_logprob"]) == ([5, 11, 20, 7], 1, [3, 20])
    assert found.logprob.tolist() == [np.float32(-0.3), -np.inf]
    assert found.censored.tolist() == [False, True]
    assert found.top_ids.tolist() == [[20, 7], [20, 9]]
    assert found.rank.tolist() == [1, 0]  # SGLang says no rank: unknown outside the top-k
    np.testing.assert_array_equal(found.at, np.float32([[-4.5, -0.3], [-0.1, -6.5]]))


def test_sglang_without_input_scores_is_an_error():
    meta = {**SGLANG["score"]["meta_info"], "input_token_logprobs": []}
    with (
        serving(lambda _: Reply({**SGLANG["score"], "meta_info": meta})) as stub,
        pytest.raises(ServerError, match="2 input_token_logprobs and found 0"),
    ):
        sglang(client(stub.url), "score", np.array([5, 11, 20, 7], np.int32), 2, 2, None)


def test_sglang_samples():
    with serving(lambda _: Reply(SGLANG["generate"])) as stub:
        drawn = sglang(client(stub.url), "generate", Draw(IDS, 2, 2, 0, Sampling(), [1]))
    assert [(one.ids.tolist(), one.stopped) for one in drawn] == [([20, 1], True), ([7, 20], False)]
    assert stub.requests[0].body["sampling_params"]["top_k"] == -1


def test_fault_42_a_prompt_that_kills_the_engine_is_named_with_its_length():
    def dies(request):
        return refused("EngineCore died", 500) if len(request.body["prompt"]) > 4 else recorded("score")

    with serving(dies) as stub, pytest.raises(ServerError, match=r"no answer to 5 tokens with the 2 likeliest of each"):
        vllm(client(stub.url, retries=1), "score", IDS, 1, 2, None)


def test_fault_26_nan_and_null_are_no_log_probabilities():
    said = {"prompt_logprobs": [None, *[{"9": {"logprob": -1.0, "rank": 2}, "8": {"logprob": None}}] * 4]}
    nan = json.dumps(said).replace("null}", "NaN}").encode()
    with serving(lambda _: Reply(b'{"choices": [' + nan + b"]}")) as stub:
        found = vllm(client(stub.url), "score", np.full(5, 9, np.int32), 1, 2, None)
    assert found.top_ids.tolist() == [[9, -1]] * 4
