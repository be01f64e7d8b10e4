"""Numbers from logits, one chunk of response tokens at a time: the only place where vocabulary rows exist."""

from __future__ import annotations

from collections.abc import Iterator
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


def measure_student(logits: Array, ask: Ask) -> tuple[Distribution, Array, Columns]:
    """Return the student's distributions [n, V], its likeliest ids [n, K] (both on the device), and its columns.

    Sampled log-probability, rank and entropy use the full softmax; top-k names real tokens only. `logits` becomes the
    log-probabilities, in place.
    """
    parts, full = [], True
    probabilities = array_namespace(logits).empty_like(logits)
    for here in _row_blocks(logits):
        student = Distribution.of_logits(logits[here, :])
        logits[here, :], probabilities[here, :] = student.logp, student.p
        full = full and student.full
        parts.append(_own_columns(student, _ids(ask, logits)[here], ask.k, ask.real))
    own = _concatenate(parts)
    return Distribution(logits, probabilities, full), own["top_ids"], _numpy(own)


def measure_teacher(logits: Array, student: Distribution, student_top: Array, shared: int, ask: Ask) -> Columns:
    """Return one teacher's columns.

    Divergences are taken over the ids that both tokenizers have, renormalised there; the mass outside is reported.

    Args:
        logits: float32 [n, V_T].
        student: the student's distributions, float32 [n, V].
        student_top: its likeliest ids, int [n, K].
        shared: number of ids the two tokenizers share, counting from 0.
        ask: what to measure.

    """
    parts, place = [], device(student.logp)
    for here in _row_blocks(logits):
        mine = Distribution(student.logp[here, :], student.p[here, :], student.full)
        teacher = Distribution.of_logits(to_device(logits[here, :], place))  # two models, maybe two devices
        columns = _own_columns(teacher, _ids(ask, student.logp)[here], ask.k, shared)
        columns |= _pair_columns(mine, teacher, shared, ask.settings)
        columns["at_student_top"] = _at(teacher.logp, student_top[here, :])
        columns["student_at_top"] = _at(mine.logp, columns["top_ids"])
        parts.append(columns)
    return _numpy(_concatenate(parts))


def logprobs_at(logits: Array, ids: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return log-probabilities at ids [n, K] from logits [n, V]; NaN where an id is -1 or has no row."""
    xp = array_namespace(logits)
    wanted = xp.asarray(np.asarray(ids, np.int64), device=device(logits))
    parts = [_at(log_softmax(logits[here, :]), wanted[here, :]) for here in _row_blocks(logits)]
    return np.asarray(to_device(xp.concat(parts, axis=0), "cpu"))


def _row_blocks(logits: Array) -> Iterator[slice]:
    """Yield slices of rows; on a CPU so small that the arrays measuring makes of them stay in its cache."""
    rows = max(1, BLOCK // logits.shape[-1] if str(device(logits)) == "cpu" else logits.shape[0])
    for start in range(0, logits.shape[0], rows):
        yield slice(start, start + rows)


def _ids(ask: Ask, beside: Array) -> Array:
    return array_namespace(beside).asarray(ask.ids, device=device(beside))


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
    return {**measured, "student_outside": student_outside, "teacher_outside": teacher_outside}


def _at(logp: Array, ids: Array) -> Array:
    """Return log-probabilities at ids [n, K], NaN where the model has no such row."""
    xp = array_namespace(logp)
    known = (ids >= 0) & (ids < logp.shape[-1])
    values = take(logp, xp.where(known, ids, xp.zeros_like(ids)))
    return xp.where(known, values, xp.full_like(values, float("nan")))


def _concatenate(parts: list[dict[str, Array]]) -> dict[str, Array]:
    xp = array_namespace(parts[0]["logprob"])
    return {name: xp.concat([part[name] for part in parts], axis=0) for name in parts[0]}


def _numpy(columns: dict[str, Array]) -> Columns:
    return {name: np.asarray(to_device(array, "cpu")) for name, array in columns.items()}
