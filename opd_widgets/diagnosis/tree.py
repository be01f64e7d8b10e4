"""The generation tree: a question's rollouts, merged where they agree."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.drawn import Drawn

ROOT = 0
Prefix = tuple[int, ...]
_WIDTH = 4  # bytes of an id in a key


@dataclass(frozen=True, eq=False)
class Tree:
    """Rollouts merged where they agree. A run without a branch is one edge, however long.

    A place of the tree is where rollouts part, where one starts or ends, or a prefix that was named. Parents stand
    before their children.

    Args:
        parent: int64 [N], the place before; -1 at the root, which is place 0.
        depth: int64 [N], how many tokens lead to it.
        log_mass: float64 [N], log-probability under the student of going there from the parent, nats; NaN where that
            of a token is not known. 0 at the root.
        ends: bool [N], whether a response ends there.
        leaf: int64 [R], the place where each rollout ends.
        begin: int64 [R], the place where each rollout becomes the student's own.
        named: place of each named prefix that some rollout passes.

    """

    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    log_mass: NDArray[np.float64]
    ends: NDArray[np.bool_]
    leaf: NDArray[np.int64]
    begin: NDArray[np.int64]
    named: Mapping[Prefix, int]

    @classmethod
    def of(cls, rollouts: Sequence[Drawn], names: Iterable[Prefix] = ()) -> Tree:
        """Merge rollouts.

        Args:
            rollouts: of one question.
            names: response prefixes that are to be places; those that no rollout passes are left out.

        """
        keys = [_key(drawn.ids) for drawn in rollouts]
        begins = [key[: _WIDTH * drawn.start] for key, drawn in zip(keys, rollouts, strict=True)]
        along = dict(zip(reversed(begins), reversed(range(len(keys))), strict=True))
        along |= dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))  # place -> a rollout that passes
        spelled = {name: _key(name) for name in names}
        for key, index in _passing(keys, spelled.values()).items():
            along.setdefault(key, index)
        parent, depth, source, place = _grow(along)
        log_mass = np.array([0.0, *_masses(rollouts, parent, depth, source)])
        leaf = np.array([place[key] for key in keys], np.int64)
        ends = np.zeros(len(parent), np.bool_)
        ends[leaf] = True
        begin = np.array([place[key] for key in begins], np.int64)
        named = {name: place[key] for name, key in spelled.items() if key in place}
        return cls(parent, depth, log_mass, ends, leaf, begin, named)

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self.parent)

    def levels(self) -> list[NDArray[np.int64]]:
        """Return places by how many lie above them, the root first: the parents of a level are in the one before."""
        above = [0] * len(self)
        for place, parent in enumerate(self.parent[1:].tolist(), 1):
            above[place] = above[parent] + 1
        order = np.argsort(above, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(np.array(above)[order])) + 1)

    def count(self, weight: NDArray[np.float64], *, on_policy: bool) -> NDArray[np.float64]:
        """Return how much of the rollouts' weight passes each place, float64 [N].

        Args:
            weight: [R], such as 1 for each rollout, or its outcome.
            on_policy: leave a rollout out of the places before the one where it becomes the student's own.

        """
        passing = np.bincount(self.leaf, weight, len(self)).tolist()
        begun = np.bincount(self.begin, weight, len(self)).tolist() if on_policy else [0.0] * len(self)
        parents = self.parent.tolist()
        for place in range(len(self) - 1, 0, -1):
            passing[parents[place]] += passing[place] - begun[place]
        return np.array(passing)


def passing(rollouts: Sequence[Drawn], names: Iterable[Prefix]) -> dict[Prefix, int]:
    """Return which rollout passes each prefix, one of them; prefixes that none passes are left out."""
    spelled = {name: _key(name) for name in names}
    found = _passing([_key(drawn.ids) for drawn in rollouts], spelled.values())
    return {name: found[key] for name, key in spelled.items() if key in found}


def _passing(keys: Sequence[bytes], names: Iterable[bytes]) -> dict[bytes, int]:
    index = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))
    order, found = sorted(index), {}
    for name in names:
        after = bisect_left(order, name)
        if after < len(order) and order[after].startswith(name):
            found[name] = index[order[after]]
    return found


def _grow(along: Mapping[bytes, int]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int], dict[bytes, int]]:
    """Return parent and depth of each place, a rollout that passes it, and the place of each key.

    Keys are taken in order: where one parts from the one before, their paths part.
    """
    parent, depth, source, place_of = [-1], [0], [along.get(b"", 0)], {b"": ROOT}
    stack, before = [ROOT], b""
    for key in sorted(key for key in along if key):
        shared, last = _shared(before, key), ROOT
        while depth[stack[-1]] > shared:
            last = stack.pop()
        if depth[stack[-1]] < shared:  # they part inside a run: it gets a place there
            parent.append(stack[-1])
            depth.append(shared)
            source.append(source[last])
            parent[last] = len(parent) - 1
            stack.append(parent[last])
        parent.append(stack[-1])
        depth.append(len(key) // _WIDTH)
        source.append(along[key])
        place_of[key] = len(parent) - 1
        stack.append(place_of[key])
        before = key
    order = np.argsort(depth, kind="stable")  # parents before their children
    rank = np.argsort(order)
    above = np.array(parent)[order]
    ranked = np.where(above < 0, -1, rank[above])
    return ranked, np.array(depth)[order], [source[i] for i in order], {k: int(rank[p]) for k, p in place_of.items()}


def _masses(
    rollouts: Sequence[Drawn], parent: NDArray[np.int64], depth: NDArray[np.int64], source: Sequence[int]
) -> list[float]:
    """Return the log-probability of the way to each place but the root from its parent."""
    if len(parent) == 1:
        return []
    from_to = zip(source[1:], depth[parent[1:]].tolist(), depth[1:].tolist(), strict=True)
    return [float(rollouts[index].logprobs[begin:end].sum(dtype=np.float64)) for index, begin, end in from_to]


def _key(ids: Iterable[int] | NDArray[np.integer]) -> bytes:
    """Return ids as bytes whose order is the order of the ids."""
    return np.asarray(ids if isinstance(ids, np.ndarray) else list(ids)).astype(">u4").tobytes()


def _shared(one: bytes, other: bytes) -> int:
    """Return how many ids two keys begin alike with."""
    size = min(len(one), len(other))
    unlike = np.frombuffer(one[:size], ">u4") != np.frombuffer(other[:size], ">u4")
    return int(np.argmax(unlike)) if unlike.any() else size // _WIDTH
