"""The `scores` trait: validator and serializer in one.

The front end's half of this contract is `js/src/model/contract.ts`. Numbers travel as little-endian buffers: JSON would
turn NaN and infinities into strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from opd_widgets.data.piece import Piece
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scores import RolloutScores, Scores, TeacherScores, response_pieces
from opd_widgets.data.tokens import display_cells
from opd_widgets.measures.signals import REGISTRY
from opd_widgets.widgets._cells import PromptTable, cells_of, label, one_line
from opd_widgets.widgets._scale import signal_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
TOP_K = 10  # columns sent to the browser; all that were measured stay in Python
UNUSED = 0xFFFFFFFF


class ScoresTrait(traitlets.Instance):  # type: ignore[type-arg]
    """Holds `Scores`; the browser receives them as `ScoresTrait` in contract.ts."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(Scores, **kwargs)
        self.tag(to_json=lambda value, widget: wire_scores(value, widget.editable(value), widget.generation))

    def validate(self, obj: Any, value: Any) -> Any:
        """Count every new run of scores, so that an edit of an older one is told from it."""
        checked = super().validate(obj, value)
        obj.generation += 1
        return checked


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


def wire_scores(scores: Scores, editable: Iterable[str] = (), generation: int = 1) -> dict[str, Any]:
    """Return scores as the front end takes them.

    Args:
        scores: what to show.
        editable: names of teachers whose context can be edited.
        generation: which run of scores of its widget this is.

    """
    prompts = PromptTable(scores.pieces)
    rollouts, offset = [], 0
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        rollouts.append(_rollout(rollout, item, offset, scores, prompts))
        offset += len(rollout)
    order = planes(scores)
    top_k = columns_sent(scores)
    meta = {
        "version": VERSION,
        "generation": generation,
        "student": scores.student,
        "teachers": _teachers(scores, frozenset(editable)),
        "signals": signal_rows(scores),
        "rollouts": rollouts,
        "prompts": prompts.rows,
        "vocab": vocab(scores.pieces, scores.pieces),
        "tokens": offset,
        "planes": [{"signal": name, "teacher": teacher} for name, teacher in order],
        "top_k": top_k,
        "notes": list(scores.notes),
    }
    return {"meta": meta, **_buffers(scores, order, top_k)}


def columns_sent(scores: Scores) -> int:
    """Return how many columns of top-k to send; 0 where some track came without."""
    tracks = [track for item in scores.items for track in (item.student, *(t.track for t in item.teachers.values()))]
    widths = [0 if track.topk is None else track.topk.k for track in tracks]
    return min([TOP_K, *widths]) if widths else 0


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
    rollout: Rollout, item: RolloutScores, offset: int, scores: Scores, prompts: PromptTable
) -> dict[str, Any]:
    pieces = response_pieces(rollout, scores.pieces)
    student = rollout.prompt_ids if rollout.prompt_ids is not None else np.zeros(0, np.int32)
    title = rollout.asked or rollout.prompt_text or scores.questions.get(rollout.question) or rollout.group
    return {
        "id": rollout.id,
        "question": rollout.group,
        "title": one_line(title),
        "label": label(pieces),
        "outcome": rollout.outcome,
        "status": rollout.status,
        "reward": rollout.reward if isinstance(rollout.reward, int | float) and np.isfinite(rollout.reward) else None,
        "step": rollout.step,
        "text_source": rollout.text_source,
        "offset": offset,
        "length": len(rollout),
        "cells": cells_of(pieces),
        "prompt": prompts.add(student, student),
        "teacher_prompts": {name: prompts.add_of(t, student) for name, t in item.teachers.items()},
        "other_tokens": {
            name: [[_shown(piece) for piece in group] for group in t.own.by_group()]
            for name, t in item.teachers.items()
            if t.own is not None
        },
        "other_lengths": {name: len(t.own.ids) for name, t in item.teachers.items() if t.own is not None},
        "contexts": {name: context_row(t) for name, t in item.teachers.items() if t.context is not None},
    }


def _shown(piece: Piece) -> str:
    return display_cells([piece])[0].text


def context_row(scored: TeacherScores) -> dict[str, Any]:
    """Return a teacher's privileged context as the front end takes it."""
    return {"text": scored.context or "", "tokens": scored.context_tokens, "leaks": scored.leaks_answer}


def vocab(ids: Iterable[int], pieces: Mapping[int, Piece]) -> dict[str, list[str]]:
    """Return how to show each id, by itself."""
    shown = {}
    for token in ids:
        cell = display_cells([pieces[token]])[0]
        shown[str(token)] = [cell.text, cell.kind]
    return shown


def _buffers(scores: Scores, order: list[tuple[str, str | None]], top_k: int) -> dict[str, Any]:
    items = scores.items
    values = [
        np.concatenate([_values(item, name, teacher) for item in items]) if items else np.zeros(0, np.float32)
        for name, teacher in order
    ]
    masks = [rollout.counted for rollout in scores.rollouts]
    ids = [_ids(rollout) for rollout in scores.rollouts]
    return {
        "values": floats(np.stack(values) if values else np.zeros(0)),
        "mask": np.concatenate(masks or [np.zeros(0, bool)]).astype(np.uint8).tobytes(),
        "token_ids": np.concatenate(ids or [np.zeros(0, np.uint32)]).tobytes(),
        "student_top": _student_top(items, top_k) if top_k else None,
        "teacher_top": {name: _teacher_top(items, name, top_k) for name in scores.teachers} if top_k else {},
        "groups": {name: _groups(items, name) for name in _foreign(scores)},
    }


def _values(item: RolloutScores, name: str, teacher: str | None) -> NDArray[np.float32]:
    return item.signals[name] if teacher is None else item.teachers[teacher].signals[name]


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


def _student_top(items: Iterable[RolloutScores], k: int) -> dict[str, bytes]:
    tops = [item.student.topk for item in items if item.student.topk is not None]
    return {
        "ids": unsigned(np.concatenate([top.ids[:, :k] for top in tops])),
        "student": floats(np.concatenate([top.logprobs[:, :k] for top in tops])),
    }


def _teacher_top(items: Iterable[RolloutScores], name: str, k: int) -> dict[str, bytes]:
    parts = [top_arrays(item.teachers[name], k) for item in items]
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return top_buffers(joined)


def top_arrays(scored: TeacherScores, k: int) -> dict[str, NDArray[Any]]:
    """Return one teacher's top-k along one rollout, k columns each."""
    top = scored.track.topk
    ids = top.ids[:, :k] if top is not None else np.full((len(scored.track), k), -1)
    logprobs = top.logprobs[:, :k] if top is not None else np.full(ids.shape, np.nan)
    return {
        "ids": ids,
        "teacher": logprobs,
        "student": scored.student_at_top[:, :k],
        "at_student": scored.at_student_top[:, :k],
    }


def top_buffers(arrays: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return top-k arrays as buffers."""
    return {key: unsigned(array) if key == "ids" else floats(array) for key, array in arrays.items()}


def floats(array: NDArray[Any]) -> bytes:
    """Return an array as little-endian float32."""
    return np.ascontiguousarray(array, dtype="<f4").tobytes()


def unsigned(array: NDArray[Any]) -> bytes:
    """Return ids as little-endian uint32, -1 as the mark for an unused column."""
    return np.where(array < 0, UNUSED, array).astype("<u4").tobytes()
