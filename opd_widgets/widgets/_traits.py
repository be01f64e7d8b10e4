"""The `scores` trait: validator and serializer in one.

The front end's half of this contract is `js/src/model/contract.ts`. Numbers travel as little-endian buffers: JSON would
turn NaN and infinities into strings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from opd_widgets.data.piece import Piece
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scores import RolloutScores, Scores, TeacherScores
from opd_widgets.data.tokens import SPECIAL
from opd_widgets.measures.signals import REGISTRY
from opd_widgets.widgets.wire.buffers import UNUSED, in_place
from opd_widgets.widgets.wire.cell_table import CellTable
from opd_widgets.widgets.wire.cells import LABEL_READS, PromptTable, one_line
from opd_widgets.widgets.wire.scale import signal_rows
from opd_widgets.widgets.wire.top_windows import WITH_SCORES, columns_sent, look, top_bytes, vocab, whole_top

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1


class ScoresTrait(traitlets.Instance):  # type: ignore[type-arg]
    """Holds `Scores`; the browser receives them as `ScoresTrait` in contract.ts."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(Scores, **kwargs)
        self.tag(to_json=lambda value, widget: wire_scores(value, widget.editable(value), widget.generation))


def planes(scores: Scores) -> list[tuple[str, str | None]]:
    """Return the row order of the value buffer: (signal, teacher), the student's own with None."""
    if not scores.items:
        return []
    first = scores.items[0]
    own: list[tuple[str, str | None]] = [(name, None) for name in REGISTRY if name in first.signals]
    return own + [(name, teacher) for teacher in scores.teachers for name in teacher_signals(first.teachers[teacher])]


def teacher_signals(scored: TeacherScores) -> list[str]:
    """Return a teacher's signals in registry order."""
    return [name for name in REGISTRY if name in scored.signals]


def wire_scores(
    scores: Scores,
    editable: Iterable[str] = (),
    generation: int = 1,
    *,
    most_top: float = WITH_SCORES,
    otherwise: str = "on_request",
) -> dict[str, Any]:
    """Return scores as the front end takes them.

    Args:
        scores: what to show.
        editable: names of teachers whose context can be edited.
        generation: which run of scores of its widget this is.
        most_top: how many bytes the likeliest tokens may take to be among them.
        otherwise: what becomes of them beyond: "on_request" or "left_out".

    """
    tables = prompts, cells = PromptTable(scores.pieces), CellTable(scores.pieces)
    rollouts, offset = [], 0
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        rollouts.append(_rollout(rollout, item, offset, scores, tables))
        offset += len(rollout)
    order = planes(scores)
    top_k = columns_sent(scores)
    sent = top_bytes(scores) <= most_top
    meta = {
        "version": VERSION,
        "generation": generation,
        "student": scores.student,
        "teachers": _teachers(scores, frozenset(editable)),
        "signals": signal_rows(scores),
        "rollouts": rollouts,
        "looks": cells.looks(),
        "prompts": prompts.rows,
        "vocab": vocab(scores.pieces, scores.pieces) if sent else {},
        "tokens": offset,
        "planes": [{"signal": name, "teacher": teacher} for name, teacher in order],
        "top_k": top_k,
        "top_source": "sent" if sent else otherwise,
        "notes": list(scores.notes),
    }
    buffers = _buffers(scores, order, offset)
    return {"meta": meta, "cells": cells.buffer(), **buffers, **whole_top(scores, top_k if sent else 0)}


def _teachers(scores: Scores, editable: frozenset[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "kind": info.kind,
            "description": info.description,
            "editable": name in editable,
            "limit": info.limit,
            "arguments": [one_line(f"{key}={value!r}") for key, value in info.chat_template_kwargs.items()],
        }
        for name, info in scores.teachers.items()
    ]


def _rollout(
    rollout: Rollout, item: RolloutScores, offset: int, scores: Scores, tables: tuple[PromptTable, CellTable]
) -> dict[str, Any]:
    prompts, table = tables
    cells = table.cells(rollout)
    student = rollout.prompt_ids if rollout.prompt_ids is not None else np.zeros(0, np.int32)
    title = rollout.asked or rollout.prompt_text or scores.questions.get(rollout.question) or rollout.group
    return {
        "id": rollout.id,
        "question": rollout.group,
        "title": one_line(title),
        "label": _label(table.beginning(cells, LABEL_READS)),
        "outcome": rollout.outcome,
        "status": rollout.status,
        "reward": rollout.reward if isinstance(rollout.reward, int | float) and np.isfinite(rollout.reward) else None,
        "step": rollout.step,
        "text_source": rollout.text_source,
        "offset": offset,
        "length": len(rollout),
        "cells": table.keep(cells),
        "prompt": prompts.add(student, student),
        "teacher_prompts": {name: prompts.add_of(t, student) for name, t in item.teachers.items()},
        "other_tokens": {name: _other_tokens(t) for name, t in item.teachers.items() if t.own is not None},
        "other_lengths": {name: len(t.own.ids) for name, t in item.teachers.items() if t.own is not None},
        "contexts": {name: context_row(t) for name, t in item.teachers.items() if t.context is not None},
    }


def _label(looks: Iterable[tuple[str, str]]) -> str:
    """Return a response in short: one line, with a space where a special token stood."""
    return one_line("".join(" " if kind == SPECIAL else text for text, kind in looks))


def _other_tokens(scored: TeacherScores) -> list[list[str]]:
    shown: dict[Piece, str] = {}
    groups = [] if scored.own is None else scored.own.by_group()
    return [[shown.get(piece) or shown.setdefault(piece, look(piece)[0]) for piece in group] for group in groups]


def context_row(scored: TeacherScores) -> dict[str, Any]:
    """Return a teacher's privileged context as the front end takes it."""
    return {"text": scored.context or "", "tokens": scored.context_tokens, "leaks": scored.leaks_answer}


def _buffers(scores: Scores, order: list[tuple[str, str | None]], tokens: int) -> dict[str, Any]:
    ids = [_ids(rollout) for rollout in scores.rollouts]
    return {
        "values": in_place(_values(scores, order, tokens)),
        "mask": _mask(scores),
        "token_ids": in_place(np.concatenate(ids or [np.zeros(0, np.uint32)]).astype("<u4", copy=False)),
        "groups": {name: _groups(scores.items, name) for name in _foreign(scores)},
    }


def _values(scores: Scores, order: list[tuple[str, str | None]], tokens: int) -> NDArray[np.float32]:
    """Return float32 [planes, tokens], written once: the values of a large run are most of what travels."""
    values = np.empty((len(order), tokens), "<f4")
    for row, (name, teacher) in enumerate(order):
        sources = (item.signals if teacher is None else item.teachers[teacher].signals for item in scores.items)
        np.concatenate([source[name] for source in sources], out=values[row])
    return values


def _mask(scores: Scores) -> bytes | None:
    """Return which tokens count, uint8; nothing where all do."""
    masks = [rollout.counted for rollout in scores.rollouts]
    return None if all(mask.all() for mask in masks) else np.concatenate(masks).astype(np.uint8).tobytes()


def _ids(rollout: Rollout) -> NDArray[np.uint32]:
    if rollout.response_ids is None:
        return np.full(len(rollout), UNUSED, np.uint32)
    return rollout.response_ids.astype(np.uint32)


def _foreign(scores: Scores) -> list[str]:
    """Return the teachers of another tokenizer."""
    first = scores.items[:1]
    return [name for name in scores.teachers for item in first if item.teachers[name].groups is not None]


def _groups(items: Iterable[RolloutScores], name: str) -> bytes:
    parts = [np.zeros(0, np.int32) if (found := item.teachers[name].groups) is None else found for item in items]
    return np.concatenate(parts).astype("<i4").tobytes()
