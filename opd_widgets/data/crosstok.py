"""Two tokenizations of one text, compared where their byte offsets meet.

A group is the smallest stretch that begins and ends at a token edge on both sides. By the chain rule its
log-probability is the sum over its tokens, on either side. What has no counterpart is in no group: not comparable,
never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_GROUP = -1
Span = tuple[int, int]


class Meeting(NamedTuple):
    """Which group each token of a stretch of text is in, on either side.

    Args:
        student: int32 [R], -1 for a token that is not comparable; groups are counted from 0 in order.
        teacher: int32 [T], likewise.

    """

    student: NDArray[np.int32]
    teacher: NDArray[np.int32]


def meet(student: Sequence[bytes], teacher: Sequence[bytes]) -> Meeting:
    """Return the smallest groups of tokens whose byte offsets coincide at both edges.

    A token without bytes belongs to the group of the one that follows it, at the end to the last one.

    Args:
        student: the bytes of each of R tokens.
        teacher: the bytes of each of T tokens of the same text.

    Raises:
        InvalidInputError: the two sides are not one text.

    """
    mine, theirs = b"".join(student), b"".join(teacher)
    if mine != theirs:
        at = next(
            (i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(map(len, (mine, theirs)))
        )
        msg = (
            f"found {len(mine)} bytes of the student's tokens and {len(theirs)} of the teacher's, which differ from "
            f"byte {at} on; expected one text on both sides"
        )
        raise InvalidInputError(msg)
    ends = np.cumsum([0, *map(len, teacher)])
    return meet_spans(student, [(int(start), int(stop)) for start, stop in pairwise(ends)])


def meet_spans(student: Sequence[bytes], teacher: Sequence[Span | None]) -> Meeting:
    """Return the same where only part of the text is said by comparable tokens of the teacher.

    A group is comparable where such tokens cover all of its bytes.

    Args:
        student: the bytes of each of R tokens.
        teacher: by token of the teacher, in order, the bytes it stands for as offsets (start, stop) into the student's
            text; None for a token that is not to be compared.

    """
    ends = np.cumsum([0, *map(len, student)], dtype=np.int64)
    total = int(ends[-1])
    spans = np.asarray([span for span in teacher if span is not None], np.int64).reshape(-1, 2)
    covered = np.zeros(total, bool)
    for start, stop in spans:
        covered[start:stop] = True
    cuts = np.intersect1d(ends, np.concatenate([[0, total], spans.ravel()]))
    lacking = np.concatenate([[0], np.cumsum(~covered)])
    whole = lacking[cuts[1:]] == lacking[cuts[:-1]]
    number = np.where(whole, np.cumsum(whole) - 1, NO_GROUP).astype(np.int32)

    def groups(starts: NDArray[np.int64]) -> NDArray[np.int32]:
        if not len(number):
            return np.full(len(starts), NO_GROUP, np.int32)
        return number[np.minimum(np.searchsorted(cuts, starts, side="right") - 1, len(number) - 1)]

    theirs = np.full(len(teacher), NO_GROUP, np.int32)
    theirs[[span is not None for span in teacher]] = groups(spans[:, 0])
    return Meeting(groups(ends[:-1]), theirs)


@dataclass(frozen=True, eq=False)
class Alignment:
    """How a response's tokens and a teacher's tokens of it lie along each other.

    Args:
        student: int32 [R], the group each of the student's tokens is compared in; -1 not comparable.
        teacher: int32 [T], the same of the teacher's.

    Raises:
        InvalidInputError: groups out of order, or one that is on one side only.

    """

    student: NDArray[np.int32]
    teacher: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Coerce dtypes; refuse what no alignment gives."""
        for name in ("student", "teacher"):
            array = np.array(getattr(self, name), np.int32).reshape(-1)
            found = array[array != NO_GROUP]
            if found.size and (found[0] < 0 or (np.diff(found) < 0).any()):
                msg = f"found groups {found.tolist()!r:.60} of the {name}'s tokens, expected them in rising order"
                raise InvalidInputError(msg)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        sides = [set(side[side != NO_GROUP].tolist()) for side in (self.student, self.teacher)]
        if sides[0] != sides[1] or (sides[0] and sides[0] != set(range(len(sides[0])))):
            msg = (
                f"found {len(sides[0])} groups of the student's tokens and {len(sides[1])} of the teacher's, expected "
                "the same on both sides, numbered from 0"
            )
            raise InvalidInputError(msg)

    @cached_property
    def last(self) -> NDArray[np.int64]:
        """Last of the student's tokens in each group, where its value stands: int [G]."""
        return last_of(self.student)

    def student_sums(self, logprobs: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return float32 [R]: the sum over a group at its last token, NaN at the others and outside all groups."""
        return self._placed(logprobs, self.student)

    def teacher_sums(self, logprobs: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return float32 [R], at the student's tokens: the sum over the teacher's tokens [T] of the group."""
        return self._placed(logprobs, self.teacher)

    def _placed(self, values: NDArray[np.floating], groups: NDArray[np.int32]) -> NDArray[np.float32]:
        sums = np.zeros(len(self.last), np.float64)
        inside = groups != NO_GROUP
        np.add.at(sums, groups[inside], np.asarray(values, np.float64)[inside])
        out = np.full(len(self.student), np.nan, np.float32)
        out[self.last] = sums
        return out


def last_of(groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return int [G]: the last index of each group in a rising array of groups; -1 entries are in none."""
    inside = np.flatnonzero(groups != NO_GROUP)
    own = groups[inside]
    return inside[np.flatnonzero(np.diff(own, append=NO_GROUP) != 0)] if len(own) else np.zeros(0, np.int64)
