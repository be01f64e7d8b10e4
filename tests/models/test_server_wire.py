"""Servers that answer well, badly, late and not at all: a stub on loopback, with answers of a real server."""

from __future__ import annotations

import json
import logging
import pickle
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError, ServerError, TokenizerMismatchError
from opd_widgets.models import server_client
from opd_widgets.models.protocol import Sampling
from opd_widgets.models.server_answer import Draw, Position, scored_tokens
from opd_widgets.models.server_client import ServerClient
from opd_widgets.models.server_sglang import SglangWire
from opd_widgets.models.server_vllm import VllmWire
from tests import tiny
from tests.models.stub_server import DROPPED, Reply, ServedModel, refused, serving

ANSWERS = Path(__file__).parent / "answers"
VLLM = json.loads((ANSWERS / "vllm.json").read_text("utf-8"))
SGLANG = json.loads((ANSWERS / "sglang.json").read_text("utf-8"))
IDS = np.array([6, 15, 7, 17, 8], np.int32)  # what the recorded answers are about
KEY = "sk-this-must-not-be-seen"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(server_client, "FIRST_PAUSE", 0.01)


def client(url, **more):
    return ServerClient(url, **{"api_key_env": None, "timeout": 10.0, "retries": 3, "concurrency": 4, **more})


def recorded(name):
    return Reply(VLLM[name]["body"], VLLM[name]["status"])


def in_turn(*replies):
    """Answer with one reply after the other, the last one for good."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def model(stub, **more):
    settings = {"tokenizer": tiny.model(0), "timeout": 10.0, "retries": 2, **more}
    return opd.ServerModel(f"{stub.url}/v1", "tiny", **settings)


def test_a_recorded_answer_is_looked_up_by_id():
    with serving(lambda _: recorded("score")) as stub:
        found = VllmWire(client(stub.url), "student").score(IDS, 1, 2, np.array([[6, 12], [40, 6], [-1, 7], [6, 6]]))
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
        VllmWire(client(stub.url), "student").score(IDS, 1, 2, None)
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


def test_a_sentinel_is_minus_infinity_and_censored():
    found = scored_tokens([Position(3, {3: -9999.0, 8: -0.1}), Position(8, {3: -9999.0, 8: float("-inf")})], 2)
    assert found.logprob.tolist() == [-np.inf, -np.inf]
    assert found.censored.tolist() == [True, False]
    assert found.top_logprobs[0].tolist() == [np.float32(-0.1), -np.inf]


def test_more_top_tokens_than_the_server_gives_is_an_error_with_both():
    with (
        serving(lambda _: recorded("too_many")) as stub,
        pytest.raises(InvalidInputError, match=r"51 likeliest.* at most 50.*top_k=50.*--max-logprobs 51"),
    ):
        VllmWire(client(stub.url), "student").score(IDS, 1, 51, None)


def test_another_refusal_shows_the_servers_words():
    with serving(lambda _: recorded("out_of_vocabulary")) as stub, pytest.raises(ServerError, match="out of vocab"):
        VllmWire(client(stub.url), "student").score(IDS, 1, 1, None)
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
        VllmWire(client(stub.url), "student").score(IDS, 1, 1, None)


def test_recorded_samples_keep_their_end_token():
    with serving(lambda _: recorded("generate")) as stub:
        drawn = VllmWire(client(stub.url), "student").generate(Draw(IDS, 2, 4, 3, Sampling(), [1]))
    assert [(one.ids.tolist(), one.stopped) for one in drawn] == [([4, 8, 1], True)] * 2
    body = stub.requests[0].body
    wanted = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "n": 2}
    assert wanted.items() <= body.items()
    assert (body["presence_penalty"], body["frequency_penalty"], body["stop_token_ids"]) == (0.0, 0.0, [1])


def test_sglang_is_read_as_documented():
    ids = np.array([5, 11, 20, 7], np.int32)
    with serving(lambda _: Reply(SGLANG["score"])) as stub:
        found = SglangWire(client(stub.url), "m").score(ids, 2, 2, np.array([[3, 20], [20, 3]]))
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
        SglangWire(client(stub.url), "m").score(np.array([5, 11, 20, 7], np.int32), 2, 2, None)


def test_sglang_samples():
    with serving(lambda _: Reply(SGLANG["generate"])) as stub:
        drawn = SglangWire(client(stub.url), "m").generate(Draw(IDS, 2, 2, 0, Sampling(), [1]))
    assert [(one.ids.tolist(), one.stopped) for one in drawn] == [([20, 1], True), ([7, 20], False)]
    assert stub.requests[0].body["sampling_params"]["top_k"] == -1


@pytest.mark.parametrize("fault", [Reply({}, 429), Reply(b"oops", 500), Reply({}, 503), Reply(DROPPED)])
def test_what_passes_is_tried_again(fault):
    with serving(in_turn(fault, fault, Reply({"fine": 1}))) as stub:
        assert client(stub.url).ask("/x", {}).body == {"fine": 1}
    assert len(stub.requests) == 3


def test_a_server_that_stays_broken_is_an_error_with_tries_and_time():
    # faults 42: a long prompt with prompt_logprobs can kill an engine, which then answers 500
    with (
        serving(lambda _: refused("EngineCore encountered an issue.", 500)) as stub,
        pytest.raises(ServerError, match=r"3 tries.*at most 3.*status 500, 'EngineCore encountered an issue\.'"),
    ):
        client(stub.url, retries=2).ask("/x", {})
    assert len(stub.requests) == 3


def test_a_prompt_that_kills_the_engine_is_named_with_its_length():
    # fault 42: prompt_logprobs of long prompts
    def dies(request):
        return refused("EngineCore died", 500) if len(request.body["prompt"]) > 4 else recorded("score")

    with serving(dies) as stub, pytest.raises(ServerError, match=r"no answer to 5 tokens with the 2 likeliest of each"):
        VllmWire(client(stub.url, retries=1), "student").score(IDS, 1, 2, None)


def test_nan_and_null_are_no_log_probabilities():
    said = {"prompt_logprobs": [None, *[{"9": {"logprob": -1.0, "rank": 2}, "8": {"logprob": None}}] * 4]}
    nan = json.dumps(said).replace("null}", "NaN}").encode()
    with serving(lambda _: Reply(b'{"choices": [' + nan + b"]}")) as stub:
        found = VllmWire(client(stub.url), "student").score(np.full(5, 9, np.int32), 1, 2, None)
    assert found.top_ids.tolist() == [[9, -1]] * 4


def test_retry_after_is_waited_for():
    with serving(in_turn(Reply({}, 429, {"retry-after": "0.3"}), Reply({}))) as stub:
        began = time.monotonic()
        client(stub.url).ask("/x", {})
    assert time.monotonic() - began >= 0.3


def test_the_time_limit_ends_it():
    def late(_):
        time.sleep(1.0)
        return Reply({})

    with serving(late) as stub:
        began = time.monotonic()
        with pytest.raises(ServerError, match=r"ReadTimeout.*larger timeout"):
            client(stub.url, timeout=0.2).ask("/x", {})
        assert time.monotonic() - began < 0.8


def test_nobody_there_is_an_error_that_names_the_address():
    with pytest.raises(ServerError, match=r"http://127\.0\.0\.1:9/v1/models.*ConnectError"):
        _ = opd.ServerModel("http://127.0.0.1:9", "m", tokenizer=tiny.model(0)).limit


def test_something_else_there_is_an_error():
    with serving(lambda _: Reply(b"<html>")) as stub, pytest.raises(ServerError, match=r"'<html>', expected JSON"):
        _ = model(stub).limit
    with serving(lambda _: refused("no", 404)) as stub, pytest.raises(ServerError, match="Check the URL"):
        _ = model(stub).limit


def test_requests_are_bounded_and_the_first_error_ends_the_rest():
    import threading

    now, most, lock = [0], [0], threading.Lock()

    def counting(_):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return Reply({})

    with serving(counting) as stub:
        asking = client(stub.url, concurrency=3)
        assert len(asking.map(lambda _: asking.ask("/x", {}), range(12))) == 12
    assert most[0] <= 3

    def fails(item):
        raise ServerError(str(item))

    with serving(counting) as stub, pytest.raises(ServerError):
        client(stub.url).map(fails, range(100))


def test_nothing_is_asked_before_the_first_use():
    with serving(ServedModel(tiny.model(0))) as stub:
        remote = model(stub)
        teacher = opd.Teacher(remote)
        assert repr(remote) == f"ServerModel('tiny' at {stub.url})"
        assert teacher.model is remote
        assert not stub.requests
        assert remote.limit == tiny.model(0).limit - 1  # one token is generated
        assert remote.provenance.engine == "vllm"
        asked = len(stub.requests)
        assert remote.limit
        assert len(stub.requests) == asked


def test_a_model_that_is_not_served_is_named():
    with serving(ServedModel(tiny.model(0))) as stub, pytest.raises(InvalidInputError, match=r"\['tiny'\].*'other'"):
        _ = opd.ServerModel(stub.url, "other", tokenizer=tiny.model(0)).limit


def test_another_tokenizer_is_found_before_anything_is_scored():
    with serving(ServedModel(tiny.model(0))) as stub:
        other = tiny.tokenizer(characters="ba" + tiny.CHARACTERS[2:])
        with pytest.raises(TokenizerMismatchError, match=r"token \d+ is \d+ there and \d+ here"):
            _ = model(stub, tokenizer=other).limit
    assert "/v1/completions" not in stub.paths()


def test_a_special_token_that_is_text_to_the_server_is_another_tokenizer():
    class Plain(ServedModel):
        def tokenize(self, body):
            return Reply({"tokens": self.model.tokenizer.encode(body["prompt"].replace("<eos>", "eos")).tolist()})

    with serving(Plain(tiny.model(0))) as stub, pytest.raises(TokenizerMismatchError):
        _ = model(stub).limit


def test_without_tokenize_nobody_can_tell():
    class Without(ServedModel):
        def tokenize(self, _):
            return refused("Not Found", 404)

    with serving(Without(tiny.model(0))) as stub, pytest.raises(ServerError, match=r"/tokenize answered with.*404"):
        _ = model(stub).limit


def test_a_server_that_answers_in_two_ways_is_found_out():
    class Two(ServedModel):
        def completions(self, body):
            self.model = tiny.model(1) if self.model is tiny.model(0) else tiny.model(0)
            return super().completions(body)

    with serving(Two(tiny.model(0))) as stub, pytest.raises(ServerError, match="same request twice"):
        _ = model(stub).limit


def test_logits_in_place_of_logprobs_are_found_out():
    class Logits(ServedModel):
        def rows(self, ids):
            return super().rows(ids) + 9.0

    with serving(Logits(tiny.model(0))) as stub, pytest.raises(ServerError, match="raw_logprobs"):
        _ = model(stub).limit


def test_a_sequence_over_the_limit_is_not_sent():
    with serving(ServedModel(tiny.model(0))) as stub:
        remote = model(stub)
        with pytest.raises(LengthLimitError, match=r"takes 255 tokens, and 256 tokens"):
            remote.token_logprobs([np.full(256, 9, np.int32)], [1], 5)
        with pytest.raises(LengthLimitError, match=r"250 tokens and 6 new"):
            remote.generate([np.full(250, 9, np.int32)], max_new_tokens=6, seed=0)


def test_a_key_is_sent_and_seen_nowhere(monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level(logging.DEBUG)

    def echoes(request):
        return refused(f"wrong key: {request.headers['authorization']}", 401)

    with serving(echoes) as stub:
        remote = model(stub, api_key_env="MY_KEY")
        with pytest.raises(ServerError, match=r"wrong key: Bearer \[key\]") as caught:
            _ = remote.limit
        asking = client(stub.url, api_key_env="MY_KEY", retries=0)
        assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"
    with serving(lambda _: refused(KEY, 500)) as stub, pytest.raises(ServerError) as broken:
        client(stub.url, api_key_env="MY_KEY", retries=0).ask("/x")
    shown = [repr(remote), str(vars(remote)), repr(asking), str(vars(asking)), caplog.text]
    for error in (caught.value, broken.value):
        with_locals = traceback.TracebackException.from_exception(error, capture_locals=True)
        shown += [str(error), repr(error), "".join(traceback.format_exception(error))]
        shown += [
            str(line.locals) for line in with_locals.stack if "opd_widgets" in line.filename and line.name != "key"
        ]
    assert not [text for text in shown if KEY in text]
    with pytest.raises((TypeError, pickle.PicklingError)):
        pickle.dumps(remote)


def test_no_key_is_sent_unless_a_variable_is_named(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(lambda _: Reply({})) as stub:
        client(stub.url).ask("/x")
    assert "authorization" not in stub.requests[0].headers


@pytest.mark.parametrize(
    ("value", "said"), [(None, "empty or missing"), (" ", "empty or missing"), (f"a\n{KEY}", "line breaks")]
)
def test_a_key_that_cannot_be_is_refused_unseen(monkeypatch, value, said):
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(InvalidInputError, match=said) as caught:
        opd.ServerModel("http://127.0.0.1:1", "m", tokenizer=tiny.model(0), api_key_env="MY_KEY")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"url": f"http://me:{KEY}@127.0.0.1:1/v1"}, "password or query"),
        ({"url": f"http://127.0.0.1:1/v1?key={KEY}"}, "password or query"),
        ({"url": "127.0.0.1:8000"}, "expected a server's URL"),
        ({"timeout": 0}, "timeout=0"),
        ({"retries": -1}, "retries=-1"),
        ({"concurrency": 1.5}, "concurrency=1.5"),
        ({"engine": "tgi"}, "engine='tgi'"),
        ({"tokenizer": 7}, "tokenizer of type int"),
    ],
)
def test_arguments_that_cannot_be(arguments, said):
    given = {"url": "http://127.0.0.1:1", "model_name": "m", "tokenizer": tiny.model(0), **arguments}
    with pytest.raises(InvalidInputError, match=said) as caught:
        opd.ServerModel(**given)
    assert KEY not in str(caught.value)
