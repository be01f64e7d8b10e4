"""The `live` trait: rollouts rescored under edited contexts, as the front end takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from opd_widgets.data.scores import TeacherScores
from opd_widgets.widgets._cells import PromptTable
from opd_widgets.widgets._live import Edit, LiveScoring
from opd_widgets.widgets._traits import context_row, floats, planes, top_arrays, top_buffers, vocab


def wire_live(live: LiveScoring, top_k: int) -> dict[str, Any]:
    """Return all edits; they overlay the scores, so that a late view and a saved page see the same."""
    with live.lock:
        edited, pieces = dict(live.edited), dict(live.pieces)
    every = {**live.scores.pieces, **pieces}
    table = PromptTable(every)
    entries = [_entry(live, edit, scored, table, top_k) for edit, scored in edited.items()]
    return {"entries": entries, "vocab": vocab(pieces, pieces)}


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
