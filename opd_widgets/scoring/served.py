"""Teachers behind servers: what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.topk import UNUSED_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids, Kept, TokenScorer
    from opd_widgets.scoring.chunk import Columns

# Entries of the distributions asked for at a time: 16 MiB as float32, where a rollout alone is not more.
_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Sequenced:
    """One rollout as a scorer sees it; response tokens before `first` are not scored."""

    prompt: Ids
    response: Ids
    first: int

    @property
    def ids(self) -> Ids:
        """Prompt and response together."""
        return np.concatenate([self.prompt, self.response]).astype(np.int32)

    @property
    def start(self) -> int:
        """The first of `ids` that is scored."""
        return len(self.prompt) + self.first

    @property
    def count(self) -> int:
        """How many are."""
        return len(self.response) - self.first


def ask_scorer(
    scorer: TokenScorer,
    rollouts: Sequence[Sequenced],
    student_top: NDArray[np.integer],
    shared: int,
    k: int,
    *,
    checkpoint: Callable[[], None] = lambda: None,
    kept: Kept | None = None,
) -> Columns:
    """Return one teacher's columns, with `student_at_top` still missing.

    Args:
        scorer: who is asked.
        rollouts: N scored tokens in all.
        student_top: int [N, K], the student's likeliest tokens, which the scorer is asked about too.
        shared: number of ids its tokenizer shares with the student's, counting from 0; others are in no top-k.
        k: how many of its likeliest tokens.
        checkpoint: called while answers are waited for; raises to stop.
        kept: answers given before, and where new ones are kept.

    """
    sequences, starts = [one.ids for one in rollouts], [one.start for one in rollouts]
    ends = np.cumsum([one.count for one in rollouts])
    wanted = np.where(student_top < shared, student_top, UNUSED_ID)
    found = scorer.token_logprobs(sequences, starts, k, np.split(wanted, ends[:-1]), checkpoint=checkpoint, kept=kept)
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


def ask_distributions(
    scorer: TokenScorer,
    rollouts: Sequence[Sequenced],
    rows: int,
    *,
    checkpoint: Callable[[], None] = lambda: None,
    kept: Kept | None = None,
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield one teacher's whole distributions, few rollouts at a time.

    Args:
        scorer: who is asked.
        rollouts: N scored tokens in all.
        rows: of the vocabulary yielded together, at most.
        checkpoint: called while answers are waited for; raises to stop.
        kept: answers given before, and where new ones are kept.

    Yields:
        Which of the N tokens, and log-probabilities, float32 [n, V].

    """
    done = 0
    for some in _groups(rollouts, scorer.vocab_size):
        sequences, starts = [one.ids for one in some], [one.start for one in some]
        for logp in scorer.distributions(sequences, starts, checkpoint=checkpoint, kept=kept):
            for start in range(0, len(logp), rows):
                part = logp[start : start + rows]
                yield slice(done + start, done + start + len(part)), part
            done += len(logp)


def _groups(rollouts: Sequence[Sequenced], vocabulary: int) -> Iterator[list[Sequenced]]:
    """Yield rollouts in order, together as long as their distributions stay small."""
    group: list[Sequenced] = []
    for one in rollouts:
        if group and sum(other.count for other in [*group, one]) * vocabulary > _ENTRIES:
            yield group
            group = []
        group.append(one)
    yield group
