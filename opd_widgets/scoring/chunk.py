"""Numbers from logits, one chunk of response tokens at a time: the only place where vocabulary rows exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device, to_device

from opd_widgets.measures import divergence
from opd_widgets.measures.distribution import Array, Distribution, log_softmax
from opd_widgets.measures.ranking import rank_of, take, top_k
from opd_widgets.measures.together import divergences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.signal import SignalSettings

BLOCK = 2**20  # elements of one float32 array while measuring: 4 MiB
Columns = dict[str, "NDArray[Any]"]


@dataclass(frozen=True)
class Ask:
    """What to measure of a chunk.

    Args:
        ids: int64 [n], the sampled tokens.
        k: how many of the likeliest tokens.
        real: number of real ids in the student's tokenizer.
        settings: parameters of the divergences.

    """

    ids: NDArray[np.int64]
    k: int
    real: int
    settings: SignalSettings


@dataclass(frozen=True, eq=False)
class Theirs:
    """One teacher's answer for a chunk.

    Args:
        logits: float32 [n, V_T].
        shared: number of ids its tokenizer shares with the student's, counting from 0.

    """

    logits: Array
    shared: int


def measure(student: Array, teachers: Mapping[str, Theirs], ask: Ask) -> tuple[Columns, dict[str, Columns]]:
    """Return the student's columns, and every teacher's by name.

    Sampled log-probability, rank and entropy use the full softmax; top-k names real tokens only. Divergences are taken
    over the ids that both tokenizers have, renormalised there; the mass outside is reported.

    Args:
        student: logits, float32 [n, V].
        teachers: by name.
        ask: what to measure.

    """
    place = device(student)
    ids = array_namespace(student).asarray(ask.ids, device=place)
    own: list[dict[str, Array]] = []
    others: dict[str, list[dict[str, Array]]] = {name: [] for name in teachers}
    for here in _row_blocks(student):  # all sides of a block while it is in the cache
        mine = Distribution.of_logits(student[here, :])
        own.append(_own_columns(mine, ids[here], ask.k, ask.real))
        for name, theirs in teachers.items():
            # two models, maybe two devices
            teacher = Distribution.of_logits(to_device(theirs.logits[here, :], place))
            columns = _own_columns(teacher, ids[here], ask.k, theirs.shared)
            columns |= _pair_columns(mine, teacher, theirs.shared, ask.settings)
            columns["at_student_top"] = at_ids(teacher.logp, own[-1]["top_ids"])
            columns["student_at_top"] = at_ids(mine.logp, columns["top_ids"])
            others[name].append(columns)
    return joined(own), {name: joined(parts) for name, parts in others.items()}


def logprobs_at(logits: Array, ids: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return log-probabilities at ids [n, K] from logits [n, V]; NaN where an id is -1 or has no row."""
    xp = array_namespace(logits)
    wanted = xp.asarray(np.asarray(ids, np.int64), device=device(logits))
    parts = [at_ids(log_softmax(logits[here, :]), wanted[here, :]) for here in _row_blocks(logits)]
    return np.asarray(to_device(xp.concat(parts, axis=0), "cpu"))


def _row_blocks(logits: Array) -> Iterator[slice]:
    """Yield slices of rows; on a CPU so small that the arrays measuring makes of them stay in its cache."""
    rows = max(1, BLOCK // logits.shape[-1] if str(device(logits)) == "cpu" else logits.shape[0])
    for start in range(0, logits.shape[0], rows):
        yield slice(start, start + rows)


def _own_columns(distribution: Distribution, ids: Array, k: int, real: int) -> dict[str, Array]:
    logp = distribution.logp
    values, top = top_k(logp[:, :real], k)
    return {
        "logprob": take(logp, ids[:, None])[:, 0],
        "rank": rank_of(logp, ids, values, among=real),
        "entropy": divergence.entropy(distribution),
        "top_ids": top,
        "top_logprobs": values,
    }


def _pair_columns(
    student: Distribution, teacher: Distribution, shared: int, settings: SignalSettings
) -> dict[str, Array]:
    s, student_outside = student.first(shared)
    t, teacher_outside = teacher.first(shared)
    measured = divergences(s, t, beta=settings.beta, skew=settings.skew, clip=settings.clip)
    return {**no_less_than_zero(measured), "student_outside": student_outside, "teacher_outside": teacher_outside}


def no_less_than_zero(measured: dict[str, Array]) -> dict[str, Array]:
    """Return divergences without the -1e-8 to which rounding takes those of two that agree."""
    xp = array_namespace(measured["jsd"])
    return {name: xp.clip(v, min=0.0) if name != "clipped_kl" else v for name, v in measured.items()}


def at_ids(logp: Array, ids: Array) -> Array:
    """Return log-probabilities at ids [n, K], NaN where the model has no such row."""
    xp = array_namespace(logp)
    known = (ids >= 0) & (ids < logp.shape[-1])
    values = take(logp, xp.where(known, ids, xp.zeros_like(ids)))
    return xp.where(known, values, xp.full_like(values, float("nan")))


def joined(parts: list[dict[str, Array]]) -> Columns:
    """Return the columns of all blocks, joined."""
    xp = array_namespace(parts[0]["logprob"])
    whole = {name: xp.concat([part[name] for part in parts], axis=0) for name in parts[0]}
    return {name: np.asarray(to_device(array, "cpu")) for name, array in whole.items()}
