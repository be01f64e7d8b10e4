"""Models behind an inference server: vLLM, SGLang, and what speaks vLLM's completions API."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from opd_widgets.data.track import Provenance
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.models.continuation import check_continuations
from opd_widgets.models.protocol import Generation, Kept, Model, Sampling, ScoredTokens, Tokenizer
from opd_widgets.models.server_answer import Draw, short_seed
from opd_widgets.models.server_check import Served, check_server, find_model
from opd_widgets.models.server_client import ServerClient
from opd_widgets.models.server_vllm import VllmWire
from opd_widgets.models.tokenizer import HFTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids

Engine = Literal["vllm", "sglang"]
Arrays = Mapping[str, "NDArray[Any]"]
# Of a full-vocabulary answer. 2 million entries are some 140 MB of JSON, and 1 GB while they are read.
MOST_ENTRIES, MOST_VOCABULARY, ENTRY_BYTES = 2_000_000, 4096, 70


class ServerModel:
    """A model that a server runs, on as many GPUs and hosts as it likes.

    Example:
        >>> remote = opd.ServerModel("http://127.0.0.1:8000/v1", "Qwen3-32B", tokenizer=student)  # doctest: +SKIP
        >>> scores = opd.score(rollouts, student, {"32B": opd.Teacher(remote)})  # doctest: +SKIP

    Limits: unless `full_vocabulary` is set, a teacher behind a server has the signals of the sampled token, its rank,
    the top-k overlap and the mass on the student's top-k, and no KL, JSD or entropy. Where the server does not score
    ids of one's choice (`scores_any_id`), that mass counts only tokens among the teacher's own top-k: a lower bound. A
    server's limit of prompt and response is one token less than its context under vLLM, which generates one to score.

    Nothing is asked before the first use. Then the server shows that it serves the model, that its tokenizer is the one
    here, that it gives prompt log-probabilities, and that it gives the same ones twice. Connections are closed whenever
    an answer, an error or a stop ends the work they were made for.

    Args:
        url: of the server, with or without `/v1`.
        model_name: the name it serves the model by.
        tokenizer: the model's: an `opd.HFModel` that has the same one, a transformers tokenizer, or a folder or hub
            name; by default the one of the place the server says it loaded the model from.
        engine: "vllm" or "sglang"; by default what the server says it is.
        dtype: the precision it computes in, which no server tells.
        vocab_size: rows of its head, which no server tells either; by default those of the model given as tokenizer,
            or else the tokenizer's ids.
        api_key_env: the environment variable that holds the key. It is read for each request and kept nowhere; by
            default none is sent.
        timeout: seconds for one request, all its tries together.
        retries: how often a request is sent again after a 429, a 5xx or a lost connection, with growing pauses.
        concurrency: how many requests are under way at a time.
        full_vocabulary: ask vLLM, started with `--max-logprobs -1`, for the log-probability of every token, so that
            this teacher has all signals. That costs some 70 bytes of JSON for each token of prompt and response and
            each entry of the vocabulary, and several times that in memory while an answer is read: it is for small
            vocabularies. A prompt and response of L tokens are taken where L times the vocabulary is at most 2 million.

    Raises:
        InvalidInputError: an argument that cannot be.

    """

    def __init__(
        self,
        url: str,
        model_name: str,
        *,
        tokenizer: Any = None,
        engine: Engine | None = None,
        dtype: str = "unknown",
        vocab_size: int | None = None,
        api_key_env: str | None = None,
        timeout: float = 600.0,
        retries: int = 5,
        concurrency: int = 16,
        full_vocabulary: bool = False,
    ) -> None:
        if engine not in {None, "vllm", "sglang"}:
            msg = f"found engine={engine!r}, expected 'vllm', 'sglang' or None"
            raise InvalidInputError(msg)
        self._client = ServerClient(
            url, api_key_env=api_key_env, timeout=timeout, retries=retries, concurrency=concurrency
        )
        self._name, self._engine, self._dtype = model_name, engine, dtype
        self._source: str | None = None
        self._tokenizer: Tokenizer | None = None
        if tokenizer is None or isinstance(tokenizer, str | Path):
            self._source = None if tokenizer is None else str(tokenizer)
        else:
            self._tokenizer = _given(tokenizer)
        rows = tokenizer.vocab_size if isinstance(tokenizer, Model) else None
        self._vocab_size = rows if vocab_size is None else vocab_size
        self._full_vocabulary = full_vocabulary
        self._check_vocabulary(self._vocab_size)
        self._served: Served | None = None
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        """Name the model and its server."""
        return f"ServerModel({self._name!r} at {self._client.url})"

    @property
    def name(self) -> str:
        """What to call it."""
        return self._name

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer, loaded here where only its place was given."""
        with self._lock:
            if self._tokenizer is None:
                source = self._source or str(self._entry().get("root") or self._name)
                from opd_widgets.models.hf_load import load_tokenizer  # loads transformers

                self._tokenizer = load_tokenizer(source)
            return self._tokenizer

    @property
    def vocab_size(self) -> int:
        """Rows of its head, as far as is known here: every id it can be asked about."""
        return self.tokenizer.size if self._vocab_size is None else self._vocab_size

    @property
    def limit(self) -> int | None:
        """Longest prompt and response together, in tokens; None where the server does not say."""
        limit = self._contact().limit
        if not self._full_vocabulary:
            return limit
        most = MOST_ENTRIES // self.vocab_size
        return most if limit is None else min(limit, most)

    @property
    def provenance(self) -> Provenance:
        """Engine, dtype, temperature and mode: servers score a prompt before any temperature or truncation."""
        engine = self._contact().wire.engine
        return Provenance(engine, self._name, self._dtype, temperature=1.0, logprob_mode="raw")

    @property
    def scores_any_id(self) -> bool:
        """Whether the server scores ids of one's choice at each position."""
        return self._contact().wire.scores_any_id

    @property
    def full_vocabulary(self) -> bool:
        """Whether it is asked for the log-probability of every token."""
        return self._full_vocabulary

    def token_logprobs(
        self,
        sequences: Sequence[Ids],
        starts: Sequence[int],
        k: int,
        at_ids: Sequence[NDArray[np.integer]] | None = None,
        *,
        checkpoint: Callable[[], None] = lambda: None,
        kept: Kept | None = None,
    ) -> list[ScoredTokens]:
        """Return what the server says of every token from `starts` on, one request a sequence.

        Arguments are as for `TokenScorer.token_logprobs`.

        Raises:
            InvalidInputError: a start with nothing before it, or more top tokens than the server gives.
            LengthLimitError: a sequence longer than the server takes.
            ServerError: no answer, or one that does not fit the request.

        """
        wire, width = self._contact().wire, min(k, self.vocab_size)
        extra: Sequence[NDArray[np.integer] | None] = at_ids if at_ids is not None else [None] * len(sequences)
        asked = list(zip(sequences, starts, extra, strict=True))
        self._check_sequences(sequences, starts)

        async def one(request: tuple[Ids, int, NDArray[np.integer] | None]) -> ScoredTokens:
            ids, start, at = request
            key = _key(ids, start, width, at)
            return ScoredTokens(**await _once(key, kept, lambda: _arrays(wire.score(ids, start, width, at))))

        return self._client.wait(self._client.each(one, asked), checkpoint)

    def distributions(
        self,
        sequences: Sequence[Ids],
        starts: Sequence[int],
        *,
        checkpoint: Callable[[], None] = lambda: None,
        kept: Kept | None = None,
    ) -> list[NDArray[np.float32]]:
        """Return the log-probability of every id at every token from `starts` on: by sequence, float32 [n, V].

        Arguments are as for `token_logprobs`; one request a sequence, few at a time, for the answers are long.

        Raises:
            InvalidInputError: a start with nothing before it, an engine other than vLLM, or a server that was not
                started with `--max-logprobs -1`.
            LengthLimitError: a sequence longer than the server takes.
            ServerError: no answer, or one that does not fit the request.

        """
        wire = self._contact().wire
        if not isinstance(wire, VllmWire):
            msg = f"{self._name!r} is served by {wire.engine}, and full_vocabulary is known of vLLM only; leave it out"
            raise InvalidInputError(msg)
        self._check_sequences(sequences, starts)

        async def rows(ids: Ids, start: int) -> dict[str, NDArray[Any]]:
            return {"logp": await wire.distributions(ids, start)}

        async def one(request: tuple[Ids, int]) -> NDArray[np.float32]:
            found = await _once(_key(*request, -1, None), kept, lambda: rows(*request))
            return found["logp"]

        longest = max(map(len, sequences), default=1) * self.vocab_size
        asked = list(zip(sequences, starts, strict=True))
        return self._client.wait(self._client.each(one, asked, max(1, MOST_ENTRIES // longest)), checkpoint)

    def generate(
        self,
        prompts: Sequence[Ids],
        *,
        n: int = 1,
        max_new_tokens: int,
        seed: int,
        sampling: Sampling | None = None,
    ) -> list[list[Generation]]:
        """Return n continuations of every prompt, one request a prompt, drawn with exactly these settings.

        Temperature 1, top_p 1, no top_k, no min_p, no penalty unless `sampling` says otherwise, each said in every
        request. A seed repeats a draw only as far as the server's arithmetic repeats, and not under SGLang.

        Raises:
            InvalidInputError: nothing to draw, or an empty prompt.
            LengthLimitError: a prompt and `max_new_tokens` are more than the server takes.
            ServerError: no answer, or one that does not fit the request.

        """
        if not len(prompts) or n < 1 or max_new_tokens < 1 or not min(len(ids) for ids in prompts):
            msg = (
                f"found {len(prompts)} prompts, the shortest of {min(map(len, prompts), default=0)} tokens, n={n} and "
                f"max_new_tokens={max_new_tokens}; expected at least 1 of each"
            )
            raise InvalidInputError(msg)
        for ids in prompts:
            self._check_length(len(ids), max_new_tokens)
        wire, how, ends = self._contact().wire, sampling or Sampling(), sorted(self.tokenizer.end_ids)
        # a server counts on from a seed for its n samples, so those of two prompts must lie far apart
        seeds = [short_seed(seed, i) for i in range(len(prompts))]
        draws = [Draw(ids, n, max_new_tokens, own, how, ends) for ids, own in zip(prompts, seeds, strict=True)]
        return self._client.wait(self._client.each(wire.generate, draws))

    def continuations(
        self, prompts: Sequence[Ids], *, seeds: Sequence[int], max_new_tokens: Sequence[int]
    ) -> list[Generation]:
        """Return one continuation of each prompt, at temperature 1 from the whole distribution: one request each.

        Each request carries its row's seed and asks for the log-probabilities of what is sampled; they are None where a
        server does not give them. A seed repeats a row only as far as the server's arithmetic does: what it computes
        together may round otherwise. SGLang heeds a seed only under `--enable-deterministic-inference`.

        Args:
            prompts: int [P] each, none empty; no prompt at all gives no continuation.
            seeds: a whole number from 0 to 2**63 - 1 for each prompt.
            max_new_tokens: most tokens of each continuation, at least 1.

        Raises:
            InvalidInputError: not as many seeds or numbers of tokens as prompts, an empty prompt, or fewer than one new
                token.
            LengthLimitError: a prompt and its `max_new_tokens` are more than the server takes.
            ServerError: no answer, or one that does not fit the request.

        """
        own, most = check_continuations(self._name, self.limit, prompts, seeds, max_new_tokens)
        wire, how, ends = self._contact().wire, Sampling(), sorted(self.tokenizer.end_ids)
        rows = zip(prompts, most, own, strict=True)
        draws = [Draw(ids, 1, new, seed, how, ends, logprobs=True) for ids, new, seed in rows]
        return [drawn for (drawn,) in self._client.wait(self._client.each(wire.generate, draws))]

    def _contact(self) -> Served:
        """Return how the server is asked, after its self-test the first time."""
        with self._lock:
            if self._served is None:
                entry, tokenizer = self._entry(), self.tokenizer
                if self._full_vocabulary:
                    self._check_vocabulary(self.vocab_size)
                self._served = self._client.wait(check_server(self._client, self._name, entry, tokenizer, self._engine))
            return self._served

    def _entry(self) -> dict[str, Any]:
        return self._client.wait(find_model(self._client, self._name))

    def _check_vocabulary(self, size: int | None) -> None:
        if self._full_vocabulary and size is not None and size > MOST_VOCABULARY:
            cost = ENTRY_BYTES * size / 1000
            msg = (
                f"found full_vocabulary=True with a vocabulary of {size:,}, expected at most {MOST_VOCABULARY:,}: a "
                f"rollout of 1,000 tokens would be answered with {cost:,.0f} MB of JSON. Leave it out, or take a local "
                "teacher for divergences"
            )
            raise InvalidInputError(msg)

    def _check_sequences(self, sequences: Sequence[Ids], starts: Sequence[int]) -> None:
        for ids, start in zip(sequences, starts, strict=True):
            if not 1 <= start <= len(ids):
                msg = f"found a start of {start} in a sequence of {len(ids)}, expected 1 to its length"
                raise InvalidInputError(msg)
            self._check_length(len(ids), 0)

    def _check_length(self, prompt: int, new: int) -> None:
        limit = self.limit
        if limit is not None and prompt + new > limit:
            asked = f"{prompt} tokens" + (f" and {new} new ones" if new else "")
            msg = f"{self._name!r} takes {limit} tokens, and {asked} were asked for. Nothing is cut"
            raise LengthLimitError(msg)


def _given(tokenizer: Any) -> Tokenizer:
    """Return a tokenizer, or that of a model.

    Raises:
        InvalidInputError: neither.

    """
    inner = tokenizer if hasattr(tokenizer, "encode") else getattr(tokenizer, "tokenizer", None)
    if isinstance(inner, Tokenizer):
        return inner
    if hasattr(inner, "get_vocab"):
        return HFTokenizer(inner)
    msg = (
        f"found a tokenizer of type {type(tokenizer).__name__}, expected an opd.HFModel, a transformers tokenizer, a "
        "folder or a hub name"
    )
    raise InvalidInputError(msg)


def _key(ids: Ids, start: int, k: int, at_ids: NDArray[np.integer] | None) -> str:
    """Return a name for a request: equal requests, equal names."""
    at = np.zeros((0, 0)) if at_ids is None else at_ids
    parts = (np.asarray(ids, np.int32).tobytes(), np.ascontiguousarray(at, np.int64).tobytes())
    found = hashlib.blake2b(repr((start, k, at.shape, *map(len, parts))).encode(), digest_size=16)
    for part in parts:
        found.update(part)
    return found.hexdigest()


async def _once(key: str, kept: Kept | None, ask: Callable[[], Awaitable[Arrays]]) -> Arrays:
    """Return an answer that was kept, or ask, and keep the answer from the moment it is here."""
    found = None if kept is None else kept.get(key)
    if found is None:
        found = await ask()
        if kept is not None:
            kept[key] = found
    return found


async def _arrays(scored: Awaitable[ScoredTokens]) -> Arrays:
    return dict(vars(await scored))
