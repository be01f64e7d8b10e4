"""One student completion for a question, as a frozen record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from opd_widgets.data.message import Message, parse_messages
from opd_widgets.data.plain import array_of, number_of
from opd_widgets.data.track import LogprobTrack
from opd_widgets.errors import RolloutError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TextSource = Literal["exact_ids", "retokenised", "strings", "text"]
Status = Literal["stop", "truncated", "aborted", "unknown"]
Outcome = Literal["correct", "incorrect", "unverified", "unknown"]
_IDS = np.iinfo(np.int32)
_ALLOWED = {"outcome": get_args(Outcome), "status": get_args(Status), "text_source": get_args(TextSource)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Rollout:
    """One completion sampled from the student.

    Args:
        id: names the rollout within its run.
        prompt_ids: int32 [P], what the student saw; None where only text is known.
        response_ids: int32 [R], what it sampled; None where only text is known.
        messages: the prompt's turns, needed to render it under another template or context.
        turns: all turns with the responses among them, for a conversation read as text.
        prompt_text, response_text: the text, where the source carries it.
        tokens: the response's token strings, where ids are not known.
        token_bytes: the bytes each of them stands for, where the source says so: a character may lie in two tokens.
        response_mask: bool [R], False for tokens the student did not write (a tool's output): shown, in no aggregate.
        question: the question's id; rollouts of one question share it.
        outcome: whether a verifier accepted the final answer. "unverified": it could not say.
        reward: a number, or several by name; NaN is missing and becomes None.
        status: how the rollout ended.
        step: the training step it was sampled at.
        text_source: "exact_ids" (ids as sampled), "retokenised", "strings" (token strings only), "text".
        tracks: log-probabilities that came with the rollout, by name ("student", "teacher", ...).
        metadata: anything else worth carrying along.

    Raises:
        RolloutError: lengths that do not fit each other, negative ids, neither ids nor text, an unknown outcome, status
            or text_source, a reward or step that is no number.
        InvalidInputError: something that is no message.

    """

    id: str
    prompt_ids: NDArray[np.int32] | None = None
    response_ids: NDArray[np.int32] | None = None
    messages: tuple[Message, ...] | None = None
    turns: tuple[Message, ...] | None = None
    prompt_text: str | None = None
    response_text: str | None = None
    tokens: tuple[str, ...] | None = None
    token_bytes: tuple[bytes, ...] | None = None
    response_mask: NDArray[np.bool_] | None = None
    question: str = ""
    outcome: Outcome = "unknown"
    reward: float | Mapping[str, float | None] | None = None
    status: Status = "unknown"
    step: int | None = None
    text_source: TextSource = "exact_ids"
    tracks: Mapping[str, LogprobTrack] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Coerce arrays and numbers, and refuse contradictions."""
        self._check_kinds()
        for name in ("prompt_ids", "response_ids"):
            if getattr(self, name) is not None:
                self._set(name, _ids(name, self.id, getattr(self, name)))
        if self.response_ids is None and self.response_text is None and self.turns is None:
            msg = f"rollout {self.id!r} has neither response_ids nor response_text; expected one of them"
            raise RolloutError(msg)
        for name in ("messages", "turns"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parse_messages(getattr(self, name)))
        if self.tokens is not None:
            object.__setattr__(self, "tokens", _tokens(self.id, self.tokens))
        if self.token_bytes is not None:
            object.__setattr__(self, "token_bytes", _token_bytes(self.id, self.token_bytes))
        object.__setattr__(self, "reward", _reward(self.id, self.reward))
        object.__setattr__(self, "step", _step(self.id, self.step))
        if self.response_mask is not None:
            self._set("response_mask", _mask(self.id, self.response_mask))
        self._check_lengths()

    def _check_kinds(self) -> None:
        for name in ("id", "question", "prompt_text", "response_text"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name in {"id", "question"}):
                msg = f"rollout {self.id!r}: {name} is of type {type(value).__name__}, expected a string"
                raise RolloutError(msg)
        for name, allowed in _ALLOWED.items():
            value = getattr(self, name)
            if value not in allowed:
                msg = f"rollout {self.id!r}: found {name}={value!r}, expected one of {', '.join(map(repr, allowed))}"
                raise RolloutError(msg)
        for name in ("tracks", "metadata"):
            if not isinstance(getattr(self, name), Mapping):
                kind = type(getattr(self, name)).__name__
                msg = f"rollout {self.id!r}: {name} is of type {kind}, expected a mapping by name"
                raise RolloutError(msg)
        for name, track in self.tracks.items():
            if not isinstance(track, LogprobTrack):
                kind = type(track).__name__
                msg = f"rollout {self.id!r}: track {name!r} is of type {kind}, expected opd.LogprobTrack"
                raise RolloutError(msg)

    def _check_lengths(self) -> None:
        length = self._known_length()
        if length is None:
            return
        mask = np.ones(length, bool) if self.response_mask is None else self.response_mask
        pieces = {"response_mask": len(mask)}
        for name in ("tokens", "token_bytes"):
            if getattr(self, name) is not None:
                pieces[name] = len(getattr(self, name))
        pieces.update({f"track {name!r}": len(track) for name, track in self.tracks.items()})
        for name, found in pieces.items():
            if found != length:
                what = f"{length} response tokens and {name} has {found} values"
                msg = f"rollout {self.id!r} has {what}; expected one a token"
                raise RolloutError(msg)
        self._set("response_mask", mask)

    def _known_length(self) -> int | None:
        if self.response_ids is not None:
            return len(self.response_ids)
        return None if self.tokens is None else len(self.tokens)

    def _set(self, name: str, array: NDArray[Any]) -> None:
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def __len__(self) -> int:
        """Return the number of response tokens.

        Raises:
            RolloutError: the rollout is text only and has not been tokenised.

        """
        length = self._known_length()
        if length is None:
            msg = f"rollout {self.id!r} is text only; score it, or read it with tokenizer=, to give it tokens"
            raise RolloutError(msg)
        return length

    def __repr__(self) -> str:
        """Say what it is in one line; its text and numbers are too long for a notebook's output."""
        length = self._known_length()
        size = "text" if length is None else f"{self.prompt_len} + {length} tokens"
        return f"Rollout({self.id!r:.80}, {size}, outcome {self.outcome}, status {self.status})"

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Bool [R]: tokens that enter aggregates; all of them where there is no mask."""
        return np.ones(len(self), bool) if self.response_mask is None else self.response_mask

    @property
    def asked(self) -> str:
        """What the student was asked: the last user turn, or the prompt's text where turns are not known."""
        if self.messages is None:
            return self.prompt_text or ""
        return next((turn.content for turn in reversed(self.messages) if turn.role == "user"), "")

    @property
    def group(self) -> str:
        """What it shares with the rollouts of one question; its own id where it names no question."""
        return self.question or self.id

    @property
    def has_ids(self) -> bool:
        """Whether both prompt and response are known token by token."""
        return self.prompt_ids is not None and self.response_ids is not None

    @property
    def token_ids(self) -> NDArray[np.int32]:
        """int32 [P + R]: prompt and response together.

        Raises:
            RolloutError: ids are not known.

        """
        if self.prompt_ids is None or self.response_ids is None:
            msg = f"rollout {self.id!r} has no token ids; score it, or read it with tokenizer=, to give it some"
            raise RolloutError(msg)
        return np.concatenate([self.prompt_ids, self.response_ids])

    @property
    def prompt_len(self) -> int:
        """Number of prompt tokens; 0 where they are not known."""
        return 0 if self.prompt_ids is None else len(self.prompt_ids)

    @property
    def responses(self) -> tuple[str, ...]:
        """What the student wrote, one text a turn."""
        if self.turns is not None:
            return tuple(turn.content for turn in self.turns if turn.role == "assistant")
        return () if self.response_text is None else (self.response_text,)

    def with_outcome(self, outcome: Outcome) -> Rollout:
        """Return the same rollout, judged."""
        return replace(self, outcome=outcome)


def _ids(name: str, rollout: str, raw: ArrayLike) -> NDArray[np.int32]:
    array = array_of(f"rollout {rollout!r}: {name}", raw)
    if array.size == 0:
        return np.zeros(0, np.int32)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        what = f"shape {array.shape} and dtype {array.dtype}"
        msg = f"rollout {rollout!r}: {name} has {what}; expected a flat list of integers"
        raise RolloutError(msg)
    if array.min() < 0 or array.max() > _IDS.max:
        bad = int(array.min()) if array.min() < 0 else int(array.max())
        msg = f"rollout {rollout!r}: {name} holds {bad}; expected token ids from 0 to {_IDS.max}"
        raise RolloutError(msg)
    return array.astype(np.int32)


def _mask(rollout: str, raw: ArrayLike) -> NDArray[np.bool_]:
    array = array_of(f"rollout {rollout!r}: response_mask", raw)
    if array.ndim != 1 or not np.isin(array, (0, 1)).all():
        what = f"{array.tolist()!r}" if array.ndim == 0 else f"shape {array.shape} and dtype {array.dtype}"
        msg = f"rollout {rollout!r}: response_mask has {what}; expected a flat list of True and False, one a token"
        raise RolloutError(msg)
    return array.astype(bool)


def _tokens(rollout: str, raw: object) -> tuple[str, ...]:
    if isinstance(raw, str) or not isinstance(raw, Sequence | np.ndarray) or not all(isinstance(t, str) for t in raw):
        msg = f"rollout {rollout!r}: tokens is {raw!r:.60}, expected a list of strings, one a token"
        raise RolloutError(msg)
    return tuple(map(str, raw))


def _token_bytes(rollout: str, raw: object) -> tuple[bytes, ...]:
    if not isinstance(raw, Sequence) or isinstance(raw, str) or not all(isinstance(entry, bytes) for entry in raw):
        msg = f"rollout {rollout!r}: token_bytes is {raw!r:.60}, expected a list of bytes, one a token"
        raise RolloutError(msg)
    return tuple(raw)


def _reward(rollout: str, raw: object) -> float | dict[str, float | None] | None:
    if isinstance(raw, Mapping):
        return {str(name): number_of(f"rollout {rollout!r}: reward {name!r}", value) for name, value in raw.items()}
    return number_of(f"rollout {rollout!r}: reward", raw)


def _step(rollout: str, raw: Any) -> int | None:
    if raw is None:
        return None
    value = number_of(f"rollout {rollout!r}: step", raw)
    if value is None or not value.is_integer():
        msg = f"rollout {rollout!r}: step is {raw!r}, expected a whole number, or None where it is not known"
        raise RolloutError(msg)
    return int(raw)
