"""What a diagnosis keeps as it goes: what a round is to draw, what was drawn, and the nodes that were read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.nodes import Nodes
from opd_widgets.diagnosis.run.requests import Request
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Arrays = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, eq=False)
class Decision:
    """What a round is to draw. It is written before anything is drawn, so that a process that dies loses no plan.

    Args:
        requests: in order.
        rows: how many of them make a batch.
        said: why, in values JSON can hold.

    """

    requests: tuple[Request, ...]
    rows: int
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batches(self) -> int:
        """Number of batches."""
        return -(-len(self.requests) // self.rows)

    def batch(self, number: int) -> tuple[Request, ...]:
        """Return the requests of one batch."""
        return self.requests[number * self.rows : (number + 1) * self.rows]

    def to_arrays(self) -> Arrays:
        """Return it as arrays."""
        return {
            "question": np.array([one.question for one in self.requests], np.int64),
            "index": np.array([one.index for one in self.requests], np.int64),
            "stream": np.array([one.stream for one in self.requests], np.str_),
            **_ragged([np.array(one.prefix, np.int32) for one in self.requests], np.int32),
            "logprobs": _joined([one.logprobs for one in self.requests], np.float32),
            "rows": np.array(self.rows, np.int64),
            "said": np.array(json.dumps(self.said), np.str_),
        }

    @classmethod
    def of_arrays(cls, found: Mapping[str, NDArray[Any]]) -> Decision:
        """Return it from arrays."""
        prefixes, logprobs = _prefixes(found["ids"], found["length"]), _split(found["logprobs"], found["length"])
        rows = zip(found["question"], prefixes, found["index"], logprobs, found["stream"], strict=True)
        requests = tuple(
            Request(int(question), prefix, int(index), logp, str(stream))
            for question, prefix, index, logp, stream in rows
        )
        return cls(requests, int(found["rows"]), json.loads(str(found["said"])))


@dataclass(frozen=True, eq=False)
class Batch:
    """Rollouts that were drawn together, with the requests that they answer.

    Args:
        question: int64 [N], place of each rollout's question.
        index: int64 [N], how many rollouts were asked for behind the same prefix before.
        drawn: N rollouts.
        stream: of which random numbers; "" for what the diagnosis is made from.
        seconds: time that drawing and verifying took; NaN where unknown.
        reasons: how often the verifier gave which reason for no verdict.

    """

    question: NDArray[np.int64]
    index: NDArray[np.int64]
    drawn: tuple[Drawn, ...]
    stream: str = ""
    seconds: float = float("nan")
    reasons: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compare lengths.

        Raises:
            InvalidInputError: they differ.

        """
        if not len(self.question) == len(self.index) == len(self.drawn):
            msg = f"found {len(self.question)} questions, {len(self.index)} indices and {len(self.drawn)} rollouts"
            raise InvalidInputError(msg)

    @classmethod
    def answering(
        cls, requests: Sequence[Request], drawn: Sequence[Drawn], seconds: float, reasons: Mapping[str, int]
    ) -> Batch:
        """Return what was drawn for some requests of one stream."""
        question = np.array([one.question for one in requests], np.int64)
        index = np.array([one.index for one in requests], np.int64)
        return cls(question, index, tuple(drawn), requests[0].stream, seconds, dict(reasons))

    def answers(self, requests: Sequence[Request]) -> bool:
        """Return whether these are the rollouts that were asked for."""
        wanted = [(one.question, one.index, one.prefix, one.stream) for one in requests]
        forced = (tuple(one.ids[: one.start].tolist()) for one in self.drawn)
        found = zip(self.question.tolist(), self.index.tolist(), forced, strict=True)
        return wanted == [(*row, self.stream) for row in found]

    def to_arrays(self) -> Arrays:
        """Return it as arrays."""
        return {
            "question": self.question,
            "index": self.index,
            **_ragged([one.ids for one in self.drawn], np.int32),
            "logprobs": _joined([one.logprobs for one in self.drawn], np.float32),
            "start": np.array([one.start for one in self.drawn], np.int64),
            "outcome": np.array([one.outcome for one in self.drawn], np.int8),
            "truncated": np.array([one.truncated for one in self.drawn], np.bool_),
            "round": np.array([one.round for one in self.drawn], np.int64),
            "stream": np.array(self.stream, np.str_),
            "seconds": np.array(self.seconds, np.float64),
            "reasons": np.array(json.dumps(self.reasons), np.str_),
        }

    @classmethod
    def of_arrays(cls, found: Mapping[str, NDArray[Any]]) -> Batch:
        """Return it from arrays."""
        ids, logprobs = _split(found["ids"], found["length"]), _split(found["logprobs"], found["length"])
        rows = zip(ids, found["start"], logprobs, found["outcome"], found["truncated"], found["round"], strict=True)
        drawn = tuple(
            Drawn(one, int(start), logp, int(outcome), bool(cut), int(number))
            for one, start, logp, outcome, cut, number in rows
        )
        reasons = json.loads(str(found["reasons"]))
        seconds = float(found["seconds"])
        return cls(found["question"], found["index"], drawn, str(found["stream"]), seconds, reasons)


@dataclass(frozen=True, eq=False)
class NodesRead:
    """The nodes of a question, and what they depend on.

    Args:
        nodes: what was read.
        key: in values JSON can hold, what they were read with: teachers, number of initial rollouts, and so on. They
            are read again where it is another.
        left_out: nodes with a choice for which there was no place.

    """

    nodes: Nodes
    key: Mapping[str, Any]
    left_out: int = 0

    def to_arrays(self) -> Arrays:
        """Return it as arrays."""
        prefixes = [np.array(prefix, np.int32) for prefix in self.nodes.prefixes]
        return {
            **_ragged(prefixes, np.int32),
            **{name: value for name, value in vars(self.nodes).items() if isinstance(value, np.ndarray)},
            "teachers": np.array(self.nodes.teachers, np.str_),
            "key": np.array(json.dumps(self.key), np.str_),
            "left_out": np.array(self.left_out, np.int64),
        }

    @classmethod
    def of_arrays(cls, found: Mapping[str, NDArray[Any]]) -> NodesRead:
        """Return it from arrays."""
        rest = dict(found)
        prefixes = tuple(_prefixes(rest.pop("ids"), rest.pop("length")))
        key, left_out = json.loads(str(rest.pop("key"))), int(rest.pop("left_out"))
        teachers = tuple(map(str, rest.pop("teachers")))
        return cls(Nodes(prefixes=prefixes, teachers=teachers, **rest), key, left_out)


def _ragged(rows: Sequence[NDArray[Any]], dtype: type[np.generic]) -> Arrays:
    return {"length": np.array([len(one) for one in rows], np.int64), "ids": _joined(rows, dtype)}


def _joined(rows: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *rows]).astype(dtype)


def _split(flat: NDArray[Any], lengths: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the rows of an array that holds them one after another.

    Raises:
        InvalidInputError: the lengths are not those of the whole.

    """
    if lengths.sum() != len(flat) or (lengths < 0).any():
        msg = f"found rows of {int(lengths.sum())} values in all, and {len(flat)} values"
        raise InvalidInputError(msg)
    ends = np.cumsum(lengths)
    return [flat[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def _prefixes(flat: NDArray[Any], lengths: NDArray[Any]) -> list[tuple[int, ...]]:
    """Return rows as prefixes that share their numbers: a number of its own for each would take four times the room."""
    numbers, place = np.unique(flat, return_inverse=True)
    return [tuple(row.tolist()) for row in _split(numbers.astype(object)[place], lengths)]
