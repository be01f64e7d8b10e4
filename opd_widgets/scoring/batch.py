"""One batch of rollouts through the student and all teachers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device

from opd_widgets.scoring.assemble import Asked, assemble
from opd_widgets.scoring.chunk import Ask, Theirs, logprobs_at, measure
from opd_widgets.scoring.cross import score_foreign
from opd_widgets.scoring.local import Checkpoint, head_columns, hidden_states, widest
from opd_widgets.scoring.panel import STUDENT, Panel
from opd_widgets.scoring.rows import ByWho, Rows, cut, put, so_far
from opd_widgets.scoring.served import Sequenced, ask_distributions, ask_scorer
from opd_widgets.scoring.session import Session

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.scores import RolloutScores
    from opd_widgets.scoring.prepare import Task


def score_batch(
    tasks: Sequence[Task], panel: Panel, checkpoint: Checkpoint = lambda: None, session: Session | None = None
) -> list[RolloutScores]:
    """Score some rollouts together.

    Hidden states first, at the positions that predict a response token; then the heads, a chunk at a time, the teachers
    one after another beside the student's chunk. Teachers that see the same prompt through the same model share one
    forward pass.

    Args:
        tasks: what to score.
        panel: who scores.
        checkpoint: called between steps; raises to stop the work.
        session: what earlier batches of the same scoring have left.

    Returns:
        One a task, in order.

    """
    session = session or Session()
    rows = [Rows.of(task) for task in tasks]
    columns: ByWho = {}
    asked = Asked(
        panel.student.provenance,
        {name: teacher.model.provenance for name, teacher in panel.teachers.items()},
        panel.options.settings,
        panel.options.top_k,
        frozenset(name for name, scorer in panel.scorers.items() if not scorer.full_vocabulary),
    )
    scored = [row for row in rows if row.count]
    if scored:
        states = hidden_states(scored, panel, session, checkpoint)
        ids = np.concatenate([row.ids for row in scored]).astype(np.int64)
        told = partial(_tell, rows, asked, session)
        columns = head_columns(states, ids, panel, session, checkpoint, told=told)
        columns |= _served(scored, states[STUDENT], columns[STUDENT]["top_ids"], panel, session, checkpoint)
        columns |= _served_whole(scored, states[STUDENT], ids, panel, session, checkpoint)
    foreign = score_foreign(tasks, panel, session, checkpoint)
    records, end = [], 0
    for row, theirs in zip(rows, foreign, strict=True):
        start, end = end, end + row.count
        mine = cut(columns, start, end) if row.count else {}
        records.append(assemble(row.task, row.first, mine | theirs, asked))
    return records


def _tell(rows: Sequence[Rows], asked: Asked, session: Session, columns: ByWho, done: int) -> None:
    """Hand out what there is of a rollout that is scored alone, under teachers that are all here."""
    if session.heard is None or len(rows) != 1 or not columns.keys() >= rows[0].task.prompts.keys():
        return
    session.heard(assemble(rows[0].task, rows[0].first, so_far(columns, done), asked, whole=False))


def _served(  # noqa: PLR0917 - private, called once
    rows: Sequence[Rows], states: Any, top: NDArray[Any], panel: Panel, session: Session, checkpoint: Checkpoint
) -> ByWho:
    """Return the columns of teachers behind servers, which are asked about the student's likeliest tokens too.

    The student's log-probability of their likeliest tokens takes its head a second time: its rows are gone by then.
    """
    columns = {}
    for name, scorer in panel.scorers.items():
        if scorer.full_vocabulary:
            continue
        checkpoint()
        sequences, k = _sequences(rows, name), panel.options.top_k
        columns[name] = ask_scorer(
            scorer, sequences, top, panel.shared[name], k, checkpoint=checkpoint, kept=panel.kept(name)
        )

    def fill(here: slice) -> None:
        checkpoint()
        logits = panel.student.head(states[here])
        for found in columns.values():
            found["student_at_top"][here] = logprobs_at(logits, found["top_ids"][here])

    session.in_chunks(len(top) if columns else 0, panel.student.vocab_size, panel, fill)
    return columns


def _served_whole(  # noqa: PLR0917 - private, called once
    rows: Sequence[Rows], states: Any, ids: NDArray[np.int64], panel: Panel, session: Session, checkpoint: Checkpoint
) -> ByWho:
    """Return the columns of teachers whose servers give whole distributions: measured as those of teachers here are.

    Such a server says -inf as "less likely than I report".
    """
    student, options, columns = panel.student, panel.options, ByWho()
    for name, scorer in panel.scorers.items():
        if not scorer.full_vocabulary:
            continue
        columns[name] = {}
        sequences, size, kept = _sequences(rows, name), session.rows(2 * widest(panel), panel), panel.kept(name)
        for here, theirs in ask_distributions(scorer, sequences, size, checkpoint=checkpoint, kept=kept):
            checkpoint()
            ask = Ask(ids[here], options.top_k, student.tokenizer.size, options.settings)
            mine = student.head(states[here])
            beside = array_namespace(mine).asarray(theirs, device=device(mine))
            _, found = measure(mine, {name: Theirs(beside, panel.shared[name])}, ask)
            censored = np.isneginf(found[name]["logprob"])
            put(columns[name], here, {**found[name], "censored": censored}, len(ids))
    return columns


def _sequences(rows: Sequence[Rows], who: str) -> list[Sequenced]:
    return [Sequenced(row.prompt(who), row.response, row.first) for row in rows]
