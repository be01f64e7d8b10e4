"""What a server is asked and says, whatever its wire format. Scores are looked up by id, never by order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.topk import UNUSED_ID
from opd_widgets.data.track import CENSORED_AT
from opd_widgets.models.protocol import Ids, Sampling, ScoredTokens

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Draw:
    """A request for n continuations of one prompt.

    Args:
        prompt: int32 [P].
        n: how many.
        max_new_tokens: of each, at most.
        seed: of this draw alone.
        sampling: how tokens are drawn.
        ends: ids that end a response.
        logprobs: whether to ask for the log-probability of each token.

    """

    prompt: Ids
    n: int
    max_new_tokens: int
    seed: int
    sampling: Sampling
    ends: Sequence[int]
    logprobs: bool = False

    def settings(self) -> dict[str, Any]:
        """Return how tokens are drawn, in the words of both engines: all is said, nothing is left to a server's own."""
        return {
            "n": self.n,
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "top_k": self.sampling.top_k or -1,
            "min_p": self.sampling.min_p,
            "repetition_penalty": self.sampling.repetition_penalty,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "ignore_eos": False,
            "stop_token_ids": list(self.ends),
        }


@dataclass(frozen=True)
class Position:
    """What is known of one token.

    Args:
        token: the token itself.
        known: log-probability by id: the token's, the likeliest ones', and those asked for.
        rank: of the token, 1 = likeliest; 0 where the server does not say.
        top: the likeliest ids among `known`; None where all of them are.

    """

    token: int
    known: Mapping[int, float]
    rank: int = 0
    top: frozenset[int] | None = None
    at: Sequence[int] = field(default=())


def scored_tokens(positions: Sequence[Position], k: int) -> ScoredTokens:
    """Return the positions as arrays.

    Args:
        positions: one a token.
        k: how many of the likeliest tokens each was asked for; a server may add the token itself.

    """
    width = len(positions[0].at) if positions else 0
    top_ids = np.full((len(positions), k), UNUSED_ID, np.int32)
    top_logprobs = np.full((len(positions), k), np.nan, np.float32)
    logprob = np.full(len(positions), np.nan, np.float32)
    rank = np.zeros(len(positions), np.int32)
    at = np.full((len(positions), width), np.nan, np.float32)
    for row, position in enumerate(positions):
        ranked = _ranked(position)[:k]
        top_ids[row, : len(ranked)] = ranked
        top_logprobs[row, : len(ranked)] = [position.known[token] for token in ranked]
        logprob[row] = position.known.get(position.token, np.nan)
        rank[row] = position.rank or (ranked.index(position.token) + 1 if position.token in ranked else 0)
        at[row] = [position.known.get(int(token), np.nan) for token in position.at]
    censored = (logprob <= CENSORED_AT) & np.isfinite(logprob)
    return ScoredTokens(floored(logprob), censored, rank, top_ids, floored(top_logprobs), floored(at))


def _ranked(position: Position) -> list[int]:
    """Return the likeliest ids, likeliest first, equal ones by id."""
    among = position.known if position.top is None else position.top
    return sorted(among, key=lambda token: (-position.known[token], token))


def floored(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return values with the sentinel for "less likely than I report" as -inf."""
    return np.where(values <= CENSORED_AT, np.float32(-np.inf), values)


def short_seed(*of: int) -> int:
    """Return a seed of 31 bits, which every engine takes, made of whole numbers of any size."""
    return int(np.random.SeedSequence(of).generate_state(1)[0] >> 1)


def sampled_logprobs(values: object, count: int) -> NDArray[np.float32] | None:
    """Return what a server said of the tokens it sampled; None where it did not say one value for each.

    Args:
        values: log-probabilities in order; null is missing.
        count: how many tokens it sampled.

    """
    if not isinstance(values, list) or len(values) != count:
        return None
    return floored(np.array([value if is_number(value) else np.nan for value in values], np.float32))


def rows_of(at_ids: NDArray[np.integer] | None, count: int) -> list[list[int]]:
    """Return the ids to score at each of some positions; none where none were asked for."""
    return [[]] * count if at_ids is None else [[int(token) for token in row] for row in at_ids]


def plain(ids: Ids) -> list[int]:
    """Return ids as JSON takes them."""
    return [int(token) for token in ids]


def what_is_scored(ids: Ids, k: int) -> str:
    """Return a request in words: long ones with many tokens each are what engines break on."""
    return f"{len(ids)} tokens with the {k} likeliest of each"


def is_number(value: object) -> bool:
    """Return whether a server said a log-probability: null and NaN say none."""
    return isinstance(value, int | float) and not math.isnan(value)
