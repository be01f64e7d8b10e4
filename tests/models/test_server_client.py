"""Servers that answer well, badly, late and not at all; keys that are seen nowhere."""

from __future__ import annotations

import logging
import pickle
import threading
import time
import traceback

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError, ServerError, TokenizerMismatchError
from opd_widgets.models import server_client
from tests import tiny
from tests.models.stub_server import DROPPED, Reply, ServedModel, client, refused, serving

KEY = "sk-this-must-not-be-seen"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(server_client, "FIRST_PAUSE", 0.01)


def ask(client, *request, **more):
    return client.wait(client.ask(*request, **more))


def in_turn(*replies):
    """Answer with one reply after the other, the last one for good."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def model(stub, **more):
    settings = {"tokenizer": tiny.model(0), "timeout": 10.0, "retries": 2, **more}
    return opd.ServerModel(f"{stub.url}/v1", "tiny", **settings)


@pytest.mark.parametrize("fault", [Reply({}, 429), Reply(b"oops", 500), Reply({}, 503), Reply(DROPPED)])
def test_what_passes_is_tried_again(fault):
    with serving(in_turn(fault, fault, Reply({"fine": 1}))) as stub:
        assert ask(client(stub.url), "/x", {}).body == {"fine": 1}
    assert len(stub.requests) == 3


def test_fault_42_a_server_that_stays_broken_is_an_error_with_tries_and_time():
    # a long prompt with prompt_logprobs can kill an engine, which then answers 500
    with (
        serving(lambda _: refused("EngineCore encountered an issue.", 500)) as stub,
        pytest.raises(ServerError, match=r"3 tries.*at most 3.*status 500, 'EngineCore encountered an issue\.'"),
    ):
        ask(client(stub.url, retries=2), "/x", {})
    assert len(stub.requests) == 3


def test_retry_after_is_waited_for():
    with serving(in_turn(Reply({}, 429, {"retry-after": "0.3"}), Reply({}))) as stub:
        began = time.monotonic()
        ask(client(stub.url), "/x", {})
    assert time.monotonic() - began >= 0.3


def test_the_time_limit_ends_it():
    def late(_):
        time.sleep(1.0)
        return Reply({})

    with serving(late) as stub:
        began = time.monotonic()
        with pytest.raises(ServerError, match=r"TimeoutError, no whole answer within 0\.2 s.*larger timeout"):
            ask(client(stub.url, timeout=0.2), "/x", {})
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
        assert len(asking.wait(asking.each(lambda _: asking.ask("/x", {}), range(12)))) == 12
        assert most[0] == 3
        most[0] = 0
        asking.wait(asking.each(lambda _: asking.ask("/x", {}), range(6), 2))
    assert most[0] == 2

    async def fails(item):
        raise ServerError(str(item))

    asking = client("http://127.0.0.1:9")
    with pytest.raises(ServerError, match="0"):
        asking.wait(asking.each(fails, range(100)))


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


def test_a_short_key_is_not_looked_for_among_the_numbers(monkeypatch):
    monkeypatch.setenv("MY_KEY", "1234")
    with serving(lambda _: Reply({"logprob": -0.51234})) as stub:
        assert ask(client(stub.url, api_key_env="MY_KEY"), "/x").body == {"logprob": -0.51234}


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
        ask(client(stub.url, api_key_env="MY_KEY", retries=0), "/x")
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
        ask(client(stub.url), "/x")
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
