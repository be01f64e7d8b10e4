"""Numbers from logits, one chunk of response tokens at a time: the only place where vocabulary rows exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device, to_device

from opd_widgets.measures import divergence
from opd_widgets.measures.ranking import rank_of, take, top_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.signal import SignalSettings

Array = Any
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


def measure_student(logits: Array, ask: Ask) -> tuple[Array, Array, Columns]:
    """Return the student's log-probabilities [n, V], its likeliest ids [n, K] (both on the device), and its columns.

    Sampled log-probability, rank and entropy use the full softmax; top-k names real tokens only.
    """
    logp = divergence.log_softmax(logits)
    own = _own_columns(logp, _ids(ask, logits), ask.k, ask.real)
    return logp, own["top_ids"], _numpy(own)


def measure_teacher(logits: Array, student: Array, student_top: Array, shared: int, ask: Ask) -> Columns:
    """Return one teacher's columns.

    Divergences are taken over the ids that both tokenizers have, renormalised there; the mass outside is reported.

    Args:
        logits: float32 [n, V_T].
        student: the student's log-probabilities, float32 [n, V].
        student_top: its likeliest ids, int [n, K].
        shared: number of ids the two tokenizers share, counting from 0.
        ask: what to measure.

    """
    teacher = divergence.log_softmax(to_device(logits, device(student)))  # the two models may live on two devices
    columns = _own_columns(teacher, _ids(ask, student), ask.k, shared)
    columns |= _pair_columns(student, teacher, shared, ask.settings)
    columns["at_student_top"] = _at(teacher, student_top)
    columns["student_at_top"] = _at(student, columns["top_ids"])
    return _numpy(columns)


def _ids(ask: Ask, beside: Array) -> Array:
    return array_namespace(beside).asarray(ask.ids, device=device(beside))


def _own_columns(logp: Array, ids: Array, k: int, real: int) -> dict[str, Array]:
    values, top = top_k(logp[:, :real], k)
    return {
        "logprob": take(logp, ids[:, None])[:, 0],
        "rank": rank_of(logp, ids),
        "entropy": divergence.entropy(logp),
        "top_ids": top,
        "top_logprobs": values,
    }


def _pair_columns(student: Array, teacher: Array, shared: int, settings: SignalSettings) -> dict[str, Array]:
    xp = array_namespace(student)
    s, s_mass = divergence.renormalise(student[:, :shared])
    t, t_mass = divergence.renormalise(teacher[:, :shared])
    return {
        "reverse_kl": divergence.reverse_kl(s, t),
        "forward_kl": divergence.forward_kl(s, t),
        "jsd": divergence.jsd(s, t, settings.beta),
        "skew_reverse_kl": divergence.skew_reverse_kl(s, t, settings.skew),
        "clipped_kl": divergence.clipped_kl(t, s, settings.clip),
        "student_outside": xp.clip(-xp.expm1(s_mass), 0.0, 1.0),
        "teacher_outside": xp.clip(-xp.expm1(t_mass), 0.0, 1.0),
    }


def _at(logp: Array, ids: Array) -> Array:
    """Return log-probabilities at ids [n, K], NaN where the model has no such row."""
    xp = array_namespace(logp)
    width = logp.shape[-1]
    known = ids < width
    values = take(logp, xp.where(known, ids, xp.zeros_like(ids)))
    return xp.where(known, values, xp.full_like(values, float("nan")))


def _numpy(columns: dict[str, Array]) -> Columns:
    return {name: np.asarray(to_device(array, "cpu")) for name, array in columns.items()}
