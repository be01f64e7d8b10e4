"""One request a row, with its seed, and the log-probabilities of what was sampled, as both engines say them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.models.protocol import Sampling
from opd_widgets.models.server_answer import Draw, short_seed
from opd_widgets.models.server_sglang import SglangWire
from opd_widgets.models.server_vllm import VllmWire
from tests import tiny
from tests.models.stub_server import Reply, ServedModel, client, serving

RECORDED = json.loads((Path(__file__).parent / "answers/vllm.json").read_text("utf-8"))["continuation"]["body"]
IDS = np.array([6, 15, 7, 17, 8], np.int32)  # what the recorded answer goes on from
ROW = Draw(IDS, 1, 6, 7, Sampling(), [1], logprobs=True)
PROMPTS = [np.array(ids, np.int32) for ids in ([3, 9, 4], [5], [3, 9, 4], [7, 7, 8, 9])]
SEEDS, MOST = [4, 2**63 - 1, 5, 4], [9, 3, 20, 1]


def remote_of(stub, **more):
    return opd.ServerModel(f"{stub.url}/v1", "tiny", tokenizer=tiny.model(0), retries=0, **more)


@pytest.mark.parametrize(("engine", "sent"), [("vllm", int), ("sglang", short_seed)])
def test_rows_are_those_that_the_model_behind_the_server_draws(engine, sent):
    with serving(ServedModel(tiny.model(0), engine)) as stub:
        drawn = remote_of(stub).continuations(PROMPTS, seeds=SEEDS, max_new_tokens=MOST)
    here = tiny.model(0).continuations(PROMPTS, seeds=[sent(seed) for seed in SEEDS], max_new_tokens=MOST)
    for one, other in zip(drawn, here, strict=True):
        assert one.ids.tolist() == other.ids.tolist()
        assert one.stopped == other.stopped
        assert one.logprobs.dtype == np.float32
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-5)


def test_each_row_is_a_request_that_says_its_seed_and_all_settings():
    with serving(ServedModel(tiny.model(0))) as stub:
        remote_of(stub).continuations(PROMPTS, seeds=SEEDS, max_new_tokens=MOST)
    bodies = [request.body for request in stub.requests if "logprobs" in (request.body or {})]
    said = sorted((body["seed"], body["max_tokens"], body["prompt"]) for body in bodies)
    assert said == sorted((seed, new, ids.tolist()) for seed, new, ids in zip(SEEDS, MOST, PROMPTS, strict=True))
    wanted = {"n": 1, "temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
    assert all((wanted | {"logprobs": 1, "return_token_ids": True}).items() <= body.items() for body in bodies)


def test_a_recorded_answer_of_vllm():
    with serving(lambda _: Reply(RECORDED)) as stub:
        (one,) = client(stub.url).wait(VllmWire(client(stub.url), "student").generate(ROW))
    choice = RECORDED["choices"][0]
    assert one.ids.tolist() == choice["token_ids"]
    np.testing.assert_array_equal(one.logprobs, np.float32(choice["logprobs"]["token_logprobs"]))
    assert len(one.logprobs) == len(one.ids) > 1
    assert one.stopped == (choice["finish_reason"] == "stop")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (None, None),
        ({}, None),
        ({"token_logprobs": None}, None),
        ({"token_logprobs": [-0.5]}, None),  # of two tokens: nobody knows which
        ({"token_logprobs": [-0.5, None]}, [-0.5, np.nan]),
        ({"token_logprobs": [-9999.0, -0.5]}, [-np.inf, -0.5]),
    ],
)
def test_log_probabilities_that_vllm_does_not_say_are_missing(said, found):
    choice = {"index": 0, "token_ids": [4, 8], "finish_reason": "length", "logprobs": said}
    with serving(lambda _: Reply({"choices": [choice]})) as stub:
        (one,) = client(stub.url).wait(VllmWire(client(stub.url), "student").generate(ROW))
    assert one.ids.tolist() == [4, 8]
    assert one.logprobs is None if found is None else np.array_equal(one.logprobs, found, equal_nan=True)


@pytest.mark.parametrize(
    ("triples", "found"),
    [
        ([[-0.5, 20, None], [-0.25, 1, None]], [-0.5, -0.25]),
        ([[-0.5, 20, None], [None, 1, None]], [-0.5, np.nan]),
        ([[-0.5, 20, None], [-0.25, 7, None]], None),  # of another token than the one it says it drew
        ([[-0.5, 20, None]], None),
        (None, None),
    ],
)
def test_sglang_says_log_probabilities_with_their_ids(triples, found):
    meta = {"finish_reason": {"type": "stop", "matched": 1}, "output_token_logprobs": triples}
    with serving(lambda _: Reply({"output_ids": [20, 1], "meta_info": meta})) as stub:
        (one,) = client(stub.url).wait(SglangWire(client(stub.url), "m").generate(ROW))
    assert one.logprobs is None if found is None else np.array_equal(one.logprobs, found, equal_nan=True)
    body = stub.requests[0].body
    assert body["return_logprob"] is True
    assert body["sampling_params"]["sampling_seed"] == short_seed(7)


def test_seeds_of_31_bits():
    seeds = {short_seed(seed) for seed in range(1000)}
    assert len(seeds) == 1000
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert short_seed(2**63 - 1) != short_seed(2**31 - 1)


def test_what_cannot_be_drawn_is_not_sent():
    with serving(ServedModel(tiny.model(0))) as stub:
        remote = remote_of(stub)
        assert remote.continuations([], seeds=[], max_new_tokens=[]) == []
        asked = len(stub.requests)
        with pytest.raises(InvalidInputError, match="found 0 in max_new_tokens at row 1"):
            remote.continuations(PROMPTS[:2], seeds=[0, 1], max_new_tokens=[1, 0])
        with pytest.raises(InvalidInputError, match="empty prompt at row 0"):
            remote.continuations([IDS[:0]], seeds=[0], max_new_tokens=[1])
        with pytest.raises(InvalidInputError, match="found 2 prompts and seeds=1 of them"):
            remote.continuations(PROMPTS[:2], seeds=[0], max_new_tokens=[1, 1])
        with pytest.raises(LengthLimitError, match="takes 255 tokens, and prompt 0 of 3 with max_new_tokens=253"):
            remote.continuations(PROMPTS[:1], seeds=[0], max_new_tokens=[253])
        assert len(stub.requests) == asked
