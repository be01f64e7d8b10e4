"""What is found out about a server before it is relied on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.errors import InvalidInputError, ServerError, TokenizerMismatchError
from opd_widgets.models.server_sglang import SglangWire
from opd_widgets.models.server_vllm import VllmWire

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids, ScoredTokens, Tokenizer
    from opd_widgets.models.server_client import Answer, ServerClient

Wire = VllmWire | SglangWire
PROBE = "2 + 3 = 5, so it's na\u00efve:\n\tcaf\u00e9"
PROBED_IDS = 32  # of the probe are scored
# Nats between two answers to one request. Other work on the server changes the rounding, in half precision by some
# hundredths; another model, or sampling noise, changes it by more.
REPEATS_WITHIN = 0.1
_SPECIAL = 8  # special tokens in the probe, at most
_ENDS_SEARCHED = 512  # special tokens stand among the first or last ids


@dataclass(frozen=True)
class Served:
    """What a server says of the model.

    Args:
        wire: how to ask it.
        limit: longest prompt and response together; None where it does not say.

    """

    wire: Wire
    limit: int | None


async def find_model(client: ServerClient, model: str) -> dict[str, Any]:
    """Return the server's entry for a model.

    Raises:
        ServerError: it cannot be reached, or it is no server of this kind.
        InvalidInputError: it does not serve the model.

    """
    answer = await client.ask("/v1/models", retries=min(1, client.retries))
    body = answer.body if isinstance(answer.body, dict) else {}
    entries = [entry for entry in body.get("data") or [] if isinstance(entry, dict)]
    if not answer.ok or "data" not in body:
        msg = (
            f"{client.url}/v1/models answered with status {answer.status}, {answer.message!r}; expected the list of "
            "models of an OpenAI-compatible server. Check the URL, and api_key_env where it needs a key"
        )
        raise ServerError(msg)
    for entry in entries:
        if entry.get("id") == model:
            return entry
    msg = f"{client.url} serves {[str(entry.get('id')) for entry in entries]}, and {model!r} was asked for"
    raise InvalidInputError(msg)


async def check_server(
    client: ServerClient, model: str, entry: dict[str, Any], tokenizer: Tokenizer, engine: str | None
) -> Served:
    """Return how to ask the server, once it has shown that its answers can be relied on.

    Raises:
        TokenizerMismatchError: it reads a text as other ids.
        ServerError: it lacks something that scoring needs, or answers one request in two ways.

    """
    owner = str(entry.get("owned_by") or "unknown")
    kind = engine or ("sglang" if owner == "sglang" else "vllm")
    name = engine or (owner if owner in {"vllm", "sglang"} else "unknown")
    wire: Wire = SglangWire(client, model) if kind == "sglang" else VllmWire(client, model, name)
    length = entry.get("max_model_len")
    limit = None if length is None else int(length) - wire.spare
    ids = (await _check_tokenizer(client, model, tokenizer))[: min(PROBED_IDS, limit or PROBED_IDS)]
    first, second = [await wire.score(ids, 1, 1, None) for _ in range(2)]
    _check_answers(client, model, first, second)
    if isinstance(wire, VllmWire) and await wire.takes_any_id(ids):
        wire = replace(wire, scores_any_id=True)
    return Served(wire, limit)


async def _check_tokenizer(client: ServerClient, model: str, tokenizer: Tokenizer) -> Ids:
    """Return the probe's ids, the same here and there."""
    text = PROBE + "".join(f"{name} a" for name in _special(tokenizer))
    here = tokenizer.encode(text)
    answer = await client.ask("/tokenize", {"model": model, "prompt": text, "add_special_tokens": False})
    there = answer.body.get("tokens") if answer.ok and isinstance(answer.body, dict) else None
    if not isinstance(there, list):
        raise ServerError(_no_tokenize(client, answer))
    if [int(token) for token in there] != here.tolist():
        pairs = zip([*here.tolist(), None], [*there, None], strict=False)
        at, (mine, theirs) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
        msg = (
            f"{model!r} is served with another tokenizer: of a probe of {len(text)} characters it makes {len(there)} "
            f"tokens, and the one here {len(here)}; token {at} is {theirs} there and {mine} here. Expected one "
            "tokenizer on both sides. Give tokenizer= that of the served model"
        )
        raise TokenizerMismatchError(msg)
    return here if len(here) > 1 else np.repeat(here, 2)


def _no_tokenize(client: ServerClient, answer: Answer) -> str:
    return (
        f"{client.url}/tokenize answered with status {answer.status}, {answer.message!r}, so nobody can tell whether "
        "server and student number their tokens alike. Expected vLLM's or SGLang's /tokenize; a proxy must pass it on"
    )


def _special(tokenizer: Tokenizer) -> list[str]:
    """Return names of special tokens: where tokenizers of one family differ first."""
    size = tokenizer.size
    ids = sorted({*range(min(_ENDS_SEARCHED, size)), *range(max(0, size - _ENDS_SEARCHED), size)})
    names = {token: text for text, token in tokenizer.vocabulary().items()}
    return [names[token] for token in ids if token in names and tokenizer.piece(token).special][:_SPECIAL]


def _check_answers(client: ServerClient, model: str, first: ScoredTokens, second: ScoredTokens) -> None:
    if not np.isfinite(first.logprob).any() or float(np.nanmax(first.top_logprobs)) > 1e-3:
        msg = (
            f"{model!r}: found log-probabilities from {np.nanmin(first.top_logprobs):.4g} to "
            f"{np.nanmax(first.top_logprobs):.4g}, expected at most 0. Start the server with "
            "--logprobs-mode raw_logprobs"
        )
        raise ServerError(msg)
    both = np.isfinite(first.logprob) & np.isfinite(second.logprob)
    apart = np.abs(first.logprob - second.logprob)[both]
    if apart.size and float(apart.max()) > REPEATS_WITHIN:
        at = int(np.flatnonzero(both)[apart.argmax()])
        msg = (
            f"{model!r} at {client.url} scored the same request twice and gave {first.logprob[at]:.4f} and "
            f"{second.logprob[at]:.4f} for one token; expected the same within {REPEATS_WITHIN}. Several models behind "
            "one address, or weights being exchanged, look like this"
        )
        raise ServerError(msg)
