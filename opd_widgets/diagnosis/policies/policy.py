"""The policy that a diagnosis is about: what it would say next, and what it goes on to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from opd_widgets.diagnosis.policies.prefixes import Prefix
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.protocol import Generation

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        self, prefixes: Sequence[Prefix], *, seeds: Sequence[int], max_new_tokens: int | Sequence[int]
    ) -> list[Generation]:
        """Return one continuation of every prefix, drawn at temperature 1 from the whole distribution.

        Args:
            prefixes: response ids so far; repeat one for more continuations of it. One that has ended already has
                nothing to go on to.
            seeds: one for each prefix, whole numbers from 0 on. A continuation depends on its own seed, prefix and
                `max_new_tokens`, not on what else is drawn in the call.
            max_new_tokens: most tokens of a continuation: for all prefixes, or one number for each; 0 draws none.

        Returns:
            In order; `logprobs` of each is float32 [R], the policy's own of every sampled token, nats, or None where
            the engine gives none.

        """

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a response, without the token that ended it: what a verifier reads."""


@runtime_checkable
class ReadsInBlocks(Protocol):
    """A policy that reads many nodes at once and gives their rows a few at a time."""

    def rows(self, prefixes: Sequence[Prefix], at_a_time: int) -> Iterator[NDArray[np.float64]]:
        """Yield what `next_logprobs` returns, in order, at most `at_a_time` rows together."""


def rows_of(policy: Policy, prefixes: Sequence[Prefix], at_a_time: int) -> Iterator[NDArray[np.float64]]:
    """Yield the next-token log-probabilities after each prefix, in order: float64 [<= at_a_time, V], nats.

    Raises:
        InvalidInputError: a policy of the caller's own gives no log-probabilities.

    """
    if isinstance(policy, ReadsInBlocks):
        yield from policy.rows(prefixes, at_a_time)
        return
    for start in range(0, len(prefixes), at_a_time):
        some = prefixes[start : start + at_a_time]
        yield checked_logprobs(policy.next_logprobs(some), (len(some), policy.vocab_size))


def checked_logprobs(said: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return log-probabilities in float64, with the last rounding of their sum taken out.

    Raises:
        InvalidInputError: another shape, or rows that do not sum to one.

    """
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
