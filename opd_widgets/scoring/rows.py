"""The tokens of a batch, row by row: what is asked of each rollout, and the columns the answers go into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.topk import UNUSED_ID
from opd_widgets.scoring.panel import STUDENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids
    from opd_widgets.scoring.chunk import Columns
    from opd_widgets.scoring.prepare import Task

ByWho = dict[str, "Columns"]  # by teacher name, the student's under STUDENT


@dataclass(frozen=True, eq=False)
class Rows:
    """The response tokens of one task that can be scored: all but a first one that nothing precedes."""

    task: Task
    response: Ids
    first: int

    @classmethod
    def of(cls, task: Task) -> Rows:
        """Return those of a task."""
        response = task.rollout.response_ids
        alike = (prompt for name, prompt in task.prompts.items() if name not in task.respelled)
        shortest = min([task.rollout.prompt_len, *(len(prompt.ids) for prompt in alike)])
        return cls(task, np.zeros(0, np.int32) if response is None else response, 0 if shortest else 1)

    @property
    def ids(self) -> Ids:
        """int32 [n], the tokens to score."""
        return self.response[self.first :]

    @property
    def count(self) -> int:
        """How many they are."""
        return max(0, len(self.response) - self.first)

    def prompt(self, who: str) -> Ids:
        """Return the prompt of a teacher, or the student's for `STUDENT`."""
        if who != STUDENT:
            return self.task.prompts[who].ids
        own = self.task.rollout.prompt_ids
        return np.zeros(0, np.int32) if own is None else own

    def sequence(self, who: str) -> Ids:
        """Return what is read for it: not the last response token, which predicts nothing that is looked at."""
        return np.concatenate([self.prompt(who), self.response[:-1]]).astype(np.int32)

    def positions(self, who: str) -> NDArray[np.int64]:
        """Return the places in `sequence` that predict the tokens to score."""
        start = len(self.prompt(who)) - 1 + self.first
        return np.arange(start, start + self.count)


def put(columns: Columns, here: slice, part: Columns, length: int) -> None:
    """Write a chunk's columns into arrays made once for all rows.

    Small results kept between the large arrays of every chunk would leave holes in the heap that nothing else fits: at
    8,192 tokens of a vocabulary of 151,936 that cost a gigabyte.
    """
    for name, values in part.items():
        if name not in columns:
            columns[name] = np.empty((length, *values.shape[1:]), values.dtype)
        columns[name][here] = values


def cut(columns: Mapping[str, Columns], start: int, stop: int) -> dict[str, dict[str, Any]]:
    """Return the columns of some rows, by who was asked."""
    return {who: {key: values[start:stop] for key, values in found.items()} for who, found in columns.items()}


def so_far(columns: Mapping[str, Columns], done: int) -> dict[str, dict[str, Any]]:
    """Return columns of which the first `done` rows are written, the others missing."""
    return {who: {key: _missing_after(values, done) for key, values in found.items()} for who, found in columns.items()}


def _missing_after(values: NDArray[Any], done: int) -> NDArray[Any]:
    if values.dtype == np.bool_ or (np.issubdtype(values.dtype, np.integer) and values.ndim > 1):
        kept = values.copy()
        kept[done:] = False if values.dtype == np.bool_ else UNUSED_ID
        return kept
    kept = values.astype(np.float32)  # ranks too: there is no whole number for "missing"
    kept[done:] = np.nan
    return kept
