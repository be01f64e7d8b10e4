"""Teachers of another tokenizer: asked about the same text in their own tokens, compared group by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.crosstok import NO_GROUP
from opd_widgets.data.track import ROUNDING
from opd_widgets.models.protocol import Model, is_scorer
from opd_widgets.scoring.chunk import logprobs_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.crosstok import Alignment
    from opd_widgets.data.track import LogprobTrack
    from opd_widgets.models.protocol import Ids, Kept, TokenScorer
    from opd_widgets.scoring.chunk import Columns
    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.prepare import Task
    from opd_widgets.scoring.session import Session


@dataclass(frozen=True, eq=False)
class _Read:
    """One response as a teacher reads it.

    Args:
        prompt: int32 [P], in the teacher's tokens.
        ids: int32 [T], the response.
        places: int [n], those of its tokens to score: they are in a group, and something precedes them.

    """

    prompt: Ids
    ids: Ids
    places: NDArray[np.int64]

    @classmethod
    def of(cls, task: Task, name: str) -> _Read:
        prompt, respelled = task.prompts[name].ids, task.respelled[name]
        places = np.flatnonzero(respelled.alignment.teacher != NO_GROUP)
        return cls(prompt, respelled.ids, places if len(prompt) else places[places > 0])

    @property
    def sequence(self) -> Ids:
        return np.concatenate([self.prompt, self.ids]).astype(np.int32)


def score_foreign(
    tasks: Sequence[Task], panel: Panel, session: Session, checkpoint: Callable[[], None]
) -> list[dict[str, Columns]]:
    """Return, a task, the columns `logprob` and `censored` [T] of each teacher of another tokenizer, by name.

    They run along the teacher's own tokens of the response; NaN where one is in no group or has nothing before it.
    """
    found: list[dict[str, Columns]] = [{} for _ in tasks]
    for name, teacher in panel.foreign.items():
        checkpoint()
        model, read = teacher.model, {}
        for index, task in enumerate(tasks):
            if name in task.respelled:
                read[index] = _Read.of(task, name)
                found[index][name] = _empty(len(read[index].ids))
        used = {index: one for index, one in read.items() if len(one.places)}
        if not used:
            continue
        if is_scorer(model):
            columns = _ask_scorer(model, [*used.values()], checkpoint, panel.kept(name))
        elif isinstance(model, Model):
            columns = _ask_model(model, [*used.values()], panel, session, checkpoint)
        for (index, one), part in zip(used.items(), columns, strict=True):
            for key, values in part.items():
                found[index][name][key][one.places] = values
    return found


def _ask_model(
    model: Model, read: Sequence[_Read], panel: Panel, session: Session, checkpoint: Callable[[], None]
) -> list[Columns]:
    """Return the columns at the `places` of each response."""
    # the last token predicts nothing that is looked at, so it is not read
    sequences = [one.sequence[:-1] for one in read]
    positions = [len(one.prompt) - 1 + one.places for one in read]
    states = model.hidden(sequences, positions, padding=panel.options.padding, extend=session.live)
    ids = np.concatenate([one.ids[one.places] for one in read])
    values = np.empty(len(ids), np.float32)

    def score(here: slice) -> None:
        checkpoint()
        values[here] = logprobs_at(model.head(states[here]), ids[here, None])[:, 0]

    session.in_chunks(len(ids), model.vocab_size, panel, score)
    ends = np.cumsum([len(one.places) for one in read])
    return [{"logprob": part} for part in np.split(values, ends[:-1])]


def _ask_scorer(
    scorer: TokenScorer, read: Sequence[_Read], checkpoint: Callable[[], None], kept: Kept | None
) -> list[Columns]:
    """Return the columns at the `places` of each response."""
    starts = [len(one.prompt) + int(one.places[0]) for one in read]
    found = scorer.token_logprobs([one.sequence for one in read], starts, 1, checkpoint=checkpoint, kept=kept)
    places = [one.places - one.places[0] for one in read]
    return [{"logprob": one.logprob[at], "censored": one.censored[at]} for one, at in zip(found, places, strict=True)]


def _empty(length: int) -> Columns:
    return {"logprob": np.full(length, np.nan, np.float32), "censored": np.zeros(length, bool)}


def group_sums(alignment: Alignment, columns: Columns, student: LogprobTrack) -> Columns:
    """Return both sides' sums over groups: `logprob`, `censored` and `student_logprob`, each [R].

    Args:
        alignment: the groups.
        columns: one teacher's, as `score_foreign` returns them; empty where nothing was scored.
        student: the student's track.

    """
    own = columns or _empty(len(alignment.teacher))
    logprob = np.where(own["logprob"] <= ROUNDING, np.minimum(own["logprob"], 0), own["logprob"])
    return {
        "logprob": alignment.teacher_sums(logprob),
        "censored": np.nan_to_num(alignment.teacher_sums(own["censored"].astype(np.float32))) > 0,
        "student_logprob": alignment.student_sums(student.logprobs),
    }
