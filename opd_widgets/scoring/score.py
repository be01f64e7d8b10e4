"""Score rollouts under several teachers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm  # as text: a notebook's bar leaves a widget behind that is gone when the page is reloaded

from opd_widgets.data.retokenise import DIFFERS, render_ids
from opd_widgets.data.scores import RolloutScores, Scores
from opd_widgets.scoring.batch import Checkpoint, score_batch
from opd_widgets.scoring.noise import noise_bands
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.plan import plan_batches
from opd_widgets.scoring.prepare import Task, check_rollouts, make_task
from opd_widgets.scoring.served import what_servers_lack

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
) -> Scores:
    """Score rollouts: every signal of tiers L1 to L3, for every teacher, at every response token.

    Args:
        rollouts: what the student wrote. Text without ids is tokenised here and marked "retokenised".
        student: who wrote it.
        teachers: by name; may be empty for the student's own signals.
        options: sizes and signal parameters; see `Options`.
        noise_rollouts: how many rollouts are scored a second time, at another batch size and padding, to measure the
            noise band; 0 leaves it unmeasured.
        progress: whether to draw a progress bar.

    Returns:
        Scores in the order given. Log-probabilities in nats; NaN where there is no value.

    Raises:
        InvalidInputError: no rollouts, or arguments of the wrong kind.
        RolloutError: an id outside the student's vocabulary.
        TokenizerMismatchError: a teacher numbers tokens differently.
        ContextError: a context has no text for a rollout.
        LengthLimitError: a prompt and response are longer than a model takes. Nothing is cut.

    Example:
        >>> lab = opd.demo()
        >>> scores = opd.score(lab.rollouts, lab.student, lab.teachers)
        >>> scores.to_pandas().groupby("teacher")["advantage"].mean()  # doctest: +SKIP

    """
    panel = Panel.of(student, teachers, options)
    ready = check_rollouts(rollouts, student)
    tasks = [make_task(rollout, panel) for rollout in ready]
    items: list[RolloutScores | None] = [None] * len(tasks)
    total = sum(len(rollout) for rollout in ready)
    with tqdm(total=total, desc="scoring", unit="tok", disable=not progress, leave=False) as bar:
        for index, item in iterate(tasks, panel):
            items[index] = item
            bar.update(len(ready[index]))
    done = tuple(item for item in items if item is not None)
    return Scores(
        rollouts=ready,
        student=student.name,
        teachers={name: teacher.info(name, student) for name, teacher in panel.teachers.items()},
        items=done,
        pieces=pieces_of(ready, done, student),
        questions={rollout.question: rollout.asked for rollout in ready if rollout.question},
        noise=_noise(tasks, done, panel, noise_rollouts),
        settings=panel.options.to_dict(),
        notes=(*compare_provenance(panel), *compare_prompts(ready, panel), *compare_texts(ready)),
    )


def iterate(
    tasks: Sequence[Task], panel: Panel, checkpoint: Checkpoint = lambda: None
) -> Iterator[tuple[int, RolloutScores]]:
    """Yield (index, scores) as batches end; `checkpoint` is called between steps and may raise to stop."""
    lengths = [task.length for task in tasks]
    for batch in plan_batches(lengths, panel.options.batch_tokens, panel.options.batch_rows):
        found = score_batch([tasks[i] for i in batch], panel, checkpoint)
        yield from zip(batch, found, strict=True)


def _noise(tasks: Sequence[Task], done: Sequence[RolloutScores], panel: Panel, count: int) -> dict[str, float]:
    """Score a few rollouts of spread lengths again, in other company and filled up on the other side, and compare.

    Each is scored beside a companion one token longer than any of them, so that batch size and padding both change.
    """
    by_length = sorted((i for i, task in enumerate(tasks) if len(task.rollout)), key=lambda i: tasks[i].length)
    companion = _longer(tasks[by_length[-1]], panel) if by_length and count >= 1 else None
    if companion is None:
        return {}
    picked = [by_length[i] for i in np.unique(np.linspace(0, len(by_length) - 1, count).round().astype(int))]
    side: Padding = "left" if panel.options.padding == "right" else "right"
    other = replace(panel, options=replace(panel.options, padding=side))
    again = [score_batch([tasks[i], companion, companion], other)[0] for i in picked]
    counted = [tasks[i].rollout.counted for i in picked]
    return noise_bands([done[i] for i in picked], again, counted)


def _longer(task: Task, panel: Panel) -> Task | None:
    """Return the task with one more token; None where a model takes no longer one, and the noise stays unmeasured."""
    rollout = task.rollout
    limits = [model.limit for model in (panel.student, *(t.model for t in panel.teachers.values()))]
    if rollout.response_ids is None or any(limit is not None and task.length + 1 > limit for limit in limits):
        return None
    ids = np.append(rollout.response_ids, rollout.response_ids[-1])
    return replace(task, rollout=replace(rollout, response_ids=ids, response_mask=None, tokens=None, tracks={}))


def pieces_of(rollouts: Sequence[Rollout], items: Sequence[RolloutScores], student: Model) -> dict[int, Piece]:
    """Return what every id in prompts, responses and top-k stands for."""
    found: set[int] = set()
    for rollout, item in zip(rollouts, items, strict=True):
        found.update(np.unique(rollout.token_ids).tolist())
        found.update(top_ids(item))
    return {token: student.tokenizer.piece(token) for token in sorted(found) if token >= 0}


def top_ids(item: RolloutScores) -> set[int]:
    """Return every id in a rollout's top-k and in its teachers' prompts."""
    tracks = [item.student, *(teacher.track for teacher in item.teachers.values())]
    arrays = [track.topk.ids for track in tracks if track.topk is not None]
    arrays += [teacher.prompt_ids for teacher in item.teachers.values()]
    return set(np.unique(np.concatenate([array.ravel() for array in arrays])).tolist()) if arrays else set()


def compare_provenance(panel: Panel) -> tuple[str, ...]:
    """Return a warning a teacher whose log-probabilities come from another kind of computation, and issue it.

    What a teacher behind a server cannot say is noted without a warning.
    """
    notes = []
    for name, teacher in panel.teachers.items():
        unlike = panel.student.provenance.differences(teacher.model.provenance)
        if unlike:
            notes.append(f"{name} and the student are not alike in {'; '.join(unlike)}: small differences may be that")
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return (*notes, *what_servers_lack(panel.scorers, panel.options.top_k))


def compare_texts(rollouts: Sequence[Rollout]) -> tuple[str, ...]:
    """Return a note, and issue it, where text made into ids does not come back: unknown characters, say."""
    places = [f"{r.id!r}: {r.metadata[DIFFERS]}" for r in rollouts if DIFFERS in r.metadata]
    if not places:
        return ()
    which = f"{len(places)} of {len(rollouts)} rollouts"
    note = f"the text of {which} does not come back from its tokens; first in {places[0]}"
    warnings.warn(note, stacklevel=3)
    return (note,)


def compare_prompts(rollouts: Sequence[Rollout], panel: Panel) -> tuple[str, ...]:
    """Return a note, and issue it, where a context teacher's prompt differs from the student's in more than that.

    A context is put into the messages and rendered anew. If the student was asked through other template arguments, or
    with turns that are not in the messages, that difference would be taken for the teacher's advice.
    """
    if all(teacher.context is None for teacher in panel.teachers.values()):
        return ()
    seen: dict[bytes, bool] = {}
    for rollout in rollouts:
        if rollout.messages is not None and rollout.prompt_ids is not None:
            key = rollout.prompt_ids.tobytes()
            if key not in seen:
                made = render_ids(rollout.messages, panel.student.tokenizer, {})
                seen[key] = bool(np.array_equal(made, rollout.prompt_ids))
    unlike = sum(not same for same in seen.values())
    if not unlike:
        return ()
    note = (
        f"{unlike} of {len(seen)} prompts are not what the student's chat template makes of their messages, so a "
        "context teacher's prompt differs from the student's in more than the context. Give the teachers the "
        "chat_template_kwargs the student was sampled with, or the messages as they were"
    )
    warnings.warn(note, stacklevel=3)
    return (note,)
