"""Rollouts rescored under edited contexts, as the front end takes them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from opd_widgets.data.scores import TeacherScores
from opd_widgets.widgets._traits import context_row, planes
from opd_widgets.widgets.live.levels import size
from opd_widgets.widgets.live.scoring import Edit, LiveScoring
from opd_widgets.widgets.wire.buffers import floats
from opd_widgets.widgets.wire.cells import PromptTable
from opd_widgets.widgets.wire.top_windows import WITH_SCORES, columns_sent, top_arrays, top_buffers, top_bytes, vocab

PACE = 8 << 20  # bytes a second of an edit's values; the last word always goes out


class EditedEntries:
    """The edits of one view: an entry and a version each, made once.

    Args:
        most_top: how many bytes the likeliest tokens of all scores may take to be among them; by default as many as
            travel with the scores.

    """

    def __init__(self, most_top: float | None = None) -> None:
        self._most_top = most_top
        self._known: dict[Edit, tuple[TeacherScores, dict[str, Any]]] = {}
        self._version = 0
        self._due = 0.0

    @property
    def due(self) -> bool:
        """Whether the front end has had time to take what was sent last."""
        return time.monotonic() >= self._due

    def wire(self, live: LiveScoring) -> dict[str, Any]:
        """Return all edits, `LiveTrait` in contract.ts; those that have not changed are the same objects as before."""
        with live.lock:
            edited, pieces = dict(live.edited), dict(live.pieces)
        changed = [edit for edit, scored in edited.items() if self._scored(edit) is not scored]
        self._known = {edit: known for edit, known in self._known.items() if edit in edited}
        if changed:
            every = {**live.scores.pieces, **pieces}
            table = PromptTable(every)
            most = WITH_SCORES if self._most_top is None else self._most_top
            top_k = columns_sent(live.scores) if top_bytes(live.scores) <= most else 0
            for edit in changed:
                self._version += 1
                entry = _entry(live, edit, edited[edit], table, top_k)
                self._known[edit] = (edited[edit], {**entry, "version": self._version})
            self._due = time.monotonic() + sum(size(self._known[edit][1]) for edit in changed) / PACE
        return {"entries": [self._known[edit][1] for edit in edited], "vocab": vocab(pieces, pieces)}

    def version(self, teacher: str, rollout: int, version: int) -> TeacherScores | None:
        """Return the scores that an entry of this version was made from; None where there is another by now."""
        known = self._known.get((teacher, rollout))
        return known[0] if known is not None and known[1]["version"] == version else None

    def _scored(self, edit: Edit) -> TeacherScores | None:
        return self._known[edit][0] if edit in self._known else None


def _entry(live: LiveScoring, edit: Edit, scored: TeacherScores, table: PromptTable, top_k: int) -> dict[str, Any]:
    teacher, index = edit
    student = live.scores.rollouts[index].prompt_ids
    order = [name for name, who in planes(live.scores) if who == teacher]
    return {
        "teacher": teacher,
        "rollout": index,
        "context": context_row(scored),
        "prompt": table.row_of(scored, np.zeros(0, np.int32) if student is None else student),
        "values": floats(np.stack([scored.signals[name] for name in order])),
        "top": top_buffers(top_arrays(scored, top_k)) if top_k else None,
    }
