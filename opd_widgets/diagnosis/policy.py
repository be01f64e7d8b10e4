"""The policy that a diagnosis is about: what it would say next, and what it goes on to say."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.measures.distribution import log_softmax
from opd_widgets.models.protocol import Generation, Generator, Ids, Model, is_scorer
from opd_widgets.scoring.sample import batch_seed

Prefix = Sequence[int] | NDArray[np.integer]
NextLogprobs = Callable[[Sequence[Ids]], Any]
Sample = Callable[..., Any]
SUMS_TO_ONE = 1e-3  # how far from 1 a row of probabilities may sum: a float32 log-softmax is well inside


@runtime_checkable
class Policy(Protocol):
    """A policy over token ids, for one question. Prefixes are response ids: the prompt is part of the policy."""

    @property
    def vocab_size(self) -> int:
        """Number of ids it gives a probability."""

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a response."""

    def next_logprobs(self, prefixes: Sequence[Prefix]) -> NDArray[np.float64]:
        """Return the next-token log-probabilities after each of n prefixes: float64 [n, V], nats, temperature 1.

        Every row is held for the whole vocabulary: ask about few nodes at a time.
        """

    def sample(
        self, prefixes: Sequence[Prefix], n: int, *, max_new_tokens: int | Sequence[int], seed: int
    ) -> list[list[Generation]]:
        """Return n continuations of every prefix, drawn at temperature 1 from the whole distribution.

        Args:
            prefixes: response ids so far. One that has ended already has nothing to go on to.
            n: continuations of each.
            max_new_tokens: most tokens of a continuation: for all prefixes, or one number for each; 0 draws none.
            seed: any whole number; the same arguments draw the same.

        """


class FunctionPolicy:
    """A policy given as plain functions: a toy with known answers, or an engine of your own.

    Example:
        >>> import numpy as np
        >>> coin = FunctionPolicy(lambda prefixes: np.log(np.full((len(prefixes), 2), 0.5)), end_ids=[1], vocab_size=2)
        >>> [len(drawn) for drawn in coin.sample([[], [0]], 3, max_new_tokens=4, seed=0)]
        [3, 3]

    Args:
        next_logprobs: int32 id sequences -> log-probabilities of the next id, [n, V], nats; each row sums to one.
        sample: (prefixes, n, max_new_tokens=[one for each prefix], seed=...) -> by prefix, n id sequences or
            `Generation`s. By default, drawn token by token from `next_logprobs`; then each continuation depends on
            seed, prefix and its index alone, not on what else is drawn with it.
        end_ids: ids that end a response; may be empty.
        vocab_size: V.

    Raises:
        InvalidInputError: at once for arguments of the wrong kind, and on use for answers that are no
            log-probabilities, of another shape, or continuations that go on after an end or are too long.

    """

    def __init__(
        self, next_logprobs: NextLogprobs, sample: Sample | None = None, *, end_ids: Iterable[int], vocab_size: int
    ) -> None:
        _check_function(next_logprobs, "next_logprobs")
        if sample is not None:
            _check_function(sample, "sample")
        if not _is_count(vocab_size, 1):
            msg = f"found vocab_size={vocab_size!r}, expected a whole number of at least 1"
            raise InvalidInputError(msg)
        self._next, self._sample = next_logprobs, sample
        self._vocab_size = int(vocab_size)
        self._end_ids = frozenset(int(one) for one in end_ids)
        _check_ids(sorted(self._end_ids), self._vocab_size, "end_ids")

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
        asked = _prefixes(prefixes, self._vocab_size)
        if not asked:
            return np.zeros((0, self._vocab_size))
        return _checked(self._next(asked), (len(asked), self._vocab_size))

    def sample(
        self, prefixes: Sequence[Prefix], n: int, *, max_new_tokens: int | Sequence[int], seed: int
    ) -> list[list[Generation]]:
        """Return n continuations of every prefix, drawn at temperature 1 from the whole distribution."""
        asked = _prefixes(prefixes, self._vocab_size)
        room = _room(max_new_tokens, asked, n, self._end_ids)
        if self._sample is None:
            return self._draw(asked, n, room, seed)
        live = [index for index, most in enumerate(room) if most]
        drawn = [[_nothing(ids, self._end_ids) for _ in range(n)] for ids in asked]
        if live:
            said = list(self._sample([asked[i] for i in live], n, max_new_tokens=[room[i] for i in live], seed=seed))
            if [len(some) for some in said] != [n] * len(live):
                msg = f"sample gave {[len(some) for some in said][:8]} continuations, expected {n} for each prefix"
                raise InvalidInputError(msg)
            for index, some in zip(live, said, strict=True):
                drawn[index] = [self._continuation(one, room[index]) for one in some]
        return drawn

    def _continuation(self, said: Any, most: int) -> Generation:
        ids = np.asarray(said.ids if isinstance(said, Generation) else said)
        ids = _prefixes([ids], self._vocab_size)[0]
        ends = np.flatnonzero(np.isin(ids, list(self._end_ids)))
        stopped = said.stopped if isinstance(said, Generation) else bool(ends.size)
        if len(ids) > most or (ends.size and ends[0] + 1 < len(ids)) or (not stopped and len(ids) < most):
            msg = (
                f"sample gave {len(ids)} tokens, {'an end at ' + str(ends[0]) if ends.size else 'no end'}; expected at"
                f" most max_new_tokens={most}, nothing after an end id, and fewer only where it ended"
            )
            raise InvalidInputError(msg)
        return Generation(ids, stopped=stopped)

    def _draw(self, asked: Sequence[Ids], n: int, room: Sequence[int], seed: int) -> list[list[Generation]]:
        """Draw all continuations side by side, asking about each distinct sequence once a step."""
        chance = _uniforms(asked, n, room, seed)
        so_far = [tuple(ids.tolist()) for ids in asked for _ in range(n)]
        begun = [len(ids) for ids in so_far]
        live = [row for row in range(len(so_far)) if room[row // n]]
        while live:
            distinct = {ids: place for place, ids in enumerate(dict.fromkeys(so_far[row] for row in live))}
            above = np.cumsum(np.exp(self.next_logprobs(list(distinct))), axis=-1)
            going = []
            for row in live:
                cdf = above[distinct[so_far[row]]]
                token = _token(cdf, chance[row][len(so_far[row]) - begun[row]])
                so_far[row] += (token,)
                if token not in self._end_ids and len(so_far[row]) - begun[row] < room[row // n]:
                    going.append(row)
            live = going
        made = [
            Generation(np.array(ids[start:], np.int32), stopped=bool(ids) and ids[-1] in self._end_ids)
            for ids, start in zip(so_far, begun, strict=True)
        ]
        return [made[index * n : (index + 1) * n] for index in range(len(asked))]


class ModelPolicy:
    """A model's policy on one prompt.

    Log-probabilities are taken from the hidden state of the last position, the head in float32 and the softmax in
    float64; what the sequences share is read once where the model can.

    Limits: models that give their logits, such as `opd.HFModel`. A served model is refused.

    Args:
        model: the student or a teacher.
        prompt_ids: int [P], at least one.
        batch_rows: sequences read, or continuations drawn, together. Continuations depend on it, as on the model's
            machine, since a batch has one generator.

    Raises:
        InvalidInputError: another kind of model, or an empty prompt.
        LengthLimitError: on use, where prompt, prefix and `max_new_tokens` are more than the model takes.

    """

    def __init__(self, model: Generator, prompt_ids: Prefix, *, batch_rows: int = 256) -> None:
        if not _gives_logits(model):
            served = " (a served model: its nodes are not supported yet)" if is_scorer(model) else ""
            msg = f"found {type(model).__name__}{served}, expected a model that gives logits, such as opd.HFModel(path)"
            raise InvalidInputError(msg)
        self._model: Model = model
        self._prompt = _prefixes([prompt_ids], model.vocab_size)[0]
        if not len(self._prompt):
            msg = "found an empty prompt, expected at least one token to go on from"
            raise InvalidInputError(msg)
        self._rows = max(1, int(batch_rows))

    @property
    def vocab_size(self) -> int:
        """Rows of the model's head."""
        return self._model.vocab_size

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a response."""
        return self._model.tokenizer.end_ids

    def next_logprobs(self, prefixes: Sequence[Prefix]) -> NDArray[np.float64]:
        """Return the next-token log-probabilities after each of n prefixes: float64 [n, V], nats."""
        asked = _prefixes(prefixes, self.vocab_size)
        logp = np.empty((len(asked), self.vocab_size))
        self._check_room(asked, [0] * len(asked))
        for start in range(0, len(asked), self._rows):
            whole = [np.concatenate([self._prompt, ids]) for ids in asked[start : start + self._rows]]
            states = self._model.hidden(whole, [np.array([len(ids) - 1]) for ids in whole])
            logits = self._model.head(states)
            on_host = logits.cpu() if hasattr(logits, "cpu") else logits
            logp[start : start + self._rows] = log_softmax(np.asarray(on_host, dtype=np.float64))
        return logp

    def sample(
        self, prefixes: Sequence[Prefix], n: int, *, max_new_tokens: int | Sequence[int], seed: int
    ) -> list[list[Generation]]:
        """Return n continuations of every prefix, drawn at temperature 1 from the whole distribution."""
        asked = _prefixes(prefixes, self.vocab_size)
        room = _room(max_new_tokens, asked, n, self.end_ids)
        self._check_room(asked, room)
        drawn: list[list[Generation]] = [[_nothing(ids, self.end_ids) for _ in range(n)] for ids in asked]
        per_batch = max(1, self._rows // n)
        for most in sorted(set(room) - {0}):
            live = [index for index, its in enumerate(room) if its == most]
            for start in range(0, len(live), per_batch):
                some = live[start : start + per_batch]
                # a seed of its own for each batch: one for all would draw like tokens in like places
                key = f"{most}/{start}/{asked[some[0]].tolist()}"
                prompts = [np.concatenate([self._prompt, asked[index]]) for index in some]
                said = self._model.generate(prompts, n=n, max_new_tokens=most, seed=batch_seed(seed, key))
                for index, generations in zip(some, said, strict=True):
                    drawn[index] = generations
        return drawn

    def _check_room(self, asked: Sequence[Ids], room: Sequence[int]) -> None:
        limit = self._model.limit
        needed = max((len(self._prompt) + len(ids) + most for ids, most in zip(asked, room, strict=True)), default=0)
        if limit is not None and needed > limit:
            msg = (
                f"{self._model.name!r} takes {limit} tokens, and prompt, prefix and new tokens are {needed}. Nothing is"
                " cut. Ask for fewer new tokens"
            )
            raise LengthLimitError(msg)


def _gives_logits(model: object) -> TypeGuard[Model]:
    return not is_scorer(model) and isinstance(model, Model)


def _prefixes(given: Sequence[Prefix], vocab: int) -> list[Ids]:
    found = []
    for one in given:
        ids = np.asarray(one)
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            msg = (
                f"found ids of shape {ids.shape} and type {ids.dtype}, expected a row of whole numbers for each prefix"
            )
            raise InvalidInputError(msg)
        _check_ids(ids.tolist(), vocab, "a prefix")
        found.append(ids.astype(np.int32))
    return found


def _check_function(given: object, name: str) -> None:
    if not callable(given):
        msg = f"found {name} of type {type(given).__name__}, expected a function of id sequences"
        raise InvalidInputError(msg)


def _is_count(given: object, least: int) -> bool:
    return isinstance(given, int | np.integer) and int(given) >= least


def _check_ids(ids: Sequence[int], vocab: int, where: str) -> None:
    if ids and (min(ids) < 0 or max(ids) >= vocab):
        bad = min(ids) if min(ids) < 0 else max(ids)
        msg = f"found id {bad} in {where}, expected 0 to {vocab - 1}"
        raise InvalidInputError(msg)


def _room(most: int | Sequence[int], asked: Sequence[Ids], n: int, ends: frozenset[int]) -> list[int]:
    """Return how many tokens each prefix may still get: none where it has ended."""
    each = [most] * len(asked) if isinstance(most, int | np.integer) else list(most)
    if not _is_count(n, 1) or len(each) != len(asked) or not all(_is_count(one, 0) for one in each):
        msg = (
            f"found n={n!r} and max_new_tokens={most!r} for {len(asked)} prefixes, expected n of at least 1 and a whole"
            " number of at least 0, or one for each prefix"
        )
        raise InvalidInputError(msg)
    return [0 if len(ids) and int(ids[-1]) in ends else int(one) for ids, one in zip(asked, each, strict=True)]


def _nothing(ids: Ids, ends: frozenset[int]) -> Generation:
    return Generation(np.zeros(0, np.int32), stopped=bool(len(ids)) and int(ids[-1]) in ends)


def _checked(said: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return log-probabilities in float64, with the last rounding of their sum taken out."""
    logp = np.asarray(said, dtype=np.float64)
    if logp.shape != shape:
        msg = f"next_logprobs gave shape {logp.shape}, expected {shape}: a row for each sequence, a column for each id"
        raise InvalidInputError(msg)
    total = np.exp(logp).sum(axis=-1, keepdims=True)
    off = np.abs(total - 1)
    if not (off <= SUMS_TO_ONE).all():
        row = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
        msg = (
            f"next_logprobs gave a row {row} whose probabilities sum to {float(total[row, 0]):.6g}, expected 1 within"
            f" {SUMS_TO_ONE}. Give natural logarithms of probabilities, after a log-softmax"
        )
        raise InvalidInputError(msg)
    normalised: NDArray[np.float64] = logp - np.log(total)
    return normalised


def _uniforms(asked: Sequence[Ids], n: int, room: Sequence[int], seed: int) -> list[NDArray[np.float64]]:
    """Return random numbers for each continuation, keyed by seed, prefix and index; equal prefixes count on."""
    before: Counter[bytes] = Counter()
    chance = []
    for ids, most in zip(asked, room, strict=True):
        name = hashlib.blake2b(ids.tobytes(), digest_size=16).digest()
        key = batch_seed(seed, name.hex())
        chance += [np.random.default_rng([key, before[name] + index]).random(most) for index in range(n)]
        before[name] += n
    return chance


def _token(cdf: NDArray[np.float64], chance: float) -> int:
    """Return the token at a place of the cumulative probabilities; never one of probability 0."""
    found = int(np.searchsorted(cdf, chance * cdf[-1], side="right"))
    return found if found < len(cdf) else int(np.searchsorted(cdf, cdf[-1], side="left"))
