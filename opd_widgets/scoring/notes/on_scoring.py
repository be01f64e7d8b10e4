"""What a reader of scores must be told beside the numbers: each note is also issued as a warning where it matters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.retokenise import DIFFERS, LEFT_OUT, render_ids
from opd_widgets.scoring.notes.displaced import what_contexts_displace
from opd_widgets.scoring.notes.edges import compare_edges
from opd_widgets.scoring.notes.lacking import what_groups_lack, what_servers_lack

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.prepare import Task


def notes_on(tasks: Sequence[Task], panel: Panel, *, rescored: bool = True) -> tuple[str, ...]:
    """Return all notes on a scoring, in the order of their weight.

    Args:
        tasks: what was scored.
        panel: who scored.
        rescored: whether the student scored too; otherwise its side is the rollouts' own, which is noted elsewhere.

    """
    rollouts = [task.rollout for task in tasks]
    return (
        *(compare_provenance(panel) if rescored else ()),
        *compare_prompts(rollouts, panel),
        *what_contexts_displace(tasks, panel),
        *compare_texts(rollouts),
        *what_texts_lack(rollouts),
        *compare_edges(tasks, panel),
        *what_groups_lack(tasks, panel),
    )


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
        warnings.warn(note, stacklevel=4)
    return (*notes, *what_servers_lack(panel.scorers, panel.options.top_k))


def compare_texts(rollouts: Sequence[Rollout]) -> tuple[str, ...]:
    """Return a note, and issue it, where text made into ids does not come back: unknown characters, say."""
    places = [f"{r.id!r}: {r.metadata[DIFFERS]}" for r in rollouts if DIFFERS in r.metadata]
    if not places:
        return ()
    which = f"{len(places)} of {len(rollouts)} rollouts"
    note = f"the text of {which} does not come back from its tokens; first in {places[0]}"
    warnings.warn(note, stacklevel=4)
    return (note,)


def what_texts_lack(rollouts: Sequence[Rollout]) -> tuple[str, ...]:
    """Return a note, and issue it, where rollouts lost the tracks they came with: their text was made into ids anew."""
    left_out = [rollout.metadata[LEFT_OUT] for rollout in rollouts if LEFT_OUT in rollout.metadata]
    if not left_out:
        return ()
    names = ", ".join(map(repr, sorted({name for names in left_out for name in names})))
    note = (
        f"the log-probabilities that came with {len(left_out)} of {len(rollouts)} rollouts ({names}) are left out: "
        "they came without token ids, their text was made into ids anew, and those tokens may be others"
    )
    warnings.warn(note, stacklevel=4)
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
    warnings.warn(note, stacklevel=4)
    return (note,)
