"""SGLang's wire format: /generate with `input_ids` and `return_logprob`.

Written from its documentation and tested against answers of that shape; no live server has been tried, for SGLang does
not run without a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.errors import ServerError
from opd_widgets.models.protocol import Generation, Ids, ScoredTokens
from opd_widgets.models.server_answer import (
    Draw,
    Position,
    is_number,
    plain,
    rows_of,
    sampled_logprobs,
    scored_tokens,
    short_seed,
    what_is_scored,
)
from opd_widgets.models.server_client import Answer, ServerClient

if TYPE_CHECKING:
    from numpy.typing import NDArray

GENERATE = "/generate"
Triple = Sequence[Any]  # log-probability or null, id, text or null


@dataclass(frozen=True)
class SglangWire:
    """Asks an SGLang server.

    Args:
        client: who sends.
        model: what to call the model in errors; a server has one.
        engine: what to call the engine.

    """

    client: ServerClient
    model: str
    engine: str = "sglang"
    scores_any_id: bool = True
    spare: int = 0

    async def score(self, ids: Ids, start: int, k: int, at_ids: NDArray[np.integer] | None) -> ScoredTokens:
        """Return what the server says of the tokens from `start` on.

        SGLang takes one list of ids for all positions, so those of all rows are asked for at each. It gives no ranks: a
        token's is known where it is among the likeliest.

        Raises:
            ServerError: a refusal, or an answer that does not end with these tokens.

        """
        rows = rows_of(at_ids, len(ids) - start)
        union = sorted({token for row in rows for token in row if token >= 0})
        body = {
            "input_ids": plain(ids),
            "sampling_params": {"max_new_tokens": 0, "temperature": 0.0, "n": 1},
            "return_logprob": True,
            "logprob_start_len": start - 1,  # the first one given has no value: it stands for what precedes
            "top_logprobs_num": k,
            "return_text_in_logprobs": False,
            **({"token_ids_logprob": union} if union else {}),
        }
        meta = self._meta(self._need(await self.client.ask(GENERATE, body, about=what_is_scored(ids, k)), len(ids)))
        tokens = self._last(meta, "input_token_logprobs", ids, start)
        tops = self._last(meta, "input_top_logprobs", ids, start)
        asked = self._last(meta, "input_token_ids_logprobs", ids, start) if union else [[]] * len(tokens)
        found = []
        for token, own, top, more, at in zip(ids[start:].tolist(), tokens, tops, asked, rows, strict=True):
            if int(own[1]) != token:
                msg = f"{self.model!r}: found a score of token {own[1]} where {token} stands; expected one for each"
                raise ServerError(msg)
            likeliest = _known(top or [])
            known = {**_known(more or []), **likeliest, **_known([own])}
            found.append(Position(token, known, top=frozenset(likeliest), at=at))
        return scored_tokens(found, k)

    async def generate(self, draw: Draw) -> list[Generation]:
        """Return n continuations, drawn with exactly these settings.

        A seed is sent only with a request for log-probabilities, which has one sample: SGLang has no seed for each of
        several, and early versions have none. It heeds one where it was started with
        `--enable-deterministic-inference`; otherwise a draw cannot be repeated.

        Raises:
            ServerError: a refusal, or an answer without token ids.

        """
        params = {
            "max_new_tokens": draw.max_new_tokens,
            "min_new_tokens": 0,
            "no_stop_trim": True,
            "skip_special_tokens": False,
            **draw.settings(),
        }
        request: dict[str, Any] = {"input_ids": plain(draw.prompt), "sampling_params": params}
        if draw.logprobs:
            params["sampling_seed"] = short_seed(draw.seed)
            request |= {"return_logprob": True, "return_text_in_logprobs": False}
        answer = await self.client.ask(GENERATE, request)
        body = self._need(answer, len(draw.prompt))
        drawn = body if isinstance(body, list) else [body]
        if len(drawn) != draw.n or any(not isinstance(one, dict) or one.get("output_ids") is None for one in drawn):
            msg = (
                f"{self.model!r}: asked for {draw.n} samples and found {len(drawn)}; expected as many, with output_ids"
            )
            raise ServerError(msg)
        return [self._generation(one) for one in drawn]

    def _generation(self, one: Mapping[str, Any]) -> Generation:
        reason = self._meta(one).get("finish_reason")
        kind = reason.get("type") if isinstance(reason, Mapping) else reason
        ids = np.asarray(one["output_ids"], np.int32)
        logprobs = self._sampled(self._meta(one).get("output_token_logprobs"), ids)
        return Generation(ids, stopped=kind == "stop", logprobs=logprobs)

    def _sampled(self, triples: Any, ids: Ids) -> NDArray[np.float32] | None:
        """Return the log-probabilities of sampled tokens; None where they are not of these tokens, in order."""
        if not isinstance(triples, list) or [int(triple[1]) for triple in triples] != ids.tolist():
            return None
        return sampled_logprobs([triple[0] for triple in triples], len(ids))

    def _need(self, answer: Answer, length: int) -> Any:
        if not answer.ok or not isinstance(answer.body, dict | list):
            msg = f"{self.model!r}: the server refused {length} tokens: status {answer.status}, {answer.message!r}"
            raise ServerError(msg)
        return answer.body

    def _meta(self, body: Any) -> Mapping[str, Any]:
        meta = body.get("meta_info") if isinstance(body, dict) else None
        if not isinstance(meta, dict):
            msg = f"{self.model!r}: found an answer without meta_info, expected SGLang's /generate"
            raise ServerError(msg)
        return meta

    def _last(self, meta: Mapping[str, Any], name: str, ids: Ids, start: int) -> list[Any]:
        """Return the entries of the scored tokens: the last ones, however many stand before them."""
        entries, count = meta.get(name), len(ids) - start
        if not isinstance(entries, list) or len(entries) < count:
            found = "none" if entries is None else f"{len(entries)}"
            msg = f"{self.model!r}: asked for {count} {name} and found {found}; expected one for each scored token"
            raise ServerError(msg)
        return entries[len(entries) - count :]


def _known(triples: Sequence[Triple]) -> dict[int, float]:
    return {int(triple[1]): float(triple[0]) for triple in triples if is_number(triple[0])}
