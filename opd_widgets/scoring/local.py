"""The student and teachers whose hidden states are here: states first, then heads, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opd_widgets.scoring.chunk import Ask, measure_student, measure_teacher
from opd_widgets.scoring.panel import STUDENT, Panel
from opd_widgets.scoring.rows import ByWho, Rows, put

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opd_widgets.scoring.session import Session

Checkpoint = Callable[[], None]


def hidden_states(rows: Sequence[Rows], panel: Panel, session: Session, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return hidden states [n, width] by who was asked; who sees the same prompts through the same model shares them.

    Args:
        rows: none without a token to score.
        panel: who is asked.
        session: what is known from earlier.
        checkpoint: called before each model.

    """
    done: dict[tuple[int, tuple[bytes, ...]], Any] = {}
    states: dict[str, Any] = {}
    for who, model in panel.local.items():
        checkpoint()
        key = (id(model), tuple(row.prompt(who).tobytes() for row in rows))
        if key not in done:
            known = session.recall(rows, who) if who == STUDENT else None
            if known is None:
                known = model.hidden(
                    [row.sequence(who) for row in rows],
                    [row.positions(who) for row in rows],
                    padding=panel.options.padding,
                    extend=session.live,
                )
                if who == STUDENT:
                    session.keep(rows, who, known)
            done[key] = known
        states[who] = done[key]
    return states


def head_columns(
    states: Mapping[str, Any], ids: NDArray[np.int64], panel: Panel, session: Session, checkpoint: Checkpoint
) -> ByWho:
    """Return the columns of all rows, the teachers one after another beside the student's vocabulary rows.

    Vocabulary rows live for one chunk.
    """
    options, student = panel.options, panel.student
    columns: ByWho = {who: {} for who in states}

    def measure(here: slice) -> None:
        ask = Ask(ids[here], options.top_k, student.tokenizer.size, options.settings)
        checkpoint()
        mine, top, own = measure_student(student.head(states[STUDENT][here]), ask)
        put(columns[STUDENT], here, own, len(ids))
        for name, teacher in panel.local.items():
            if name != STUDENT:
                checkpoint()
                logits = teacher.head(states[name][here])
                put(columns[name], here, measure_teacher(logits, mine, top, panel.shared[name], ask), len(ids))

    session.in_chunks(len(ids), widest(panel), panel, measure)
    return columns


def widest(panel: Panel) -> int:
    """Return the entries of the largest vocabulary at hand."""
    return max(model.vocab_size for model in panel.local.values())
