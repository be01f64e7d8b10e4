"""Measured columns of one rollout, made into its record."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scores import RolloutScores, TeacherScores
from opd_widgets.data.topk import UNUSED_ID, TopK
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.measures.measured import Measured
from opd_widgets.measures.signals import compute_signals
from opd_widgets.scoring.cross import group_sums
from opd_widgets.scoring.panel import STUDENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.signal import SignalSettings
    from opd_widgets.scoring.chunk import Columns
    from opd_widgets.scoring.prepare import Task

_PAIR = ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl", "clipped_kl", "student_outside", "teacher_outside")


@dataclass(frozen=True)
class Asked:
    """Who was asked and how: what a track says of itself.

    Args:
        student: of the student's track.
        teachers: of the teachers' tracks, by name.
        settings: parameters of the signals.
        top_k: how many of the likeliest tokens.
        scorers: teachers that give no full distribution, by name.

    """

    student: Provenance
    teachers: Mapping[str, Provenance]
    settings: SignalSettings
    top_k: int
    scorers: frozenset[str] = frozenset()


def assemble(
    task: Task, first: int, columns: Mapping[str, Columns], asked: Asked, *, whole: bool = True
) -> RolloutScores:
    """Return one rollout's record.

    Args:
        task: the rollout and its prompts.
        first: response tokens before this one were not scored and become NaN.
        columns: by teacher name and `STUDENT`, one row a scored token; empty where nothing was scored.
        asked: provenance and settings.
        whole: whether the columns go to the response's end.

    """
    build = Builder(len(task.rollout), first, asked.top_k)
    student = columns.get(STUDENT, {})
    own = build.track(student, asked.student, task.rollout.prompt_ids)
    measured = Measured(
        counted=task.rollout.counted,
        student_logprob=own.logprobs,
        student_entropy=own.entropy,
        student_rank=build.column(student, "rank"),
        student_top_ids=own.topk.ids if own.topk is not None else None,
    )
    scored = {}
    for name, prompt in task.prompts.items():
        theirs = columns.get(name, {})
        if name in task.respelled:
            scored[name] = _in_groups(task, name, build, group_sums(task.respelled[name].alignment, theirs, own), asked)
            continue
        complete = name not in asked.scorers
        track = build.track(theirs, asked.teachers[name], prompt.ids, entropy=complete)
        both = replace(measured, **_own(build, theirs, track, _PAIR if complete else ()))
        scored[name] = TeacherScores(
            track=track,
            at_student_top=build.matrix(theirs, "at_student_top"),
            student_at_top=build.matrix(theirs, "student_at_top"),
            signals=compute_signals(both, asked.settings, per_teacher=True, whole=whole),
            prompt_ids=prompt.ids,
            context=prompt.context,
            context_tokens=prompt.context_tokens,
            leaks_answer=prompt.leaks_answer,
        )
    signals = compute_signals(measured, asked.settings, per_teacher=False, whole=whole)
    return RolloutScores(own, signals, scored)


def _in_groups(task: Task, name: str, build: Builder, both: Columns, asked: Asked) -> TeacherScores:
    """Return the record of a teacher of another tokenizer: only sums over groups of equal text compare."""
    prompt, respelled = task.prompts[name], task.respelled[name]
    track = LogprobTrack(
        both["logprob"],
        topk=build.top({}),
        censored=both["censored"],
        provenance=asked.teachers[name],
        context_hash=context_hash(prompt.ids),
    )
    measured = Measured(task.rollout.counted, both["student_logprob"], track.logprobs)
    return TeacherScores(
        track=track,
        at_student_top=build.matrix({}, "at_student_top"),
        student_at_top=build.matrix({}, "student_at_top"),
        signals=compute_signals(measured, asked.settings, per_teacher=True),
        prompt_ids=prompt.ids,
        context=prompt.context,
        context_tokens=prompt.context_tokens,
        leaks_answer=prompt.leaks_answer,
        groups=respelled.alignment.student,
        own=respelled.own_tokens(prompt.ids),
    )


def _own(build: Builder, columns: Columns, track: LogprobTrack, pair: tuple[str, ...]) -> dict[str, Any]:
    """Return what one teacher adds to the measurements."""
    return {
        **{name: build.column(columns, name) for name in pair},
        "teacher_logprob": track.logprobs,
        "teacher_entropy": track.entropy,
        "teacher_rank": build.column(columns, "rank"),
        "teacher_top_ids": track.topk.ids if track.topk is not None else None,
        "teacher_at_student_top": build.matrix(columns, "at_student_top"),
    }


@dataclass(frozen=True)
class Builder:
    """Puts scored rows at their tokens; what was not scored stays missing.

    Args:
        length: tokens of the response.
        first: those before this one were not scored.
        top_k: columns of a top-k that is not there.

    """

    length: int
    first: int
    top_k: int

    def column(self, columns: Columns, name: str) -> NDArray[np.float32]:
        """Return a measurement along the response: float32 [R]."""
        out = np.full(self.length, np.nan, np.float32)
        if name in columns:
            out[self.first :] = columns[name]
        return out

    def matrix(self, columns: Columns, name: str) -> NDArray[np.float32]:
        """Return a measurement of several columns: float32 [R, K]."""
        width = columns[name].shape[1] if name in columns else self.top_k
        out = np.full((self.length, width), np.nan, np.float32)
        if name in columns:
            out[self.first :] = columns[name]
        return out

    def top(self, columns: Columns) -> TopK:
        """Return the likeliest tokens along the response."""
        logprobs = self.matrix(columns, "top_logprobs")
        ids = np.full(logprobs.shape, UNUSED_ID, np.int32)
        if "top_ids" in columns:
            ids[self.first :] = columns["top_ids"]
        return TopK(ids, logprobs)

    def track(
        self, columns: Columns, provenance: Provenance, prompt: NDArray[np.int32] | None, *, entropy: bool = True
    ) -> LogprobTrack:
        """Return a model's track; without `entropy` where it gives no full distribution."""
        censored = np.zeros(self.length, bool)
        censored[self.first :] = columns.get("censored", False)
        rank = self.column(columns, "rank")
        return LogprobTrack(
            self.column(columns, "logprob"),
            rank=np.nan_to_num(rank, nan=0).astype(np.int32),
            entropy=self.column(columns, "entropy") if entropy else None,
            topk=self.top(columns),
            censored=censored,
            provenance=provenance,
            context_hash=context_hash(prompt),
        )


def context_hash(prompt: NDArray[np.int32] | None) -> str:
    """Return a short name for the prompt a model saw: equal prompts, equal names."""
    ids = np.zeros(0, np.int32) if prompt is None else np.asarray(prompt, np.int32)
    return hashlib.blake2b(ids.tobytes(), digest_size=8).hexdigest()
