"""Scores from the log-probabilities a dump brings along: colour with no model at all."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from opd_widgets.data.mismatch import mismatch_notes
from opd_widgets.data.piece import Piece
from opd_widgets.data.scored import RolloutScores, TeacherInfo, TeacherScores
from opd_widgets.data.scores import Scores
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import InvalidInputError, MissingSignalError
from opd_widgets.measures.measured import Measured
from opd_widgets.measures.signal import SignalSettings
from opd_widgets.measures.signals import compute_signals
from opd_widgets.scoring.alone import tracks_of
from opd_widgets.scoring.prepare import check_length, check_rollouts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.protocol import Model


class Pieces(Protocol):
    """Anything that knows what a token id stands for."""

    def piece(self, token: int) -> Piece:
        """Return what one id stands for."""


def scores_from_tracks(
    rollouts: Sequence[Rollout],
    *,
    student: str = "student",
    tokenizer: Pieces | None = None,
    settings: SignalSettings | None = None,
    rescore_student: Model | None = None,
) -> Scores:
    """Return scores made of the tracks that came with the rollouts; nothing is computed by a model.

    Signals that need more than the sampled token's log-probabilities are absent, with the reason in the view. Tracks of
    unlike engines, dtypes, temperatures or modes are subtracted with a warning that names both. With `rescore_student`
    the student's side is scored anew by that model; its own track stays with the rollouts, and a note says how far the
    two are apart (`scores.student_mismatch()` has it token by token).

    Args:
        rollouts: with ids or token strings, and a track under `student`; their other tracks are teachers.
        student: the name of the student's track.
        tokenizer: to show ids as text, where a dump has ids alone.
        settings: parameters of the signals.
        rescore_student: the student as a local model, to take the place of its track; rollouts need ids then.

    Raises:
        InvalidInputError: no rollouts.
        MissingSignalError: no rollout has a track of the student's, and it is not scored anew.
        RolloutError: a rollout of text alone.

    """
    scores, unlike = of_tracks(rollouts, student, tokenizer, settings, rescore_student)
    for note in unlike:
        warnings.warn(note, stacklevel=2)
    return scores


def of_tracks(
    rollouts: Sequence[Rollout],
    student: str,
    tokenizer: Pieces | None,
    settings: SignalSettings | None,
    rescore_student: Model | None = None,
) -> tuple[Scores, tuple[str, ...]]:
    """Return scores as `scores_from_tracks` does, and those of their notes that its caller is to warn of."""
    rollouts = tuple(rollouts)
    if not rollouts:
        msg = "found an empty list of rollouts, expected at least one with log-probabilities"
        raise InvalidInputError(msg)
    given = rollouts
    if rescore_student is not None:
        given, rollouts = _rescored(rollouts, student, rescore_student)
        tokenizer = tokenizer or rescore_student.tokenizer
    if not any(student in rollout.tracks for rollout in rollouts):
        held = sorted({name for rollout in rollouts for name in rollout.tracks})
        found = f"no rollout has a track {student!r} (there are {held or 'none'})"
        msg = f"{found}; score them with opd.score, or name another"
        raise MissingSignalError(msg)
    teachers = list(dict.fromkeys(name for r in rollouts for name in r.tracks if name != student))
    settings = settings or SignalSettings()
    items = tuple(_item(rollout, student, teachers, settings) for rollout in rollouts)
    unlike = _unlike(rollouts, student, teachers)
    apart = () if rescore_student is None else mismatch_notes(given, items, student)
    scores = Scores(
        rollouts=given,
        student=student,
        teachers={name: TeacherInfo(name, name, description=_described(rollouts, name)) for name in teachers},
        items=items,
        pieces=_pieces(rollouts, tokenizer),
        questions={r.question: r.question for r in rollouts if r.question},
        settings=settings.to_dict(),
        notes=(*unlike, *(apart or (f"{student}: {_described(rollouts, student)}",))),
    )
    return scores, unlike


def _rescored(
    rollouts: tuple[Rollout, ...], student: str, model: Model
) -> tuple[tuple[Rollout, ...], tuple[Rollout, ...]]:
    """Return the rollouts with ids, as they are and with the student's track scored anew."""
    ready = check_rollouts(rollouts, model)
    for rollout in ready:
        check_length(rollout, model.name, rollout.prompt_len, model.limit)
    prompts = [np.zeros(0, np.int32) if one.prompt_ids is None else one.prompt_ids for one in ready]
    tracks = tracks_of(model, ready, prompts)
    anew = (replace(one, tracks={**one.tracks, student: own}) for one, own in zip(ready, tracks, strict=True))
    return ready, tuple(anew)


def _item(rollout: Rollout, student: str, teachers: Iterable[str], settings: SignalSettings) -> RolloutScores:
    own = _track(rollout, student)
    return RolloutScores(
        own,
        compute_signals(_measured(rollout, own, None), settings, per_teacher=False),
        {name: _teacher(rollout, own, _track(rollout, name), settings) for name in teachers},
    )


def _track(rollout: Rollout, name: str) -> LogprobTrack:
    missing = np.full(len(rollout), np.nan, np.float32)
    return rollout.tracks.get(name) or LogprobTrack(missing)


def _measured(rollout: Rollout, own: LogprobTrack, teacher: LogprobTrack | None) -> Measured:
    return Measured(
        counted=rollout.counted,
        student_logprob=own.logprobs,
        student_entropy=own.entropy,
        student_rank=_rank(own),
        student_top_ids=None if own.topk is None else own.topk.ids,
        teacher_logprob=None if teacher is None else teacher.logprobs,
        teacher_entropy=None if teacher is None else teacher.entropy,
        teacher_rank=None if teacher is None else _rank(teacher),
        teacher_top_ids=None if teacher is None or teacher.topk is None else teacher.topk.ids,
    )


def _rank(track: LogprobTrack) -> NDArray[np.float32] | None:
    return None if track.rank is None else np.where(track.rank > 0, track.rank, np.nan).astype(np.float32)


def _teacher(rollout: Rollout, own: LogprobTrack, track: LogprobTrack, settings: SignalSettings) -> TeacherScores:
    unknown = np.full((len(rollout), 0), np.nan, np.float32)
    prompt = np.zeros(0, np.int32) if rollout.prompt_ids is None else rollout.prompt_ids
    signals = compute_signals(_measured(rollout, own, track), settings, per_teacher=True)
    return TeacherScores(track, unknown, unknown, signals, prompt)


def _pieces(rollouts: Iterable[Rollout], tokenizer: Pieces | None) -> dict[int, Piece]:
    """Return what ids stand for; without a tokenizer an id is shown as a number, unless the dump has its text."""
    found: set[int] = set()
    for rollout in rollouts:
        spelled = rollout.tokens is not None or rollout.token_bytes is not None
        for ids in (rollout.prompt_ids, None if spelled and tokenizer is None else rollout.response_ids):
            found.update([] if ids is None else np.unique(ids).tolist())
    if tokenizer is None:
        return {token: Piece.from_text(f"[{token}]", special=True) for token in sorted(found)}
    return {token: tokenizer.piece(token) for token in sorted(found)}


def _described(rollouts: Iterable[Rollout], name: str) -> str:
    """Return in one line what the dump says of a track's numbers; what it does not say is "unknown"."""
    kinds = dict.fromkeys(_kind(rollout.tracks[name].provenance) for rollout in rollouts if name in rollout.tracks)
    return f"log-probabilities from the dump: {' and '.join(kinds)}"


def _kind(provenance: Provenance) -> str:
    temperature = "unknown" if provenance.temperature is None else f"{provenance.temperature:g}"
    parts = {
        "engine": provenance.engine,
        "dtype": provenance.dtype,
        "temperature": temperature,
        "raw or processed": provenance.logprob_mode,
    }
    return ", ".join(f"{name} {value}" for name, value in parts.items())


def _unlike(rollouts: Iterable[Rollout], student: str, teachers: Iterable[str]) -> tuple[str, ...]:
    notes = dict[str, None]()
    for rollout in rollouts:
        for name in teachers:
            if student in rollout.tracks and name in rollout.tracks:
                unlike = rollout.tracks[student].provenance.differences(rollout.tracks[name].provenance)
                if unlike:
                    notes[
                        f"{name} and {student} are not alike in {'; '.join(unlike)}: small differences may be that. "
                        "Score the student as the teachers are: opd.score(..., rescore_student=True), or "
                        "opd.scores_from_tracks(rollouts, rescore_student=model)"
                    ] = None
    return tuple(notes)
