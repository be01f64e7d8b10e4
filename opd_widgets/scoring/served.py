"""Teachers that give no full distribution: what they are asked, and what they cannot say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.topk import UNUSED_ID
from opd_widgets.measures.signals import REGISTRY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids, TokenScorer
    from opd_widgets.scoring.chunk import Columns

# what a scorer's answer has; see `opd_widgets.measures.measured.Measured`
_GIVEN = {
    "student_logprob", "teacher_logprob", "student_entropy", "student_rank", "teacher_rank", "student_top_ids",
    "teacher_top_ids", "teacher_at_student_top",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sequenced:
    """One rollout as a scorer sees it; response tokens before `first` are not scored."""

    prompt: Ids
    response: Ids
    first: int


def ask_scorer(
    scorer: TokenScorer, rollouts: Sequence[Sequenced], student_top: NDArray[np.integer], shared: int, k: int
) -> Columns:
    """Return one teacher's columns, with `student_at_top` still missing.

    Args:
        scorer: who is asked.
        rollouts: N scored tokens in all.
        student_top: int [N, K], the student's likeliest tokens, which the scorer is asked about too.
        shared: number of ids its tokenizer shares with the student's, counting from 0; others are in no top-k.
        k: how many of its likeliest tokens.

    """
    sequences = [np.concatenate([one.prompt, one.response]).astype(np.int32) for one in rollouts]
    starts = [len(one.prompt) + one.first for one in rollouts]
    ends = np.cumsum([len(ids) - start for ids, start in zip(sequences, starts, strict=True)])
    wanted = np.where(student_top < shared, student_top, UNUSED_ID)
    found = scorer.token_logprobs(sequences, starts, k, np.split(wanted, ends[:-1]))
    top_ids = np.concatenate([one.top_ids for one in found])
    known = (top_ids >= 0) & (top_ids < shared)  # a head can have rows that are no token, and rank them
    first = np.argsort(~known, axis=1, kind="stable")  # those that count keep their order and move to the front
    known = np.take_along_axis(known, first, axis=1)
    top_ids = np.take_along_axis(top_ids, first, axis=1)
    top_logprobs = np.take_along_axis(np.concatenate([one.top_logprobs for one in found]), first, axis=1)
    rank = np.concatenate([one.rank for one in found]).astype(np.float32)
    return {
        "logprob": np.concatenate([one.logprob for one in found]),
        "censored": np.concatenate([one.censored for one in found]),
        "rank": np.where(rank > 0, rank, np.float32(np.nan)),
        "top_ids": np.where(known, top_ids, np.int32(UNUSED_ID)),
        "top_logprobs": np.where(known, top_logprobs, np.float32(np.nan)),
        "at_student_top": np.concatenate([one.at for one in found]),
        "student_at_top": np.full(top_ids.shape, np.nan, np.float32),
    }


def what_servers_lack(scorers: Mapping[str, TokenScorer], k: int) -> tuple[str, ...]:
    """Return a note a teacher on the signals it has not, and on the one that is but a bound."""
    lacking = [
        signal.name
        for signal in REGISTRY.values()
        if signal.per_teacher and signal.compute is not None and not _GIVEN.issuperset(signal.needs)
    ]
    notes = []
    for name, scorer in scorers.items():
        note = f"{name}: its server gives no full distribution, so there is no {', '.join(lacking)}"
        if not scorer.scores_any_id:
            note += (
                "; nor does it score ids of one's choice, so teacher_mass counts only those of the student's likeliest "
                f"tokens that are among its own {k}, a lower bound"
            )
        notes.append(note)
    return tuple(notes)
