"""Which rollouts are scored together."""

from __future__ import annotations

from collections.abc import Sequence


def plan_batches(lengths: Sequence[int], max_tokens: int, max_rows: int | None = None) -> list[list[int]]:
    """Group rows of similar length, so that little is spent on padding.

    Args:
        lengths: tokens of each row, prompt and response together.
        max_tokens: padded tokens a batch may hold; a longer row goes alone.
        max_rows: rows a batch may hold.

    Returns:
        Row indices by batch, shortest rows first; every row once.

    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda index: (lengths[index], index)):
        last = batches[-1] if batches else None
        fits = (
            last is not None
            and (len(last) + 1) * lengths[row] <= max_tokens
            and (max_rows is None or len(last) < max_rows)
        )
        if last is not None and fits:
            last.append(row)
        else:
            batches.append([row])
    return batches
