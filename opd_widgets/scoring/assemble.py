"""Measured columns of one rollout, made into its record."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scores import RolloutScores, TeacherScores
from opd_widgets.data.topk import UNUSED_ID, TopK
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.measures.measured import Measured
from opd_widgets.measures.signals import compute_signals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.signal import SignalSettings
    from opd_widgets.models.teacher import Prompt
    from opd_widgets.scoring.chunk import Columns
    from opd_widgets.scoring.prepare import Task

_PAIR = ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl", "student_outside", "teacher_outside")


@dataclass(frozen=True)
class Asked:
    """Who was asked and how: what a track says of itself."""

    student: Provenance
    teachers: Mapping[str, Provenance]
    settings: SignalSettings
    top_k: int


def assemble(task: Task, first: int, student: Columns, teachers: Mapping[str, Columns], asked: Asked) -> RolloutScores:
    """Return one rollout's record.

    Args:
        task: the rollout and its prompts.
        first: response tokens before this one were not scored and become NaN.
        student: the student's columns, one row a scored token; empty where nothing was scored.
        teachers: every teacher's.
        asked: provenance and settings.

    """
    build = _Builder(len(task.rollout), first, asked.top_k)
    counted = task.rollout.response_mask
    if counted is None:
        counted = np.ones(len(task.rollout), bool)
    own = build.track(student, asked.student, task.rollout.prompt_ids)
    student_measured: dict[str, Any] = {
        "student_logprob": own.logprobs,
        "student_entropy": own.entropy,
        "student_rank": build.column(student, "rank"),
        "student_top_ids": own.topk.ids if own.topk else None,
    }
    scored = {}
    for name, prompt in task.prompts.items():
        scored[name] = _teacher(build, teachers.get(name, {}), prompt, student_measured, counted, asked, name)
    signals = compute_signals(Measured(counted, **student_measured), asked.settings, per_teacher=False)
    return RolloutScores(own, signals, scored)


def _teacher(
    build: _Builder,
    columns: Columns,
    prompt: Prompt,
    student: Mapping[str, Any],
    counted: NDArray[np.bool_],
    asked: Asked,
    name: str,
) -> TeacherScores:
    track = build.track(columns, asked.teachers[name], prompt.ids)
    at_student_top = build.matrix(columns, "at_student_top")
    measured = Measured(
        counted,
        **student,
        **{key: build.column(columns, key) for key in _PAIR},
        teacher_logprob=track.logprobs,
        teacher_entropy=track.entropy,
        teacher_rank=build.column(columns, "rank"),
        teacher_top_ids=track.topk.ids if track.topk else None,
        teacher_at_student_top=at_student_top,
    )
    return TeacherScores(
        track=track,
        at_student_top=at_student_top,
        student_at_top=build.matrix(columns, "student_at_top"),
        signals=compute_signals(measured, asked.settings, per_teacher=True),
        prompt_ids=prompt.ids,
        context=prompt.context,
        context_tokens=prompt.context_tokens,
    )


@dataclass(frozen=True)
class _Builder:
    """Puts scored rows at their tokens; what was not scored stays missing."""

    length: int
    first: int
    top_k: int

    def column(self, columns: Columns, name: str) -> NDArray[np.float32]:
        out = np.full(self.length, np.nan, np.float32)
        if name in columns:
            out[self.first :] = columns[name]
        return out

    def matrix(self, columns: Columns, name: str, missing: float = np.nan) -> NDArray[np.float32]:
        width = columns[name].shape[1] if name in columns else self.top_k
        out = np.full((self.length, width), missing, np.float32)
        if name in columns:
            out[self.first :] = columns[name]
        return out

    def track(self, columns: Columns, provenance: Provenance, prompt: NDArray[np.int32] | None) -> LogprobTrack:
        rank = self.column(columns, "rank")
        top = TopK(self.matrix(columns, "top_ids", UNUSED_ID), self.matrix(columns, "top_logprobs"))
        return LogprobTrack(
            self.column(columns, "logprob"),
            rank=np.nan_to_num(rank, nan=0).astype(np.int32),
            entropy=self.column(columns, "entropy"),
            topk=top,
            provenance=provenance,
            context_hash=context_hash(prompt),
        )


def context_hash(prompt: NDArray[np.int32] | None) -> str:
    """Return a short name for the prompt a model saw: equal prompts, equal names."""
    ids = np.zeros(0, np.int32) if prompt is None else np.asarray(prompt, np.int32)
    return hashlib.blake2b(ids.tobytes(), digest_size=8).hexdigest()
