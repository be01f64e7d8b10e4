"""One batch of rollouts through the student and all teachers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.measures.signal import SignalSettings
from opd_widgets.scoring.assemble import Asked, assemble
from opd_widgets.scoring.chunk import Ask, Columns, measure_student, measure_teacher

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.scores import RolloutScores
    from opd_widgets.models.protocol import Ids, Model, Padding
    from opd_widgets.models.teacher import Teacher
    from opd_widgets.scoring.prepare import Task


@dataclass(frozen=True)
class Options:
    """How scoring goes about it.

    Args:
        top_k: how many of the likeliest tokens to keep of either side.
        chunk_tokens: response tokens whose vocabulary rows exist at one time.
        batch_tokens: padded tokens of one forward pass.
        batch_rows: rollouts of one forward pass; None leaves it to `batch_tokens`.
        padding: the side on which shorter rollouts are filled up; the scores do not depend on it.
        settings: parameters of the signals.

    """

    top_k: int = 20
    chunk_tokens: int = 256
    batch_tokens: int = 8192
    batch_rows: int | None = None
    padding: Padding = "right"
    settings: SignalSettings = field(default_factory=SignalSettings)


Cells = dict[str, Columns]  # by teacher name; the student's under STUDENT
STUDENT = ""


def score_batch(
    tasks: Sequence[Task],
    student: Model,
    teachers: Mapping[str, Teacher],
    shared: Mapping[str, int],
    options: Options,
    checkpoint: Callable[[], None] = lambda: None,
) -> list[RolloutScores]:
    """Score some rollouts together.

    Hidden states first, at the positions that predict a response token; then the heads, a chunk at a time, the teachers
    one after another beside the student's chunk. Teachers that see the same prompt through the same model share one
    forward pass.

    Args:
        tasks: what to score.
        student, teachers: who scores.
        shared: by teacher, ids in common with the student.
        options: sizes and parameters.
        checkpoint: called between steps; raises to stop the work.

    Returns:
        One a task, in order.

    """
    firsts = [_first_scored(task) for task in tasks]
    rows = [max(len(task.rollout) - first, 0) for task, first in zip(tasks, firsts, strict=True)]
    columns: Cells = {}
    if sum(rows):
        states = _hidden_states(tasks, firsts, rows, student, teachers, options, checkpoint)
        ids = np.concatenate([task.rollout.response_ids[first:] for task, first in zip(tasks, firsts, strict=True)
                              if task.rollout.response_ids is not None]).astype(np.int64)  # fmt: skip
        columns = _heads(states, ids, student, teachers, shared, options, checkpoint)
    ends = np.cumsum(rows)
    asked = Asked(
        student.provenance,
        {name: teacher.model.provenance for name, teacher in teachers.items()},
        options.settings,
        options.top_k,
    )
    records = []
    for task, first, end, count in zip(tasks, firsts, ends, rows, strict=True):
        mine = _slice(columns, int(end) - count, int(end)) if count else {}
        records.append(assemble(task, first, mine.get(STUDENT, {}), mine, asked))
    return records


def _first_scored(task: Task) -> int:
    """Return the first response token that something precedes in every prompt: 1 where a prompt is empty."""
    shortest = min([task.rollout.prompt_len, *(len(prompt.ids) for prompt in task.prompts.values())])
    return 0 if shortest else 1


def _hidden_states(
    tasks: Sequence[Task],
    firsts: Sequence[int],
    rows: Sequence[int],
    student: Model,
    teachers: Mapping[str, Teacher],
    options: Options,
    checkpoint: Callable[[], None],
) -> dict[str, object]:
    """Return hidden states [rows, width] by who was asked."""
    done: dict[tuple[int, bytes], object] = {}
    states: dict[str, object] = {}
    for who in (STUDENT, *teachers):
        checkpoint()
        model = teachers[who].model if who else student
        prompts = [_prompt(task, who) for task in tasks]
        key = (id(model), b"|".join(prompt.tobytes() for prompt in prompts))
        if key not in done:
            sequences, positions = [], []
            for task, prompt, first, count in zip(tasks, prompts, firsts, rows, strict=True):
                if count and task.rollout.response_ids is not None:
                    sequences.append(np.concatenate([prompt, task.rollout.response_ids[:-1]]))
                    positions.append(np.arange(len(prompt) - 1 + first, len(prompt) - 1 + first + count))
            done[key] = model.hidden(sequences, positions, padding=options.padding)
        states[who] = done[key]
    return states


def _prompt(task: Task, who: str) -> Ids:
    if who:
        return task.prompts[who].ids
    return np.zeros(0, np.int32) if task.rollout.prompt_ids is None else task.rollout.prompt_ids


def _heads(
    states: Mapping[str, Any],
    ids: NDArray[np.int64],
    student: Model,
    teachers: Mapping[str, Teacher],
    shared: Mapping[str, int],
    options: Options,
    checkpoint: Callable[[], None],
) -> Cells:
    """Return the columns of all rows; vocabulary rows live for one chunk."""
    parts: dict[str, list[Columns]] = {who: [] for who in states}
    for start in range(0, len(ids), options.chunk_tokens):
        here = slice(start, start + options.chunk_tokens)
        ask = Ask(ids[here], options.top_k, student.tokenizer.size, options.settings)
        checkpoint()
        logp, top, own = measure_student(student.head(states[STUDENT][here]), ask)
        parts[STUDENT].append(own)
        for name, teacher in teachers.items():
            checkpoint()
            logits = teacher.model.head(states[name][here])
            parts[name].append(measure_teacher(logits, logp, top, shared[name], ask))
    return {who: _concatenate(found) for who, found in parts.items()}


def _concatenate(parts: Sequence[Columns]) -> Columns:
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _slice(cells: Cells, start: int, stop: int) -> Cells:
    return {who: {key: values[start:stop] for key, values in columns.items()} for who, columns in cells.items()}
