"""The policy of a model behind a server on one prompt: no whole distribution, but every important token exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.topk import UNUSED_ID
from opd_widgets.diagnosis.policies.model_policy import check_room, continuations
from opd_widgets.diagnosis.policies.prefixes import (
    Chains,
    Prefix,
    chained,
    checked_prefixes,
    checked_prompt,
    without_end,
)
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.measures.distribution import log_softmax
from opd_widgets.models.protocol import Generation, Ids, ScoredTokens, TokenScorer, is_scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

USUAL_LIMIT = 20  # tokens of a position that servers give unless told otherwise


@dataclass(frozen=True, eq=False)
class Likeliest:
    """The likeliest tokens after n prefixes, as a server says them.

    Args:
        ids: int32 [n, k], likeliest first; -1 fills unused columns.
        logp: float64 [n, k], nats; -inf where unused.

    """

    ids: NDArray[np.int32]
    logp: NDArray[np.float64]

    def at(self, ids: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return log-probabilities at int [n, C] ids: float64 [n, C], NaN where an id is not among the likeliest."""
        same = (self.ids[:, None, :] == ids[:, :, None]) & (ids >= 0)[:, :, None]
        found = np.take_along_axis(self.logp, same.argmax(-1), axis=1) if self.ids.shape[1] else np.nan
        return np.where(same.any(-1), found, np.nan)


class ServedPolicy:
    """The policy of a model behind a server, such as `opd.ServerModel`, on one prompt.

    A server says the likeliest k tokens of each position of a sequence. At most 50 tokens can be likelier than 0.02, so
    that the likeliest 50 hold all of these; a server that gives only 20 is asked for those, and a node at which more
    could be is refused. Nodes on one sequence are asked about in one request.

    Limits: where the server does not score ids of one's choice (`scores_any_id`), a token's log-probability is known
    only where it is among its likeliest. Whole distributions need a model with `full_vocabulary`.

    Args:
        scorer: who is asked.
        prompt_ids: int [P], at least one.

    Raises:
        InvalidInputError: a model that is not behind a server, or an empty prompt.
        LengthLimitError: on use, where prompt, prefix and what follows are more than the server takes.

    """

    def __init__(self, scorer: TokenScorer, prompt_ids: Prefix) -> None:
        if not is_scorer(scorer):
            msg = f"found {type(scorer).__name__}, expected a model behind a server, such as opd.ServerModel(url, name)"
            raise InvalidInputError(msg)
        self._scorer = scorer
        self._prompt = checked_prompt(prompt_ids, scorer.vocab_size)

    def __repr__(self) -> str:
        """Name the model and the length of the prompt."""
        return f"ServedPolicy({self._scorer.name!r} after {len(self._prompt)} tokens)"

    @property
    def model(self) -> TokenScorer:
        """Whose policy it is."""
        return self._scorer

    @property
    def prompt(self) -> Ids:
        """What the model is given before a response, int32 [P]."""
        return self._prompt

    @property
    def vocab_size(self) -> int:
        """Number of ids it can be asked about."""
        return self._scorer.vocab_size

    @property
    def token_count(self) -> int:
        """Ids that stand for a token: a head's further rows are padding."""
        return min(self._scorer.tokenizer.size, self.vocab_size)

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a response."""
        return self._scorer.tokenizer.end_ids

    @property
    def full_vocabulary(self) -> bool:
        """Whether `next_logprobs` may be asked for."""
        return self._scorer.full_vocabulary

    def next_logprobs(self, prefixes: Sequence[Prefix]) -> NDArray[np.float64]:
        """Return the next-token log-probabilities after each of n prefixes: float64 [n, V], nats.

        Raises:
            InvalidInputError: the model was made without `full_vocabulary`, or its server has another vocabulary.

        """
        if not self.full_vocabulary:
            msg = (
                f"{self._scorer.name!r} is behind a server, which says the likeliest of {self.vocab_size} tokens, and"
                " not all. Take a local model, or opd.ServerModel(..., full_vocabulary=True) if the vocabulary is small"
            )
            raise InvalidInputError(msg)
        asked = checked_prefixes(prefixes, self.vocab_size)
        if not asked:
            return np.zeros((0, self.vocab_size))
        chains = chained(asked)
        found = self._scorer.distributions(self._sequences(chains), self._starts(chains))
        logp = np.concatenate([one[at] for one, at in zip(found, _within(chains), strict=True)]).astype(np.float64)
        if logp.shape[1] != self.vocab_size:
            msg = (
                f"the server of {self._scorer.name!r} gives {logp.shape[1]} tokens a position, and its vocabulary was"
                f" taken to be {self.vocab_size}. Give opd.ServerModel(..., vocab_size={logp.shape[1]})"
            )
            raise InvalidInputError(msg)
        every: NDArray[np.float64] = log_softmax(logp[chains.places])  # takes the rounding out of their sum
        return every

    def likeliest(self, prefixes: Sequence[Prefix], important: float) -> Likeliest:
        """Return the likeliest tokens after each prefix, among them every one of a probability above `important`.

        Raises:
            InvalidInputError: the server gives too few tokens of a position to be sure of that.

        """
        asked = checked_prefixes(prefixes, self.vocab_size)
        if not asked:
            return Likeliest(np.zeros((0, 0), np.int32), np.zeros((0, 0)))
        chains, most = chained(asked), min(self.vocab_size, math.ceil(1 / important))
        try:
            found = self._ask(chains, most)
        except LengthLimitError:
            raise
        except InvalidInputError:  # more than this server gives of a position
            if most <= USUAL_LIMIT:
                raise
            found = self._ask(chains, USUAL_LIMIT)
        at = _within(chains)
        ids = np.concatenate([one.top_ids[rows] for one, rows in zip(found, at, strict=True)])[chains.places]
        logp = np.concatenate([one.top_logprobs[rows] for one, rows in zip(found, at, strict=True)])[chains.places]
        top = Likeliest(ids, np.where(ids == UNUSED_ID, -np.inf, logp.astype(np.float64)))
        self._check_all(top, asked, important)
        return top

    def logprobs_at(
        self, prefixes: Sequence[Prefix], ids: NDArray[np.integer], known: Likeliest | None = None
    ) -> NDArray[np.float64]:
        """Return the log-probabilities of tokens of one's choice.

        Args:
            prefixes: n of them.
            ids: int [n, C]; -1 is none.
            known: what `likeliest` said of the same prefixes; the rest is asked for, where the server says it.

        Returns:
            float64 [n, C], nats. NaN where there is no id or the server would not say; -inf for an id that is outside
            its vocabulary.

        """
        asked = checked_prefixes(prefixes, self.vocab_size)
        found = np.full(ids.shape, np.nan) if known is None else known.at(ids)
        found[ids >= self.vocab_size] = -np.inf
        missing = np.isnan(found) & (ids >= 0)
        rows = np.flatnonzero(missing.any(axis=1))
        if rows.size and self._scorer.scores_any_id:
            some = np.where(missing, ids, UNUSED_ID)[rows]
            found[rows] = np.where(missing[rows], self._at([asked[row] for row in rows], some), found[rows])
        return found

    def sample(
        self, prefixes: Sequence[Prefix], *, seeds: Sequence[int], max_new_tokens: int | Sequence[int]
    ) -> list[Generation]:
        """Return one continuation of every prefix, drawn at temperature 1 from the whole distribution."""
        asked = checked_prefixes(prefixes, self.vocab_size)
        return continuations(self._scorer, [self._prompt] * len(asked), asked, seeds, max_new_tokens)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a response, without the token that ended it."""
        return self._scorer.tokenizer.decode(without_end(ids, self.end_ids))

    def _at(self, asked: Sequence[Ids], ids: NDArray[np.integer]) -> NDArray[np.float64]:
        chains = chained(asked)
        distinct = np.full((int(chains.places.max()) + 1, ids.shape[1]), UNUSED_ID)
        distinct[chains.places] = ids  # equal prefixes have equal ids: both come of one node
        wanted, done = [], 0
        for sequence, depths in zip(chains.sequences, chains.depths, strict=True):
            rows = np.full((len(sequence) + 1 - int(depths[0]), ids.shape[1]), UNUSED_ID)
            rows[depths - depths[0]] = distinct[done : done + len(depths)]
            wanted.append(rows)
            done += len(depths)
        found = self._ask(chains, 1, wanted)
        at = np.concatenate([one.at[rows] for one, rows in zip(found, _within(chains), strict=True)])
        said: NDArray[np.float64] = at[chains.places].astype(np.float64)
        return said

    def _ask(self, chains: Chains, k: int, at_ids: Sequence[NDArray[np.integer]] | None = None) -> list[ScoredTokens]:
        return self._scorer.token_logprobs(self._sequences(chains), self._starts(chains), k, at_ids)

    def _sequences(self, chains: Chains) -> list[Ids]:
        """Return prompt, response and one more token: what a server says of a position, it says of the token there."""
        check_room(self._scorer, self._prompt, chains.sequences, [1] * len(chains.sequences))
        return [np.concatenate([self._prompt, ids, self._prompt[-1:]]) for ids in chains.sequences]

    def _starts(self, chains: Chains) -> list[int]:
        return [len(self._prompt) + int(depths[0]) for depths in chains.depths]

    def _check_all(self, top: Likeliest, asked: Sequence[Ids], important: float) -> None:
        """Refuse a node at which a token that the server did not name could be important."""
        rest = 1 - np.exp(top.logp).sum(axis=1)
        last = np.where(top.ids == UNUSED_ID, 0.0, top.logp).min(axis=1, initial=0.0)
        unsure = ~((rest <= important) | (last <= math.log(important)))  # what is not said, NaN, is not sure
        if unsure.any():
            row = int(np.argmax(unsure))
            count, needed = int((top.ids[row] != UNUSED_ID).sum()), math.ceil(1 / important)
            msg = (
                f"{self._scorer.name!r} names {count} tokens after {_spelled(asked[row])} and leaves {rest[row]:.3g} of"
                f" the probability: there may be others above important={important}. Start its server so that it gives"
                f" {needed} of a position (vLLM: --max-logprobs {needed}), or raise `important`"
            )
            raise InvalidInputError(msg)


def _within(chains: Chains) -> list[NDArray[np.int64]]:
    """Return, by sequence, the rows of its prefixes in an answer that begins at the first of them."""
    return [depths - depths[0] for depths in chains.depths]


def _spelled(ids: Ids) -> str:
    return f"a prefix of {len(ids)} tokens ({ids.tolist()[-5:]} at its end)" if len(ids) else "the prompt"
