"""Success probabilities of a policy too large to enumerate whole: its likely prefixes, and a bound for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.diagnosis.exact import Correct, Node

# Distinct prefixes -> for each, ids that may follow it, and the next-token log-probabilities after the prefix and after
# every one of these ids in turn: float64 [1 + ids, V]. No ids is an answer too; more of them save calls.
Reader = Callable[[Sequence[Node]], Iterable[tuple[Node, np.ndarray]]]
ROUND = 1024  # prefixes read between two looks at what is still unknown
NEGLIGIBLE = 1e-9  # an end less likely than this isn't judged: it stays among what is unknown


@dataclass(frozen=True)
class Bounded:
    """Success after a prefix: within `bound` of `success`, whatever happens in the responses that were not read."""

    success: float
    bound: float


class BestFirst:
    """Reads prefixes, the likeliest first, until success is known well enough below every one that matters.

    How likely a prefix is counts from the nearest of those that matter: what follows a token that the student hardly
    ever takes is read as far as what follows the root.

    Args:
        reader: asked for next-token log-probabilities.
        vocab: V.
        ends: ids that end a response.
        length: most tokens of a response; one cut there is not correct.
        correct: of a whole response, its end token included.

    """

    def __init__(self, reader: Reader, *, vocab: int, ends: frozenset[int], length: int, correct: Correct) -> None:
        self._reader, self._ends, self._length, self._correct = reader, sorted(ends), length, correct
        self.prefixes: list[Node] = []
        self._at: dict[Node, int] = {}
        self._depths: list[list[int]] = [[] for _ in range(length)]
        self._logp = np.zeros((0, vocab))
        self._child = np.zeros((0, vocab), np.int64)  # place of what follows; -1 where it was not read
        self._right = np.zeros((0, vocab))  # of an end: whether it is right; NaN elsewhere
        self._matters = np.zeros((0, vocab), bool)
        self._read([()])

    def __len__(self) -> int:
        return len(self.prefixes)

    def logp(self, prefix: Node) -> np.ndarray:
        """Return the next-token log-probabilities after a prefix that was read: [V], nats."""
        return np.asarray(self._logp[self._at[prefix]])

    def reached(self, least: float) -> list[tuple[Node, float]]:
        """Return every prefix that the student reaches with this probability or more, and how likely it is."""
        while True:
            reach, ahead = self._likely(from_root=True)
            going = self._frontier(ahead, least)
            if not going:
                break
            self._read(going)
        return [(self.prefixes[i], float(reach[i])) for i in np.flatnonzero(reach >= least)]

    def explore(self, matter: Iterable[Node], bound: float, most: int) -> None:
        """Read on until less than `bound` of what follows each of these prefixes is unknown, or `most` were read.

        Args:
            matter: prefixes, none of which goes on after an end.
            bound: probability, counted from the prefix.
            most: prefixes read in all, at which it gives up: see `known` for what it then knows.

        """
        matter = list(matter)
        for size in range(self._length):
            above = {ids[:size] for ids in matter if len(ids) > size}
            self._read(sorted(ids for ids in above if ids not in self._at))
        for prefix in matter:
            if prefix:
                self._matters[self._at[prefix[:-1]], prefix[-1]] = True
        while len(self) < most:
            _, told = self._sums()
            unknown = self._matters & (1 - self._told_by_token(told) > bound)
            _, ahead = self._likely(unknown, from_root=bool(1 - told[0] > bound))
            going = self._frontier(ahead, 0.0)
            if not going:
                break
            self._read(going)

    def known(self, prefixes: Iterable[Node]) -> list[Bounded]:
        """Return success after prefixes that were read, or whose parents were."""
        right, told = self._sums()
        found = []
        for prefix in prefixes:
            if prefix in self._at:
                good, mass = right[self._at[prefix]], told[self._at[prefix]]
            elif prefix[-1] in self._ends:
                good, mass = self._right[self._at[prefix[:-1]], prefix[-1]], 1.0
            else:
                good, mass = 0.0, float(len(prefix) == self._length)
            likely = good / mass if mass else 0.5
            found.append(Bounded(float(likely), float((1 - mass) * max(likely, 1 - likely))))
        return found

    def _read(self, asked: Sequence[Node]) -> None:
        """Read prefixes, and with them those that the reader gives unasked."""
        if not asked:
            return
        grown: list[tuple[Node, np.ndarray]] = []
        for prefix, (after, rows) in zip(asked, self._reader(asked), strict=True):
            for i, row in enumerate(rows):
                node = (*prefix, *after[:i])
                if len(node) == self._length or (node and node[-1] in self._ends):
                    break
                grown.append((node, row))
        size, vocab = len(self), self._logp.shape[1]
        self._logp = np.concatenate([self._logp, [row for _, row in grown]])
        self._child = np.concatenate([self._child, np.full((len(grown), vocab), -1)])
        self._right = np.concatenate([self._right, np.full((len(grown), vocab), np.nan)])
        self._matters = np.concatenate([self._matters, np.zeros((len(grown), vocab), bool)])
        for place, (node, row) in enumerate(grown, size):
            self._at[node] = place
            self.prefixes.append(node)
            self._depths[len(node)].append(place)
            if node:
                self._child[self._at[node[:-1]], node[-1]] = place
            for end in self._ends:
                if row[end] > np.log(NEGLIGIBLE):
                    self._right[place, end] = self._correct((*node, end))

    def _likely(self, matters: np.ndarray | None = None, *, from_root: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return how likely each prefix is, and each with one more token: [n] and [n, V].

        Counted from the nearest above it, itself included, that matters; 0 where none does.
        """
        likely = np.zeros(len(self))
        likely[0] = from_root
        ahead = np.exp(self._logp)
        for places in self._depths:
            here = ahead[places] * likely[places, None]
            if matters is not None:
                here[matters[places]] = 1.0
            ahead[places] = here
            child = self._child[places]
            likely[child[child >= 0]] = here[child >= 0]
        return likely, ahead

    def _frontier(self, ahead: np.ndarray, least: float) -> list[Node]:
        """Return the likeliest prefixes of at least this probability that were not read and whose parents were."""
        open_ = np.where(self._child < 0, ahead, 0.0)
        open_[:, self._ends] = 0.0
        open_[self._depths[-1]] = 0.0
        flat = open_.ravel()
        going = np.flatnonzero(flat >= max(least, np.finfo(float).tiny))
        if len(going) > ROUND:
            going = going[np.argpartition(-flat[going], ROUND)[:ROUND]]
        vocab = open_.shape[1]
        return [(*self.prefixes[i // vocab], i % vocab) for i in going.tolist()]

    def _told_by_token(self, told: np.ndarray) -> np.ndarray:
        """Return, of what follows each token, the share whose outcome is known: [prefixes, V]."""
        mass = np.where(self._child >= 0, told[self._child], 0.0)
        mass[~np.isnan(self._right)] = 1.0
        mass[self._depths[-1]] = 1.0  # the length limit comes after any token there
        return mass

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return, of what follows each prefix, the share known to succeed, and the share whose outcome is known."""
        right, told = np.zeros(len(self)), np.zeros(len(self))
        p = np.exp(self._logp)
        for depth in reversed(range(self._length)):
            places = self._depths[depth]
            child, end = self._child[places], self._right[places]
            good = np.where(child >= 0, right[child], np.nan_to_num(end))
            mass = np.where(child >= 0, told[child], ~np.isnan(end) | (depth + 1 == self._length))
            right[places], told[places] = (p[places] * good).sum(1), (p[places] * mass).sum(1)
        return right, told
