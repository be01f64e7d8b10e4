"""Nodes read: student and teachers asked what may come next, and compared over the whole vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opd_widgets.data.topk import UNUSED_ID
from opd_widgets.diagnosis.nodes import Nodes
from opd_widgets.diagnosis.policies.policy import Policy, rows_of
from opd_widgets.diagnosis.policies.prefixes import Prefix, checked_prefixes
from opd_widgets.diagnosis.policies.served_policy import Likeliest, ServedPolicy
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.distribution import Distribution
from opd_widgets.measures.divergence import entropy
from opd_widgets.measures.signal import SignalSettings
from opd_widgets.measures.together import divergences
from opd_widgets.models.protocol import Ids
from opd_widgets.scoring.chunk import no_less_than_zero

STUDENT = ""  # stands for the student among the teachers' names; no teacher may be called so
BLOCK_BYTES = 2**26  # of float64 rows [n, V], those of the student and all teachers together
DIVERGENCES = ("reverse_kl", "forward_kl", "jsd")
IMPORTANT = 0.02
Columns = dict[str, NDArray[np.float64]]


def read_nodes(
    student: Policy,
    teachers: Mapping[str, Policy],
    prefixes: Sequence[Prefix],
    important: float = IMPORTANT,
    *,
    fewest: int = 0,
) -> Nodes:
    """Return what student and teachers say at each node. Nothing is drawn.

    Candidates are the tokens of a probability above `important` under the student or any of the teachers, an end of the
    response among them. Of each, the log-probability under everyone; entropies and divergences are over the whole
    vocabulary, and NaN where one side is behind a server that does not give it.

    Limits: vocabularies of unlike size, as heads with padding rows have, are compared on the ids that both have. What a
    teacher lacks has probability 0 there (log-probability -inf); what the student lacks it can never take, and is no
    candidate. As in `opd.score`, divergences are between the distributions renormalised on the ids that stand for a
    token to both, and entropies are of each side's whole head.

    Args:
        student: whose nodes these are.
        teachers: by name; none may be called "".
        prefixes: M response prefixes; the empty one is the first token's node.
        important: least probability of a candidate, itself left out.
        fewest: at a node with fewer candidates nothing is compared: entropies and divergences are NaN there. Most nodes
            have a single one, and a whole vocabulary takes long.

    Raises:
        InvalidInputError: something that is no policy, a prefix in which the response has ended, ids outside the
            student's or a teacher's vocabulary, `important` not between 0 and 1, or a server that does not say enough.
        LengthLimitError: a prefix that is longer than a model takes.

    """
    _check(student, teachers, important)
    asked = checked_prefixes(prefixes, student.vocab_size)
    _check_prefixes(asked, student, teachers)
    everyone = {STUDENT: student, **teachers}
    order = sorted(range(len(asked)), key=lambda row: asked[row].tobytes())  # nodes on one sequence side by side
    ordered = [asked[row] for row in order]
    served = {name: one for name, one in everyone.items() if isinstance(one, ServedPolicy) and not one.full_vocabulary}
    tops = {name: one.likeliest(ordered, important) for name, one in served.items()} if ordered else {}
    whole = {name: one for name, one in everyone.items() if name not in served}
    blocks = [*_read_whole(whole, tops, ordered, student.vocab_size, math.log(important), fewest=fewest)]
    found = _joined(blocks, everyone)
    for name, one in served.items() if ordered else ():
        found.logp[name] = one.logprobs_at(ordered, found.tokens, tops[name])
    back = np.argsort(np.array(order, np.int64), kind="stable")
    return _nodes(asked, tuple(teachers), found, back)


@dataclass(frozen=True, eq=False)
class _Block:
    """Some nodes: candidates int [n, C], and by name log-probabilities float64 [n, C] and measures float64 [n]."""

    tokens: NDArray[np.int64]
    logp: Columns
    measured: dict[str, Columns]


def _read_whole(
    whole: Mapping[str, Policy],
    tops: Mapping[str, Likeliest],
    asked: Sequence[Ids],
    vocab: int,
    floor: float,
    *,
    fewest: int,
) -> Iterator[_Block]:
    """Yield the nodes a few at a time: the rows of all who give whole distributions, side by side.

    Args:
        whole: those policies by name, the student maybe not among them.
        tops: what the others say.
        asked: M prefixes.
        vocab: ids that the student can take.
        floor: log-probability above which a token is a candidate.
        fewest: candidates of a node at which distributions are compared.

    """
    widest = max((one.vocab_size for one in whole.values()), default=vocab)
    size = max(1, BLOCK_BYTES // (8 * widest * max(2, len(whole))))
    readers = {name: rows_of(one, asked, size) for name, one in whole.items()}
    counts = {name: int(getattr(one, "token_count", one.vocab_size)) for name, one in whole.items()}
    for start in range(0, len(asked), size):
        here = slice(start, min(start + size, len(asked)))
        rows = {name: next(reader) for name, reader in readers.items()}
        named = [_important(logp, None, floor) for logp in rows.values()]
        named += [_important(top.logp[here], top.ids[here], floor) for top in tops.values()]
        tokens = _union(named, here.stop - here.start, vocab)
        logp = {name: _taken(own, tokens) for name, own in rows.items()}
        measured = (tokens != UNUSED_ID).sum(axis=1) >= fewest
        yield _Block(tokens, logp, _measured(rows, counts, measured))


def _important(
    logp: NDArray[np.float64], ids: NDArray[np.integer] | None, floor: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row, id) of the tokens above the floor; a column is an id, or stands for the one in `ids`."""
    row, column = np.divmod(np.flatnonzero(logp > floor), logp.shape[1])  # several times as fast as of two axes
    return row, column if ids is None else ids[row, column].astype(np.int64)


def _union(named: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], count: int, vocab: int) -> NDArray[np.int64]:
    """Return the ids named for each row, once each and below `vocab`: int64 [count, C]; -1 fills."""
    row, token = (np.concatenate(part) for part in zip(*named, strict=True))
    both = np.unique((row * vocab + token)[token < vocab])
    row, token = np.divmod(both, vocab)
    width = int(np.bincount(row, minlength=1).max()) if row.size else 0
    tokens = np.full((count, width), UNUSED_ID, np.int64)
    tokens[row, np.arange(len(row)) - np.searchsorted(row, row)] = token
    return tokens


def _taken(logp: NDArray[np.float64], tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log-probabilities at tokens [n, C]; -inf where there is none, or no row for it."""
    known = (tokens >= 0) & (tokens < logp.shape[1])
    values = np.take_along_axis(logp, np.where(known, tokens, 0), axis=1)
    return np.where(known, values, -np.inf)


def _measured(
    rows: Mapping[str, NDArray[np.float64]], counts: Mapping[str, int], where: NDArray[np.bool_]
) -> dict[str, Columns]:
    """Return everyone's entropy [n], and each teacher's divergences from the student where both are whole.

    Args:
        rows: log-probabilities by name, float64 [n, V].
        counts: by name, how many of their ids stand for tokens.
        where: at which nodes, bool [n]; NaN elsewhere.

    """
    some = {name: logp if where.all() else logp[where] for name, logp in rows.items()}
    mine = Distribution.of(some[STUDENT]) if STUDENT in some else None
    found: dict[str, Columns] = {}
    settings = SignalSettings()
    for name, logp in some.items() if where.any() else ():
        theirs = Distribution.of(logp) if mine is None or name != STUDENT else mine
        here = {"entropy": entropy(theirs)}
        if mine is not None and name != STUDENT:
            shared = min(counts[name], counts[STUDENT])
            pair = divergences(
                mine.first(shared)[0], theirs.first(shared)[0], beta=0.5, skew=settings.skew, clip=settings.clip
            )
            here |= {key: value for key, value in no_less_than_zero(pair).items() if key in DIVERGENCES}
        found[name] = {key: np.full(len(where), np.nan) for key in here}
        for key, value in here.items():
            found[name][key][where] = value
    return found


def _joined(blocks: Sequence[_Block], everyone: Mapping[str, Policy]) -> _Block:
    """Return all blocks in one; NaN where somebody was not among those who give whole distributions."""
    width = max((block.tokens.shape[1] for block in blocks), default=0)
    count = sum(len(block.tokens) for block in blocks)
    tokens = np.full((count, width), UNUSED_ID, np.int64)
    logp = {name: np.full((count, width), -np.inf) for name in everyone}
    measured = {name: {key: np.full(count, np.nan) for key in ("entropy", *DIVERGENCES)} for name in everyone}
    start = 0
    for block in blocks:
        rows, columns = block.tokens.shape
        here = slice(start, start + rows)
        tokens[here, :columns] = block.tokens
        for name, values in block.logp.items():
            logp[name][here, :columns] = values
        for name, measures in block.measured.items():
            for key, values in measures.items():
                measured[name][key][here] = values
        start += rows
    return _Block(tokens, logp, measured)


def _nodes(asked: Sequence[Ids], teachers: tuple[str, ...], found: _Block, back: NDArray[np.int64]) -> Nodes:
    """Return the nodes as they were asked about, candidates likeliest under the student first."""
    none = found.tokens == UNUSED_ID
    mine = found.logp[STUDENT]
    first = np.lexsort((-mine, none), axis=-1)[back]  # what is not known last, but for the filling

    def arranged(values: NDArray[np.float64]) -> NDArray[np.float64]:
        sorted_: NDArray[np.float64] = np.take_along_axis(np.where(none, -np.inf, values)[back], first, axis=1)
        return sorted_

    def beside(key: str) -> NDArray[np.float64]:
        columns = [found.measured[name][key][back] for name in teachers]
        return np.stack(columns, axis=1) if columns else np.zeros((len(asked), 0))

    theirs = [arranged(found.logp[name]) for name in teachers]
    return Nodes(
        prefixes=tuple(tuple(ids.tolist()) for ids in asked),
        tokens=np.take_along_axis(found.tokens[back], first, axis=1).astype(np.int32),
        student_logp=arranged(mine),
        teachers=teachers,
        teacher_logp=np.stack(theirs, axis=1) if theirs else np.zeros((len(asked), 0, none.shape[1])),
        student_entropy=found.measured[STUDENT]["entropy"][back],
        teacher_entropy=beside("entropy"),
        **{key: beside(key) for key in DIVERGENCES},
    )


def _check_prefixes(asked: Sequence[Ids], student: Policy, teachers: Mapping[str, Policy]) -> None:
    """Refuse a node that is none, and one that a teacher has no token for."""
    ends = student.end_ids
    for ids in asked:
        if ends.intersection(ids.tolist()):
            msg = (
                f"found the end {min(ends.intersection(ids.tolist()))} in a prefix of {len(ids)} tokens"
                f" ({ids.tolist()[-5:]} at its end): no token follows it. Expected prefixes of responses that go on;"
                " leave the end out"
            )
            raise InvalidInputError(msg)
    largest = max((int(ids.max(initial=-1)) for ids in asked), default=-1)
    for name, one in teachers.items():
        if largest >= one.vocab_size:
            msg = (
                f"found id {largest} in a prefix, and teacher {name!r} has {one.vocab_size} ids: it cannot read it."
                " Expected ids that student and teachers share; leave the node or the teacher out"
            )
            raise InvalidInputError(msg)


def _check(student: Policy, teachers: Mapping[str, Policy], important: float) -> None:
    if not isinstance(teachers, Mapping):
        msg = f"found teachers of type {type(teachers).__name__}, expected a mapping from name to policy"
        raise InvalidInputError(msg)
    for name, one in {"the student": student, **{f"teacher {name!r}": one for name, one in teachers.items()}}.items():
        if not isinstance(one, Policy):
            msg = f"found {name} of type {type(one).__name__}, expected a policy; policy_of(who, question) makes one"
            raise InvalidInputError(msg)
    for name in teachers:
        if not name or not isinstance(name, str):
            msg = f"found {name!r} as a teacher's name, expected a string that is not empty"
            raise InvalidInputError(msg)
    if not 0 < important < 1:
        msg = f"found important={important!r}, expected a probability between 0 and 1, such as {IMPORTANT}"
        raise InvalidInputError(msg)
