"""Which rollouts are scored together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

# Rollouts of one prompt go together where that saves so many tokens, and so large a share of theirs. Below, batches of
# like length are worth more.
SAVED_TOKENS = 256
SAVED_SHARE = 0.25


@dataclass(frozen=True)
class Length:
    """How long a row is.

    Args:
        tokens: prompt and response together.
        prompt: what all rows of the same `key` begin with.
        key: equal for rows of equal prompts.

    """

    tokens: int
    prompt: int = 0
    key: Hashable = None


def plan_batches(lengths: Sequence[Length], max_tokens: int, max_rows: int | None = None) -> list[list[int]]:
    """Group rows of similar length, so that little is spent on padding, and of one prompt where it is long.

    Args:
        lengths: of each row.
        max_tokens: padded tokens a batch may hold, a shared prompt counted once; a longer row goes alone.
        max_rows: rows a batch may hold.

    Returns:
        Row indices by batch, shortest rows first; every row once.

    """
    by_prompt: dict[Hashable, list[int]] = defaultdict(list)
    for index, length in enumerate(lengths):
        by_prompt[length.key].append(index)
    together = [rows for rows in by_prompt.values() if _pays([lengths[row] for row in rows])]
    shared = {row for rows in together for row in rows}
    rest = [row for row in range(len(lengths)) if row not in shared]
    batches = _fill(rest, [length.tokens for length in lengths], max_tokens, max_rows)
    for rows in together:
        room = max(1, max_tokens - lengths[rows[0]].prompt)
        batches += _fill(rows, [length.tokens - length.prompt for length in lengths], room, max_rows)
    return batches


def _pays(rows: Sequence[Length]) -> bool:
    saved = (len(rows) - 1) * rows[0].prompt
    return saved >= SAVED_TOKENS and saved >= SAVED_SHARE * sum(row.tokens for row in rows)


def _fill(rows: Sequence[int], sizes: Sequence[int], max_tokens: int, max_rows: int | None) -> list[list[int]]:
    batches: list[list[int]] = []
    for row in sorted(rows, key=lambda index: (sizes[index], index)):
        last = batches[-1] if batches else None
        fits = (
            last is not None
            and (len(last) + 1) * sizes[row] <= max_tokens
            and (max_rows is None or len(last) < max_rows)
        )
        if last is not None and fits:
            last.append(row)
        else:
            batches.append([row])
    return batches
