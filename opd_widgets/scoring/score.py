"""Score rollouts under several teachers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm  # as text: a notebook's bar leaves a widget behind that is gone when the page is reloaded

from opd_widgets.data.mismatch import mismatch_notes
from opd_widgets.data.scores import RolloutScores, Scores
from opd_widgets.scoring.batch import score_batch
from opd_widgets.scoring.beside_tracks import score_beside_tracks
from opd_widgets.scoring.local import Checkpoint
from opd_widgets.scoring.noise import noise_bands, spread
from opd_widgets.scoring.notes.lacking import what_lies_outside
from opd_widgets.scoring.notes.on_scoring import notes_on
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.plan import plan_batches
from opd_widgets.scoring.prepare import Task, check_rollouts, make_task, respelled_by
from opd_widgets.scoring.session import Session

if TYPE_CHECKING:
    from opd_widgets.data.piece import Piece
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.protocol import Model, Padding
    from opd_widgets.models.teacher import Teacher


def score(
    rollouts: Sequence[Rollout],
    student: Model,
    teachers: Mapping[str, Teacher],
    *,
    options: Options | None = None,
    noise_rollouts: int = 8,
    progress: bool = True,
    rescore_student: bool = True,
) -> Scores:
    """Score rollouts: every signal of tiers L1 to L3, for every teacher, at every response token.

    Rollouts read from a dump may bring the student's own log-probabilities along, as a track "student" of another
    engine. By default the student is scored anew, by the engine the teachers are scored by; the track stays with the
    rollouts, enters no signal, and a note says how far it is off (`scores.student_mismatch()` has it token by token).
    With `rescore_student=False` that track is the student's side and the student makes no forward pass.

    Args:
        rollouts: what the student wrote. Text without ids is tokenised here and marked "retokenised".
        student: who wrote it.
        teachers: by name; may be empty for the student's own signals. One of another tokenizer reads the same text in
            its own tokens and is compared group by group; see `TeacherScores.groups`.
        options: sizes and signal parameters; see `Options`.
        noise_rollouts: how many rollouts are scored a second time, at another batch size and padding, to measure the
            noise band; 0 leaves it unmeasured.
        progress: whether to draw a progress bar.
        rescore_student: False takes the rollouts' own track "student" instead, for signals that need the sampled token
            alone: those of whole distributions are absent then, the noise band is unmeasured, and a teacher of another
            engine, dtype, temperature or mode is warned of.

    Returns:
        Scores in the order given. Log-probabilities in nats; NaN where there is no value.

    Raises:
        InvalidInputError: no rollouts, or arguments of the wrong kind; with `rescore_student=False`, a rollout without
            the track "student" or a teacher of another tokenizer.
        RolloutError: an id outside the student's vocabulary.
        ContextError: a context has no text for a rollout.
        LengthLimitError: a prompt and response are longer than a model takes. Nothing is cut.

    Example:
        >>> lab = opd.demo()
        >>> scores = opd.score(lab.rollouts, lab.student, lab.teachers)
        >>> scores.to_pandas().groupby("teacher")["advantage"].mean()  # doctest: +SKIP

    """
    panel = Panel.of(student, teachers, options)
    ready = check_rollouts(rollouts, student)
    panel = panel.reading(ready)
    tasks = [make_task(rollout, panel) for rollout in ready]
    items: list[RolloutScores | None] = [None] * len(tasks)
    total = sum(len(rollout) for rollout in ready)
    if not rescore_student:
        with tqdm(
            total=total * len(panel.teachers), desc="scoring", unit="tok", disable=not progress, leave=False
        ) as bar:
            beside = score_beside_tracks(tasks, panel, bar.update)
        panel.forget()
        notes = (*beside.notes, *notes_on(tasks, panel, rescored=False))
        return replace(beside, pieces=pieces_of(ready, beside.items, student), notes=notes)
    with tqdm(total=total, desc="scoring", unit="tok", disable=not progress, leave=False) as bar:
        for index, item in iterate(tasks, panel):
            items[index] = item
            bar.update(len(ready[index]))
    done = tuple(item for item in items if item is not None)
    scores = Scores(
        rollouts=ready,
        student=student.name,
        teachers={name: teacher.info(name, student) for name, teacher in panel.teachers.items()},
        items=done,
        pieces=pieces_of(ready, done, student),
        questions={rollout.question: rollout.asked for rollout in ready if rollout.question},
        noise=_noise(tasks, done, panel, noise_rollouts),
        settings=panel.options.to_dict(),
        notes=(*notes_on(tasks, panel), *mismatch_notes(ready, done), *what_lies_outside(done, [*panel.teachers])),
    )
    panel.forget()
    return scores


def iterate(
    tasks: Sequence[Task],
    panel: Panel,
    checkpoint: Checkpoint = lambda: None,
    session: Session | None = None,
) -> Iterator[tuple[int, RolloutScores]]:
    """Yield (index, scores) as batches end.

    Args:
        tasks: what to score.
        panel: who scores.
        checkpoint: called between steps; may raise to stop.
        session: what the scoring remembers; a new one if there is none.

    """
    session = session or Session()
    for batch in plan_batches([task.size for task in tasks], panel.options.batch_tokens, panel.options.batch_rows):
        found = score_batch([tasks[i] for i in batch], panel, checkpoint, session)
        yield from zip(batch, found, strict=True)


def _noise(tasks: Sequence[Task], done: Sequence[RolloutScores], panel: Panel, count: int) -> dict[str, float]:
    """Score a few rollouts of spread lengths again, in other company and filled up on the other side, and compare.

    Each is scored beside a companion one token longer than any of them, so that batch size and padding both change.
    """
    picked = spread(tasks, count)
    companion = _longer(tasks[picked[-1]], panel) if picked else None
    if companion is None:
        return {}
    side: Padding = "left" if panel.options.padding == "right" else "right"
    other = replace(panel, options=replace(panel.options, padding=side), answers=None)
    again = [score_batch([tasks[i], companion, companion], other)[0] for i in picked]
    counted = [tasks[i].rollout.counted for i in picked]
    return noise_bands([done[i] for i in picked], again, counted)


def _longer(task: Task, panel: Panel) -> Task | None:
    """Return the task with one more token; None where a model takes no longer one, and the noise stays unmeasured."""
    rollout = task.rollout
    limits = [model.limit for model in (panel.student, *(t.model for t in panel.teachers.values()))]
    if rollout.response_ids is None:
        return None
    ids = np.append(rollout.response_ids, rollout.response_ids[-1])
    rollout = replace(rollout, response_ids=ids, response_mask=None, tokens=None, token_bytes=None, tracks={})
    longer = replace(task, rollout=rollout, respelled=respelled_by(rollout, panel))
    return None if any(limit is not None and longer.length > limit for limit in limits) else longer


def pieces_of(rollouts: Sequence[Rollout], items: Sequence[RolloutScores], student: Model) -> dict[int, Piece]:
    """Return what every id in prompts, responses and top-k stands for."""
    found: set[int] = set()
    for rollout, item in zip(rollouts, items, strict=True):
        found.update(np.unique(rollout.token_ids).tolist())
        found.update(top_ids(item))
    return {token: student.tokenizer.piece(token) for token in sorted(found) if token >= 0}


def top_ids(item: RolloutScores) -> set[int]:
    """Return every id of the student's tokenizer in a rollout's top-k and in its teachers' prompts."""
    tracks = [item.student, *(teacher.track for teacher in item.teachers.values())]
    arrays = [track.topk.ids for track in tracks if track.topk is not None]
    arrays += [teacher.prompt_ids for teacher in item.teachers.values() if teacher.own is None]
    return set(np.unique(np.concatenate([array.ravel() for array in arrays])).tolist()) if arrays else set()
