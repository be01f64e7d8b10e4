"""One batch of rollouts through the student and all teachers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.scoring.assemble import Asked, assemble
from opd_widgets.scoring.chunk import Ask, Columns, logprobs_at, measure_student, measure_teacher
from opd_widgets.scoring.panel import STUDENT, Panel
from opd_widgets.scoring.served import Sequenced, ask_scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.scores import RolloutScores
    from opd_widgets.models.protocol import Ids
    from opd_widgets.scoring.prepare import Task

Checkpoint = Callable[[], None]
CHUNK_BYTES = 32 * 2**20  # of one float32 array [rows, vocabulary]
ByWho = dict[str, Columns]  # by teacher name, the student's under STUDENT


def score_batch(tasks: Sequence[Task], panel: Panel, checkpoint: Checkpoint = lambda: None) -> list[RolloutScores]:
    """Score some rollouts together.

    Hidden states first, at the positions that predict a response token; then the heads, a chunk at a time, the teachers
    one after another beside the student's chunk. Teachers that see the same prompt through the same model share one
    forward pass.

    Args:
        tasks: what to score.
        panel: who scores.
        checkpoint: called between steps; raises to stop the work.

    Returns:
        One a task, in order.

    """
    rows = [_Rows.of(task) for task in tasks]
    columns: ByWho = {}
    if any(row.count for row in rows):
        states = _hidden_states(rows, panel, checkpoint)
        ids = np.concatenate([row.ids for row in rows]).astype(np.int64)
        columns = _heads(states, ids, panel, checkpoint)
        columns |= _served(rows, states[STUDENT], columns[STUDENT]["top_ids"], panel, checkpoint)
    asked = Asked(
        panel.student.provenance,
        {name: teacher.model.provenance for name, teacher in panel.teachers.items()},
        panel.options.settings,
        panel.options.top_k,
        frozenset(panel.scorers),
    )
    records, end = [], 0
    for row in rows:
        start, end = end, end + row.count
        mine = _slice(columns, start, end) if row.count else {}
        records.append(assemble(row.task, row.first, mine, asked))
    return records


@dataclass(frozen=True, eq=False)
class _Rows:
    """The response tokens of one task that can be scored: all but a first one that nothing precedes."""

    task: Task
    response: Ids
    first: int

    @classmethod
    def of(cls, task: Task) -> _Rows:
        response = task.rollout.response_ids
        shortest = min([task.rollout.prompt_len, *(len(prompt.ids) for prompt in task.prompts.values())])
        return cls(task, np.zeros(0, np.int32) if response is None else response, 0 if shortest else 1)

    @property
    def ids(self) -> Ids:
        return self.response[self.first :]

    @property
    def count(self) -> int:
        return max(0, len(self.response) - self.first)

    def prompt(self, who: str) -> Ids:
        if who != STUDENT:
            return self.task.prompts[who].ids
        own = self.task.rollout.prompt_ids
        return np.zeros(0, np.int32) if own is None else own


def _hidden_states(rows: Sequence[_Rows], panel: Panel, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return hidden states [rows, width] by who was asked."""
    done: dict[tuple[int, tuple[bytes, ...]], Any] = {}
    states: dict[str, Any] = {}
    scored = [row for row in rows if row.count]
    for who, model in panel.local.items():
        checkpoint()
        prompts = [row.prompt(who) for row in scored]
        key = (id(model), tuple(prompt.tobytes() for prompt in prompts))
        if key not in done:
            # the last response token predicts nothing that is looked at, so it is not read
            sequences = [np.concatenate([p, row.response[:-1]]) for p, row in zip(prompts, scored, strict=True)]
            starts = [len(prompt) - 1 + row.first for prompt, row in zip(prompts, scored, strict=True)]
            positions = [np.arange(at, at + row.count) for at, row in zip(starts, scored, strict=True)]
            done[key] = model.hidden(sequences, positions, padding=panel.options.padding)
        states[who] = done[key]
    return states


def _heads(states: Mapping[str, Any], ids: NDArray[np.int64], panel: Panel, checkpoint: Checkpoint) -> ByWho:
    """Return the columns of all rows; vocabulary rows live for one chunk."""
    options, student = panel.options, panel.student
    rows = _rows_at_a_time(panel)
    columns: ByWho = {who: {} for who in states}
    for start in range(0, len(ids), rows):
        here = slice(start, start + rows)
        ask = Ask(ids[here], options.top_k, student.tokenizer.size, options.settings)
        checkpoint()
        logp, top, own = measure_student(student.head(states[STUDENT][here]), ask)
        _put(columns[STUDENT], here, own, len(ids))
        for name, teacher in panel.local.items():
            if name == STUDENT:
                continue
            checkpoint()
            logits = teacher.head(states[name][here])
            _put(columns[name], here, measure_teacher(logits, logp, top, panel.shared[name], ask), len(ids))
    return columns


def _served(rows: Sequence[_Rows], states: Any, top: NDArray[Any], panel: Panel, checkpoint: Checkpoint) -> ByWho:
    """Return the columns of teachers behind servers, which are asked about the student's likeliest tokens too.

    The student's log-probability of their likeliest tokens takes its head a second time: its rows are gone by then.
    """
    scored, columns = [row for row in rows if row.count], {}
    for name, scorer in panel.scorers.items():
        checkpoint()
        sequences = [Sequenced(row.prompt(name), row.response, row.first) for row in scored]
        columns[name] = ask_scorer(scorer, sequences, top, panel.shared[name], panel.options.top_k)
    size = _rows_at_a_time(panel)
    for start in range(0, len(top) if columns else 0, size):
        here = slice(start, start + size)
        checkpoint()
        logits = panel.student.head(states[here])
        for found in columns.values():
            found["student_at_top"][here] = logprobs_at(logits, found["top_ids"][here])
    return columns


def _rows_at_a_time(panel: Panel) -> int:
    """Return how many vocabulary rows to hold: measuring takes about ten arrays of this size."""
    widest = max(model.vocab_size for model in panel.local.values())
    return max(1, min(panel.options.chunk_tokens, CHUNK_BYTES // (4 * widest)))


def _put(columns: Columns, here: slice, part: Columns, length: int) -> None:
    """Write a chunk's columns into arrays made once for all rows.

    Small results kept between the large arrays of every chunk would leave holes in the heap that nothing else fits: at
    8,192 tokens of a vocabulary of 151,936 that cost a gigabyte.
    """
    for name, values in part.items():
        if name not in columns:
            columns[name] = np.empty((length, *values.shape[1:]), values.dtype)
        columns[name][here] = values


def _slice(cells: ByWho, start: int, stop: int) -> ByWho:
    return {who: {key: values[start:stop] for key, values in columns.items()} for who, columns in cells.items()}
