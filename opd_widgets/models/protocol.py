"""What scoring asks of a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from opd_widgets.data.message import Message
    from opd_widgets.data.piece import Piece
    from opd_widgets.data.track import Provenance

Ids = NDArray[np.int32]
# Answers a scorer has given, as arrays by name, under a key for each request.
Kept = MutableMapping[str, Mapping[str, NDArray[Any]]]
Padding = Literal["right", "left"]


@dataclass(frozen=True, eq=False)
class Generation:
    """One sampled continuation.

    Args:
        ids: int32 [R], the end token included where it was sampled.
        stopped: whether it ended by itself; False where the length limit cut it.
        logprobs: float32 [R], the model's log-probability of each of these tokens at temperature 1, nats; None where
            it was not asked for or is not known.

    """

    ids: Ids
    stopped: bool
    logprobs: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. The defaults draw from the model's own distribution: that is what on-policy means."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back, and a conversation to a prompt."""

    @property
    def size(self) -> int:
        """Number of real token ids: one more than the largest."""

    @property
    def template(self) -> str | None:
        """Source of its chat template; None where it brings none."""

    @property
    def has_template(self) -> bool:
        """Whether it brings a chat template."""

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a response."""

    @property
    def end_id(self) -> int | None:
        """The one of them that closes a text of its own; None where it has none."""

    @property
    def begin_id(self) -> int | None:
        """Id of its beginning-of-text token; None where it has none."""

    @property
    def pad_id(self) -> int | None:
        """Id of its padding token; None where it has none."""

    def encode(self, text: str) -> Ids:
        """Return the ids of a text as it stands: no special token is added."""

    def encode_prompt(self, text: str) -> Ids:
        """Return the ids of a plain prompt, with the beginning-of-text token the tokenizer puts there."""

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of ids, special tokens included."""

    def piece(self, token: int) -> Piece:
        """Return what one id stands for."""

    def render(self, messages: Sequence[Message], options: Mapping[str, Any]) -> str:
        """Return the prompt that asks for the next assistant turn."""

    def vocabulary(self) -> Mapping[str, int]:
        """Return all token strings with their ids."""


@runtime_checkable
class LanguageModel(Protocol):
    """What is known of any causal language model, here or behind a server."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""

    @property
    def vocab_size(self) -> int:
        """Rows of its head: every id it can give a probability, padding rows without a token among them."""

    @property
    def limit(self) -> int | None:
        """Longest prompt and response together, in tokens; None where unknown."""

    @property
    def provenance(self) -> Provenance:
        """Engine, dtype, temperature and mode of its log-probabilities."""


class Generator(LanguageModel, Protocol):
    """A model that rollouts can be drawn from."""

    def generate(
        self,
        prompts: Sequence[Ids],
        *,
        n: int = 1,
        max_new_tokens: int,
        seed: int,
        sampling: Sampling | None = None,
    ) -> list[list[Generation]]:
        """Return n continuations of every prompt, drawn with exactly these settings."""

    def continuations(
        self, prompts: Sequence[Ids], *, seeds: Sequence[int], max_new_tokens: Sequence[int]
    ) -> list[Generation]:
        """Return one continuation of each prompt, at temperature 1 from the whole distribution.

        Row i depends on its prompt, its seed and its `max_new_tokens`, and on nothing else in the call. A prompt that
        comes several times, each time with another seed, gets several independent continuations.

        Args:
            prompts: int [P] each, none empty.
            seeds: a whole number from 0 to 2**63 - 1 for each prompt.
            max_new_tokens: most tokens of each continuation, at least 1.

        """


@runtime_checkable
class Model(Generator, Protocol):
    """A causal language model that can be scored chunk by chunk.

    `hidden` and `head` are apart so that a vocabulary row exists only for the tokens being looked at, and only for the
    length of a chunk.
    """

    def hidden(
        self,
        sequences: Sequence[Ids],
        positions: Sequence[NDArray[np.integer]],
        *,
        padding: Padding = "right",
        extend: bool = False,
    ) -> Any:
        """Return the last hidden states at the asked positions: [sum of positions, width], sequence by sequence.

        Args:
            sequences: int [L] each.
            positions: rising places in each sequence.
            padding: the side on which shorter sequences are filled up; right, where it may share a prefix.
            extend: the same prompts come again, a little changed: a model may go on from what it has read before.

        """

    def head(self, rows: Any) -> Any:
        """Return the logits of hidden states: [n, width] -> float32 [n, V]."""

    @property
    def version(self) -> Hashable:
        """What changes when the weights do: a model may be trained between two uses."""

    def release(self) -> None:
        """Give up what is kept of earlier reading: a scoring has ended."""


@dataclass(frozen=True, eq=False)
class ScoredTokens:
    """What a model that gives no full distribution says of n tokens.

    Args:
        logprob: float32 [n], nats. NaN is missing; -inf is a value.
        censored: bool [n], True where the server said only "less likely than I report"; the value is -inf.
        rank: int32 [n], 1 = likeliest, 0 = not known.
        top_ids: int32 [n, k], likeliest first; -1 fills unused columns.
        top_logprobs: float32 [n, k], NaN where unused.
        at: float32 [n, m], the log-probability of the ids asked for; NaN where the server did not say.

    """

    logprob: NDArray[np.float32]
    censored: NDArray[np.bool_]
    rank: Ids
    top_ids: Ids
    top_logprobs: NDArray[np.float32]
    at: NDArray[np.float32]


class TokenScorer(Generator, Protocol):
    """A causal language model that scores tokens one by one: one behind a server, whose hidden states stay there."""

    @property
    def scores_any_id(self) -> bool:
        """Whether `at_ids` are all scored; otherwise only those among the likeliest k, or sampled."""

    @property
    def full_vocabulary(self) -> bool:
        """Whether `distributions` may be asked for."""

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
        """Return what the model says of every token from `starts` on.

        Args:
            sequences: prompt and response together.
            starts: by sequence, the first token to score, at least 1.
            k: how many of the likeliest tokens.
            at_ids: by sequence, int [n, m], further tokens to score at each position; -1 is none.
            checkpoint: called while answers are waited for; raises to take the requests back.
            kept: answers already given, which are not asked for again. Each new one is put there as it comes, so that
                an error or a stop loses none.

        """

    def distributions(
        self,
        sequences: Sequence[Ids],
        starts: Sequence[int],
        *,
        checkpoint: Callable[[], None] = lambda: None,
        kept: Kept | None = None,
    ) -> list[NDArray[np.float32]]:
        """Return the log-probability of every id at every token from `starts` on: by sequence, float32 [n, V]."""


def is_scorer(model: object) -> TypeGuard[TokenScorer]:
    """Return whether a model is a `TokenScorer`.

    Looks at its class: `isinstance` would ask every property of the object, and a served model's open a connection.
    """
    return not hasattr(type(model), "hidden") and callable(getattr(type(model), "token_logprobs", None))
