"""A note where a context does more than add to a prompt."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from opd_widgets.models.displaced import displaced_by_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.prepare import Task

_SHOWN = 60  # characters


def what_contexts_displace(tasks: Sequence[Task], panel: Panel) -> tuple[str, ...]:
    """Return a note a teacher, and issue it, where its context takes the place of something its template would write.

    What the teacher then says is not the work of the context alone. One rollout of each question is looked at.
    """
    of_question = {task.rollout.group: task for task in tasks}
    notes = []
    for name, teacher in panel.teachers.items():
        for task in of_question.values():
            text = task.prompts[name].context
            lost = "" if text is None else displaced_by_context(teacher, task.rollout, text).strip()
            if lost:
                shown = lost if len(lost) <= _SHOWN else lost[: _SHOWN - 1] + "…"
                notes.append(
                    f"{name}: its context takes the place of {shown!r}, which the chat template writes without it (in "
                    f"the prompt of rollout {task.rollout.id!r}, say). Put that into the context or the messages, or "
                    "use placement='user', to change nothing else"
                )
                break
    for note in notes:
        warnings.warn(note, stacklevel=4)
    return tuple(notes)
