"""A server on loopback that answers as it is told, and one that serves a local model in vLLM's or SGLang's format."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from opd_widgets.models.server_client import ServerClient

DROPPED = object()  # in place of an answer: the connection is closed


@dataclass
class Request:
    path: str
    body: Any
    headers: dict[str, str]


@dataclass
class Reply:
    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Answering = Callable[[Request], Reply]


@dataclass
class Stub:
    url: str
    requests: list[Request]

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@contextmanager
def serving(answer: Answering) -> Iterator[Stub]:
    """Serve on a free port; what `answer` returns is sent, bytes as they are and everything else as JSON."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            request = Request(self.path, body, {name.lower(): value for name, value in self.headers.items()})
            requests.append(request)
            reply = answer(request)
            if reply.body is DROPPED:
                self.close_connection = True
                return
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {**reply.headers, "content-length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815 - the names are http.server's

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Stub(f"http://127.0.0.1:{server.server_address[1]}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def client(url: str, **more: Any) -> ServerClient:
    """A client that gives up soon."""
    settings: dict[str, Any] = {"api_key_env": None, "timeout": 10.0, "retries": 3, "concurrency": 4, **more}
    return ServerClient(url, **settings)


@dataclass
class ServedModel:
    """Answers for a local model.

    Args:
        model: an `HFModel`.
        engine: "vllm" or "sglang".
        any_id: whether vLLM's scale-out endpoint is enabled.
        most: the server's limit of top tokens; -1 for none.

    """

    model: Any
    engine: str = "vllm"
    any_id: bool = False
    most: int = 20

    def __call__(self, request: Request) -> Reply:
        handlers = {
            "/v1/models": self.models,
            "/tokenize": self.tokenize,
            "/v1/completions": self.completions,
            "/inference/v1/generate": self.tokens,
            "/generate": self.generate,
        }
        return handlers[request.path](request.body)

    def models(self, _: Any) -> Reply:
        return Reply({"data": [{"id": "tiny", "owned_by": self.engine, "max_model_len": self.model.limit}]})

    def tokenize(self, body: Any) -> Reply:
        return Reply({"tokens": self.model.tokenizer.encode(body["prompt"]).tolist()})

    def rows(self, ids: list[int]) -> np.ndarray:
        """Log-probabilities [T - 1, V]; row i predicts token i + 1."""
        sequence = np.asarray(ids, np.int32)
        logits = self.model.head(self.model.hidden([sequence], [np.arange(len(ids) - 1)])).double()
        return np.asarray(logits.log_softmax(-1))

    def entries(self, ids: list[int], k: int) -> list[Any]:
        """`prompt_logprobs`, the sampled token in front as vLLM has it."""
        found: list[Any] = [None]
        for row, token in zip(self.rows(ids), ids[1:], strict=True):
            among = [token, *np.argsort(-row, kind="stable")[:k].tolist()]
            found.append({str(i): {"logprob": row[i], "rank": int((row >= row[i]).sum())} for i in among})
        return found

    def completions(self, body: Any) -> Reply:
        ids = body["prompt"]
        if body.get("logprobs") is not None:
            one = self.drawn(ids, body["seed"], body["max_tokens"])
            return Reply({"choices": [{"index": 0, **one, "logprobs": {"token_logprobs": one["logprobs"]}}]})
        if "prompt_logprobs" not in body:
            drawn = self.model.generate(
                [np.asarray(ids, np.int32)], n=body["n"], max_new_tokens=body["max_tokens"], seed=0
            )
            choices = [
                {"index": i, "token_ids": one.ids.tolist(), "finish_reason": "stop" if one.stopped else "length"}
                for i, one in enumerate(drawn[0])
            ]
            return Reply({"choices": choices[::-1]})
        k = self.model.vocab_size if body["prompt_logprobs"] == -1 else body["prompt_logprobs"]
        if k > self.most != -1:
            return refused(f"Requested prompt logprobs of {k}, which is greater than max allowed: {self.most}")
        return Reply({"choices": [{"prompt_logprobs": self.entries(ids, k), "prompt_token_ids": ids}]})

    def drawn(self, ids: list[int], seed: int, most: int) -> dict[str, Any]:
        """One continuation, in vLLM's words."""
        prompt = np.asarray(ids, np.int32)
        one = self.model.continuations([prompt], seeds=[seed], max_new_tokens=[most])[0]
        reason = "stop" if one.stopped else "length"
        return {"token_ids": one.ids.tolist(), "logprobs": one.logprobs.tolist(), "finish_reason": reason}

    def tokens(self, body: Any) -> Reply:
        if not self.any_id:
            return refused("Scale-out endpoints are disabled.", 403)
        params, ids = body["sampling_params"], body["token_ids"]
        asked = np.asarray(params["prompt_logprob_token_ids"])
        rows = self.rows(ids)[params["prompt_logprob_start"] :]
        matrix = np.where(asked < 0, -np.inf, np.take_along_axis(rows, np.maximum(asked, 0), axis=1))
        packed = io.BytesIO()
        np.save(packed, matrix.astype(np.float32))
        entries = self.entries(ids, params["prompt_logprobs"]) if "prompt_logprobs" in params else None
        scores = base64.b64encode(packed.getvalue()).decode()
        return Reply({"choices": [], "prompt_logprobs": entries, "prompt_token_id_logprobs": scores})

    def generate(self, body: Any) -> Reply:
        params = body["sampling_params"]
        if params["max_new_tokens"]:
            one = self.drawn(body["input_ids"], params["sampling_seed"], params["max_new_tokens"])
            said = [[logprob, token, None] for logprob, token in zip(one["logprobs"], one["token_ids"], strict=True)]
            meta = {"finish_reason": {"type": one["finish_reason"]}, "output_token_logprobs": said}
            return Reply({"text": "", "output_ids": one["token_ids"], "meta_info": meta})
        return self.scores(body)

    def scores(self, body: Any) -> Reply:
        ids, start = body["input_ids"], body["logprob_start_len"]
        rows, k = self.rows(ids)[start:], body["top_logprobs_num"]
        asked = body.get("token_ids_logprob")
        own = zip(rows, ids[start + 1 :], strict=True)
        meta: dict[str, Any] = {
            "input_token_logprobs": [[None, ids[start], None], *([row[i], i, None] for row, i in own)],
            "input_top_logprobs": [None, *(triples(row, np.argsort(-row, kind="stable")[:k]) for row in rows)],
        }
        if asked:
            meta["input_token_ids_logprobs"] = [None, *(triples(row, asked) for row in rows)]
        return Reply({"text": "", "output_ids": [], "meta_info": meta})


def triples(row: Any, ids: Any) -> list[list[Any]]:
    return [[float(row[i]), int(i), None] for i in ids]


def refused(message: str, status: int = 400) -> Reply:
    return Reply({"error": {"message": message, "code": status}}, status)
