"""The policy of a local model on one prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from array_api_compat import array_namespace, device, to_device

from opd_widgets.diagnosis.policies.prefixes import (
    Chains,
    Prefix,
    chained,
    checked_prefixes,
    checked_prompt,
    draws,
    is_ended,
    without_end,
)
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.measures.distribution import log_softmax
from opd_widgets.models.protocol import Generation, Generator, Ids, LanguageModel, Model, is_scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_BYTES = 2**26  # of the float64 rows that one head gives at a time


class ModelPolicy:
    """A model's policy on one prompt.

    Log-probabilities are taken with the head in float32 and the softmax in float64. A prefix that begins another one
    of the same call is read within it: a causal model's state at a position does not depend on what follows.

    Limits: models that give their logits, such as `opd.HFModel`; for one behind a server see `ServedPolicy`.

    Args:
        model: the student or a teacher.
        prompt_ids: int [P], at least one.
        batch_tokens: of the sequences read together, filled up to the longest.
        batch_rows: sequences read together, at most.

    Raises:
        InvalidInputError: another kind of model, or an empty prompt.
        LengthLimitError: on use, where prompt, prefix and `max_new_tokens` are more than the model takes.

    """

    def __init__(
        self, model: Generator, prompt_ids: Prefix, *, batch_tokens: int = 8192, batch_rows: int = 256
    ) -> None:
        if not _gives_logits(model):
            kind = type(model).__name__
            msg = f"found {kind}, expected a model that gives logits, such as opd.HFModel(path)"
            if is_scorer(model):
                msg = f"found {kind}, whose logits are behind a server, expected a local model; take a ServedPolicy"
            raise InvalidInputError(msg)
        self._model: Model = model
        self._prompt = checked_prompt(prompt_ids, model.vocab_size)
        self._tokens, self._rows = max(1, int(batch_tokens)), max(1, int(batch_rows))

    def __repr__(self) -> str:
        """Name the model and the length of the prompt."""
        return f"ModelPolicy({self._model.name!r} after {len(self._prompt)} tokens)"

    @property
    def model(self) -> Model:
        """Whose policy it is."""
        return self._model

    @property
    def prompt(self) -> Ids:
        """What the model is given before a response, int32 [P]."""
        return self._prompt

    @property
    def vocab_size(self) -> int:
        """Rows of the model's head."""
        return self._model.vocab_size

    @property
    def token_count(self) -> int:
        """Ids that stand for a token: a head's further rows are padding."""
        return min(self._model.tokenizer.size, self.vocab_size)

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a response."""
        return self._model.tokenizer.end_ids

    def next_logprobs(self, prefixes: Sequence[Prefix]) -> NDArray[np.float64]:
        """Return the next-token log-probabilities after each of n prefixes: float64 [n, V], nats."""
        logp, done = np.empty((len(prefixes), self.vocab_size)), 0
        for some in self.rows(prefixes, max(1, BLOCK_BYTES // (8 * self.vocab_size))):
            logp[done : done + len(some)] = some
            done += len(some)
        return logp

    def rows(self, prefixes: Sequence[Prefix], at_a_time: int) -> Iterator[NDArray[np.float64]]:
        """Yield what `next_logprobs` returns, in order, at most `at_a_time` rows together.

        All prefixes are read first, and their hidden states [n, width] kept until the last row is given.
        """
        for logp in self._read(prefixes, at_a_time):
            yield np.asarray(to_device(logp, "cpu"))

    def logprobs_of(self, prefixes: Sequence[Prefix], tokens: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the log-probability of one token after each of n prefixes: float64 [n], nats.

        The rows of the whole vocabulary stay where the model is.
        """
        found, done = np.empty(len(prefixes)), 0
        for logp in self._read(prefixes, max(1, BLOCK_BYTES // (8 * self.vocab_size))):
            xp, count = array_namespace(logp), logp.shape[0]
            places = np.arange(count) * self.vocab_size + np.asarray(tokens[done : done + count], np.int64)
            here = xp.take(xp.reshape(logp, (-1,)), xp.asarray(places, device=device(logp)), axis=0)
            found[done : done + count] = np.asarray(to_device(here, "cpu"))
            done += count
        return found

    def _read(self, prefixes: Sequence[Prefix], at_a_time: int) -> Iterator[Any]:
        """Yield the rows as arrays of the model's own, float64."""
        if not len(prefixes):
            return
        states, places = self._read_all(prefixes)
        xp = array_namespace(states)
        for start in range(0, len(places), at_a_time):
            index = xp.asarray(places[start : start + at_a_time], device=device(states))
            logits = self._model.head(xp.take(states, index, axis=0))
            if str(device(logits)).startswith("mps"):  # it has no float64
                logits = to_device(logits, "cpu")
            yield log_softmax(xp.astype(logits, xp.float64))

    def sample(
        self, prefixes: Sequence[Prefix], *, seeds: Sequence[int], max_new_tokens: int | Sequence[int]
    ) -> list[Generation]:
        """Return one continuation of every prefix, drawn at temperature 1 from the whole distribution."""
        asked = checked_prefixes(prefixes, self.vocab_size)
        return continuations(self._model, [self._prompt] * len(asked), asked, seeds, max_new_tokens)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a response, without the token that ended it."""
        return self._model.tokenizer.decode(without_end(ids, self.end_ids))

    def _read_all(self, prefixes: Sequence[Prefix]) -> tuple[Any, NDArray[np.int64]]:
        """Return hidden states [m, width], and the row of each prefix there; of the prefixes nothing is held."""
        asked = checked_prefixes(prefixes, self.vocab_size)
        check_room(self._model, self._prompt, asked, [0] * len(asked))
        chains = chained(asked)
        states, where = self._states(chains)
        return states, where[chains.places]

    def _states(self, chains: Chains) -> tuple[Any, NDArray[np.int64]]:
        """Return the hidden states [m, width] at all depths of all chains, and the row of each of them there."""
        lengths = np.array([len(ids) for ids in chains.sequences]) + len(self._prompt)
        counts = np.array([len(depths) for depths in chains.depths])
        order = np.argsort(-lengths, kind="stable")  # long ones together: little is filled up
        parts = []
        for some in self._batches(order, lengths):
            sequences = [np.concatenate([self._prompt, chains.sequences[row]]) for row in some]
            positions = [len(self._prompt) - 1 + chains.depths[row] for row in some]
            parts.append(self._model.hidden(sequences, positions))
        begins = np.empty(len(order), np.int64)
        begins[order] = np.cumsum(counts[order]) - counts[order]
        where = np.concatenate([begin + np.arange(count) for begin, count in zip(begins, counts, strict=True)])
        return array_namespace(*parts).concat(parts, axis=0), where

    def _batches(self, order: NDArray[np.integer], lengths: NDArray[np.integer]) -> Iterator[list[int]]:
        """Yield sequences, longest first, as many together as fit."""
        start = 0
        while start < len(order):
            fit = max(1, min(self._rows, self._tokens // int(lengths[order[start]])))
            yield order[start : start + fit].tolist()
            start += fit


def continuations(
    model: Generator,
    prompts: Sequence[Ids],
    asked: Sequence[Ids],
    seeds: Sequence[int],
    max_new_tokens: int | Sequence[int],
) -> list[Generation]:
    """Return one continuation of each prefix after its prompt; none where it has ended or may get no token.

    Raises:
        InvalidInputError: not a seed for each prefix, or sizes that are no whole numbers.
        LengthLimitError: prompt, prefix and new tokens are more than the model takes.

    """
    ends = model.tokenizer.end_ids
    own, room = draws(asked, seeds, max_new_tokens, ends)
    for prompt, ids, most in zip(prompts, asked, room, strict=True):
        check_room(model, prompt, [ids], [most])
    drawn = [
        Generation(np.zeros(0, np.int32), stopped=is_ended(ids, ends), logprobs=np.zeros(0, np.float32))
        for ids in asked
    ]
    live = [row for row, most in enumerate(room) if most]
    if live:
        said = model.continuations(
            [np.concatenate([prompts[row], asked[row]]) for row in live],
            seeds=[own[row] for row in live],
            max_new_tokens=[room[row] for row in live],
        )
        for row, one in zip(live, said, strict=True):
            drawn[row] = one
    return drawn


def check_room(model: LanguageModel, prompt: Ids, asked: Sequence[Ids], room: Sequence[int]) -> None:
    """Refuse what is longer than the model takes.

    Args:
        model: who is asked.
        prompt: int32 [P].
        asked: response prefixes.
        room: how many tokens each of them may still get.

    Raises:
        LengthLimitError: the longest is.

    """
    limit = model.limit
    needed = max((len(prompt) + len(ids) + most for ids, most in zip(asked, room, strict=True)), default=0)
    if limit is not None and needed > limit:
        msg = (
            f"{model.name!r} takes {limit} tokens, and prompt, prefix and new tokens are {needed}. Nothing is"
            " cut. Ask for fewer new tokens, or about shorter prefixes"
        )
        raise LengthLimitError(msg)


def _gives_logits(model: object) -> TypeGuard[Model]:
    return not is_scorer(model) and isinstance(model, Model)
