"""Numbers from logits as in the module `chunk`, the vocabulary-long sums put into few passes by PyTorch's compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from array_api_compat import array_namespace, device, to_device

from opd_widgets.measures import fused
from opd_widgets.measures.distribution import Array
from opd_widgets.measures.ranking import rank_of, top_k
from opd_widgets.models.torch_compile import compiled
from opd_widgets.scoring.chunk import Ask, Columns, Theirs, at_ids, joined, no_less_than_zero


def measure_fused(student: Array, teachers: Mapping[str, Theirs], ask: Ask) -> tuple[Columns, dict[str, Columns]]:
    """Return what `chunk.measure` returns, from logits that are torch tensors."""
    ids = array_namespace(student).asarray(ask.ids, device=device(student))
    mine = _Side.of(student)
    own = _own_columns(mine, ids, ask.k, ask.real)
    others = {}
    for name, theirs in teachers.items():
        teacher = _Side.of(to_device(theirs.logits, device(student)))
        columns = _own_columns(teacher, ids, ask.k, theirs.shared)
        columns |= _pair_columns(mine, teacher, theirs.shared, ask)
        columns["at_student_top"] = teacher.at(own["top_ids"])
        columns["student_at_top"] = mine.at(columns["top_ids"])
        others[name] = joined([columns])
    return joined([own]), others


@dataclass(frozen=True, eq=False)
class _Side:
    """Logits [n, V] and what makes them log-probabilities."""

    logits: Array
    largest: Array
    log_total: Array

    @classmethod
    def of(cls, logits: Array) -> _Side:
        return cls(logits, *compiled(fused.normaliser)(logits))

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        return self.logits, self.largest, self.log_total

    def at(self, ids: Array) -> Array:
        return (at_ids(self.logits, ids) - self.largest) - self.log_total

    def first(self, n: int) -> tuple[_Side, Array]:
        """Return the side over the first n tokens, renormalised, and the probability of the rest [n]."""
        xp = array_namespace(self.logits)
        if n >= self.logits.shape[-1]:
            return self, xp.zeros_like(self.largest[:, 0])
        kept = _Side.of(self.logits[:, :n])
        share = xp.exp((kept.largest - self.largest) + (kept.log_total - self.log_total))
        return kept, xp.clip(1 - share[:, 0], 0.0, 1.0)


def _own_columns(side: _Side, ids: Array, k: int, real: int) -> dict[str, Array]:
    values, top = top_k(side.logits[:, :real], k)
    return {
        "logprob": side.at(ids[:, None])[:, 0],
        "rank": rank_of(side.logits, ids, values, among=real),
        "entropy": compiled(fused.entropy)(*side.parts),
        "top_ids": top,
        "top_logprobs": (values - side.largest) - side.log_total,
    }


def _pair_columns(student: _Side, teacher: _Side, shared: int, ask: Ask) -> dict[str, Array]:
    s, student_outside = student.first(shared)
    t, teacher_outside = teacher.first(shared)
    settings = ask.settings
    found = compiled(fused.pair)(s.parts, t.parts, beta=settings.beta, skew=settings.skew, clip=settings.clip)
    return {
        **no_less_than_zero(dict(zip(fused.PAIR, found, strict=True))),
        "student_outside": student_outside,
        "teacher_outside": teacher_outside,
    }
