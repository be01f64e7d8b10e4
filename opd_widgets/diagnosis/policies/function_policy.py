"""A policy given as plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.policies.policy import checked_logprobs
from opd_widgets.diagnosis.policies.prefixes import Prefix, check_ids, checked_prefixes, draws, is_ended, without_end
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.protocol import Generation, Ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

NextLogprobs = Callable[[Sequence[Ids]], Any]
Sample = Callable[..., Any]
Decode = Callable[[Sequence[int]], str]


class FunctionPolicy:
    """A policy given as plain functions: a toy with known answers, or an engine of your own.

    Example:
        >>> import numpy as np
        >>> coin = FunctionPolicy(lambda prefixes: np.log(np.full((len(prefixes), 2), 0.5)), end_ids=[1], vocab_size=2)
        >>> len(coin.sample([[], [0], [0]], seeds=[0, 1, 2], max_new_tokens=4))
        3

    Args:
        next_logprobs: int32 id sequences -> log-probabilities of the next id, [n, V], nats; each row sums to one.
        sample: (prefixes, seeds=[one for each prefix], max_new_tokens=[one for each prefix]) -> for each prefix an id
            sequence, or a `Generation`. By default, drawn token by token from `next_logprobs`: the token at the place
            of a uniform number among the cumulative probabilities, the numbers of row i being
            `np.random.default_rng(seeds[i])`'s.
        end_ids: ids that end a response; may be empty.
        vocab_size: V.
        decode: ids of a response, without the end, -> its text; by default the ids with spaces between.

    Raises:
        InvalidInputError: at once for arguments of the wrong kind, and on use for answers that are no
            log-probabilities, of another shape, or continuations that go on after an end or are too long.

    """

    def __init__(
        self,
        next_logprobs: NextLogprobs,
        sample: Sample | None = None,
        *,
        end_ids: Iterable[int],
        vocab_size: int,
        decode: Decode | None = None,
    ) -> None:
        _check_function("next_logprobs", next_logprobs)
        for name, given in (("sample", sample), ("decode", decode)):
            if given is not None:
                _check_function(name, given)
        ends = _checked_ends(end_ids)
        _check_size(vocab_size)
        self._next, self._sample, self._decode = next_logprobs, sample, decode or _spaced
        self._vocab_size = int(vocab_size)
        check_ids(sorted(ends), self._vocab_size, "end_ids")
        self._end_ids = ends

    @property
    def vocab_size(self) -> int:
        """Number of ids it gives a probability."""
        return self._vocab_size

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a response."""
        return self._end_ids

    def next_logprobs(self, prefixes: Sequence[Prefix]) -> NDArray[np.float64]:
        """Return the next-token log-probabilities after each of n prefixes: float64 [n, V], nats."""
        asked = checked_prefixes(prefixes, self._vocab_size)
        if not asked:
            return np.zeros((0, self._vocab_size))
        return checked_logprobs(self._next(asked), (len(asked), self._vocab_size))

    def sample(
        self, prefixes: Sequence[Prefix], *, seeds: Sequence[int], max_new_tokens: int | Sequence[int]
    ) -> list[Generation]:
        """Return one continuation of every prefix, each from its own seed."""
        asked = checked_prefixes(prefixes, self._vocab_size)
        own, room = draws(asked, seeds, max_new_tokens, self._end_ids)
        if self._sample is None:
            return self._draw(asked, own, room)
        drawn = [Generation(np.zeros(0, np.int32), stopped=is_ended(ids, self._end_ids)) for ids in asked]
        live = [row for row, most in enumerate(room) if most]
        if live:
            which = {"seeds": [own[row] for row in live], "max_new_tokens": [room[row] for row in live]}
            answer = self._sample([asked[row] for row in live], **which)
            said = list(answer) if isinstance(answer, Iterable) else []
            if len(said) != len(live):
                kind = f"{len(said)} continuations" if isinstance(answer, Iterable) else type(answer).__name__
                msg = f"sample gave {kind} for {len(live)} prefixes, expected one continuation for each"
                raise InvalidInputError(msg)
            for row, one in zip(live, said, strict=True):
                drawn[row] = self._continuation(one, room[row])
        return drawn

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a response, without the token that ended it."""
        return self._decode(without_end(ids, self._end_ids))

    def _continuation(self, said: Any, most: int) -> Generation:
        """Return what the caller's own sampler gave, checked."""
        ids = checked_prefixes([said.ids if isinstance(said, Generation) else said], self._vocab_size)[0]
        ends = np.flatnonzero(np.isin(ids, list(self._end_ids)))
        stopped = said.stopped if isinstance(said, Generation) else bool(ends.size)
        if len(ids) > most or (ends.size and ends[0] + 1 < len(ids)) or (not stopped and len(ids) < most):
            msg = (
                f"sample gave {len(ids)} tokens, {'an end at ' + str(ends[0]) if ends.size else 'no end'}; expected at"
                f" most max_new_tokens={most}, nothing after an end id, and fewer only where it ended"
            )
            raise InvalidInputError(msg)
        logprobs = said.logprobs if isinstance(said, Generation) else None
        if logprobs is not None:
            logprobs = np.asarray(logprobs, np.float32)
            if logprobs.shape != ids.shape:
                msg = f"sample gave logprobs of shape {logprobs.shape} for {len(ids)} tokens, expected one for each"
                raise InvalidInputError(msg)
        return Generation(ids, stopped=stopped, logprobs=logprobs)

    def _draw(self, asked: Sequence[Ids], seeds: Sequence[int], room: Sequence[int]) -> list[Generation]:
        """Draw all continuations side by side, asking about each distinct sequence once a step."""
        chance = [np.random.default_rng(seed).random(most) for seed, most in zip(seeds, room, strict=True)]
        so_far = [tuple(ids.tolist()) for ids in asked]
        logprobs: list[list[float]] = [[] for _ in asked]
        live = [row for row, most in enumerate(room) if most]
        while live:
            distinct = {ids: place for place, ids in enumerate(dict.fromkeys(so_far[row] for row in live))}
            logp = self.next_logprobs(list(distinct))
            above = np.cumsum(np.exp(logp), axis=-1)
            going = []
            for row in live:
                place = distinct[so_far[row]]
                token = _token(above[place], chance[row][len(logprobs[row])])
                so_far[row] += (token,)
                logprobs[row].append(float(logp[place, token]))
                if token not in self._end_ids and len(logprobs[row]) < room[row]:
                    going.append(row)
            live = going
        return [
            Generation(
                np.array(ids[len(ids) - len(own) :], np.int32),
                stopped=bool(ids) and ids[-1] in self._end_ids,
                logprobs=np.array(own, np.float32),
            )
            for ids, own in zip(so_far, logprobs, strict=True)
        ]


def _check_function(name: str, given: object) -> None:
    if not callable(given):
        msg = f"found {name} of type {type(given).__name__}, expected a function of id sequences"
        raise InvalidInputError(msg)


def _checked_ends(given: Any) -> frozenset[int]:
    found = list(given) if isinstance(given, Iterable) else [given]
    wrong = [one for one in found if not isinstance(one, int | np.integer) or isinstance(one, bool)]
    if wrong or not isinstance(given, Iterable):
        msg = f"found end_ids={given!r:.80}, expected the ids that end a response, such as [2]; [] for none"
        raise InvalidInputError(msg)
    return frozenset(int(one) for one in found)


def _check_size(given: object) -> None:
    if not isinstance(given, int | np.integer) or isinstance(given, bool) or given < 1:
        msg = f"found vocab_size={given!r}, expected a whole number of at least 1"
        raise InvalidInputError(msg)


def _token(cdf: NDArray[np.float64], chance: float) -> int:
    """Return the token at a place of the cumulative probabilities; never one of probability 0."""
    found = int(np.searchsorted(cdf, chance * cdf[-1], side="right"))
    return found if found < len(cdf) else int(np.searchsorted(cdf, cdf[-1], side="left"))


def _spaced(ids: Sequence[int]) -> str:
    return " ".join(str(one) for one in ids)
