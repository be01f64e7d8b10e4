"""The student and teachers whose hidden states are here: states first, then heads, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opd_widgets.scoring.chunk import Ask, Theirs, measure
from opd_widgets.scoring.panel import STUDENT, Options, Panel
from opd_widgets.scoring.rows import ByWho, Rows, put

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opd_widgets.scoring.chunk import Columns
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
            mine = who == STUDENT and session.live
            version = model.version if mine else None
            known = session.recall(rows, who, version) if mine else None
            if known is None:
                known = model.hidden(
                    [row.sequence(who) for row in rows],
                    [row.positions(who) for row in rows],
                    padding=panel.options.padding,
                    extend=session.live,
                )
                if mine:
                    session.keep(rows, who, version, known)
            done[key] = known
        states[who] = done[key]
    return states


def head_columns(
    states: Mapping[str, Any],
    ids: NDArray[np.int64],
    panel: Panel,
    session: Session,
    checkpoint: Checkpoint,
    *,
    told: Callable[[ByWho, int], None] = lambda *_: None,
) -> ByWho:
    """Return the columns of all rows; vocabulary rows live for one chunk, the teachers' beside the student's.

    Args:
        states: hidden states by who was asked.
        ids: int64 [n], the tokens to score.
        panel: who scores.
        session: how many rows fit into memory.
        checkpoint: called before each head and each measuring.
        told: called after each chunk but the last with the columns and how many of their rows are written.

    """
    options, student = panel.options, panel.student
    columns: ByWho = {who: {} for who in states}

    def work(here: slice) -> None:
        logits = {}
        for who, model in panel.local.items():
            checkpoint()
            logits[who] = model.head(states[who][here])
        checkpoint()
        ask = Ask(ids[here], options.top_k, student.tokenizer.size, options.settings)
        mine = logits.pop(STUDENT)
        own, others = _measure(options)(
            mine, {who: Theirs(rows, panel.shared[who]) for who, rows in logits.items()}, ask
        )
        for who, found in {STUDENT: own, **others}.items():
            put(columns[who], here, found, len(ids))
        if here.stop < len(ids):
            told(columns, here.stop)

    session.in_chunks(len(ids), len(states) * widest(panel), panel, work)
    return columns


def _measure(options: Options) -> Callable[..., tuple[Columns, dict[str, Columns]]]:
    if not options.fuse:
        return measure
    from opd_widgets.scoring.chunk_fused import measure_fused  # loads torch

    return measure_fused


def widest(panel: Panel) -> int:
    """Return the entries of the largest vocabulary at hand."""
    return max(model.vocab_size for model in panel.local.values())
