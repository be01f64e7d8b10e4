"""Response prefixes: checked, given room, and chained so that those on one sequence are read together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opd_widgets.errors import InvalidInputError
from opd_widgets.models.protocol import Ids

Prefix = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Chains:
    """Prefixes grouped so that each group lies on one sequence.

    Args:
        sequences: S responses, the longest prefix of each group.
        depths: by sequence, the lengths of its prefixes, rising.
        places: int64 [n], for each prefix asked about its row among all `depths` in order; equal prefixes share one.

    """

    sequences: tuple[Ids, ...]
    depths: tuple[NDArray[np.int64], ...]
    places: NDArray[np.int64]


def chained(prefixes: Sequence[Ids]) -> Chains:
    """Return the prefixes in the fewest sequences: one that begins a longer one is read within it.

    In sorted order a prefix stands right before what goes on from it, so a group is a run in which each begins the
    next.
    """
    spelled = [ids.tobytes() for ids in prefixes]
    distinct = sorted(set(spelled))
    place = {name: row for row, name in enumerate(distinct)}
    sequences, depths, run = [], [], []
    for name, following in itertools.zip_longest(distinct, distinct[1:]):
        ids = np.frombuffer(name, np.int32)
        run.append(len(ids))
        if following is None or not following.startswith(name):
            sequences.append(ids)
            depths.append(np.array(run, np.int64))
            run = []
    return Chains(tuple(sequences), tuple(depths), np.array([place[name] for name in spelled], np.int64))


def checked_prefixes(given: Sequence[Prefix], vocab: int) -> list[Ids]:
    """Return prefixes as int32 [R] each.

    Raises:
        InvalidInputError: not a row of whole numbers, or an id outside the vocabulary.

    """
    found = []
    for one in given:
        try:
            ids = np.asarray(one)
        except (TypeError, ValueError) as error:  # rows of unlike length within one
            msg = f"found {one!r:.80} for a prefix, expected a row of whole numbers"
            raise InvalidInputError(msg) from error
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            msg = (
                f"found ids of shape {ids.shape} and type {ids.dtype}, expected a row of whole numbers for each prefix"
            )
            raise InvalidInputError(msg)
        check_ids(ids, vocab, "a prefix")
        found.append(ids.astype(np.int32))
    return found


def checked_prompt(given: Prefix, vocab: int) -> Ids:
    """Return a prompt as int32 [P].

    Raises:
        InvalidInputError: as for prefixes, and where it is empty.

    """
    ids = checked_prefixes([given], vocab)[0]
    if not len(ids):
        msg = "found an empty prompt, expected at least one token to go on from"
        raise InvalidInputError(msg)
    return ids


def check_ids(ids: Sequence[int] | NDArray[np.integer], vocab: int, where: str) -> None:
    """Refuse an id outside the vocabulary.

    Raises:
        InvalidInputError: there is one.

    """
    if not len(ids):
        return
    least, most = int(np.min(ids)), int(np.max(ids))
    if least < 0 or most >= vocab:
        msg = f"found id {least if least < 0 else most} in {where}, expected 0 to {vocab - 1}"
        raise InvalidInputError(msg)


def is_ended(ids: Ids, ends: frozenset[int]) -> bool:
    """Return whether a prefix is a whole response already."""
    return bool(len(ids)) and int(ids[-1]) in ends


def without_end(ids: Sequence[int], ends: frozenset[int]) -> list[int]:
    """Return the ids of a response without the token that ended it."""
    plain = [int(one) for one in ids]
    return plain[:-1] if plain and plain[-1] in ends else plain


def draws(
    prefixes: Sequence[Ids], seeds: Sequence[int], most: int | Sequence[int], ends: frozenset[int]
) -> tuple[list[int], list[int]]:
    """Return the seed of each prefix and how many tokens it may still get: none where it has ended.

    Raises:
        InvalidInputError: not a seed for each prefix, or no length or one for each; or not whole numbers from 0 on.

    """
    each = [most] * len(prefixes) if isinstance(most, int | np.integer) else list(most)
    own = [seeds] if isinstance(seeds, int | np.integer) else list(seeds)
    if len(own) != len(prefixes) or len(each) != len(prefixes):
        msg = (
            f"found {len(own)} seeds and {len(each)} max_new_tokens for {len(prefixes)} prefixes, expected a seed for"
            " each prefix, and one max_new_tokens or as many. Repeat a prefix for more continuations of it"
        )
        raise InvalidInputError(msg)
    for name, values in (("seeds", own), ("max_new_tokens", each)):
        wrong = [one for one in values if not _is_count(one)]
        if wrong:
            msg = f"found {wrong[0]!r} in {name}, expected whole numbers of at least 0"
            raise InvalidInputError(msg)
    room = [0 if is_ended(ids, ends) else int(one) for ids, one in zip(prefixes, each, strict=True)]
    return [int(one) for one in own], room


def _is_count(given: object) -> bool:
    return isinstance(given, int | np.integer) and int(given) >= 0
