"""The likeliest tokens of each position as an engine lists them, made into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from opd_widgets.data.topk import UNUSED_ID, TopK
from opd_widgets.data.track import CENSORED_AT


class Ranked(NamedTuple):
    """One of the likeliest tokens of a position."""

    token: int
    logprob: float


def topk_of(rows: Sequence[Sequence[Ranked]]) -> TopK | None:
    """Return the rows as top-k arrays, likeliest first; None where there is none."""
    width = max(map(len, rows), default=0)
    if width == 0:
        return None
    ids = np.full((len(rows), width), UNUSED_ID, np.int32)
    logprobs = np.full((len(rows), width), np.nan, np.float32)
    for number, row in enumerate(rows):
        for column, entry in enumerate(sorted(row, key=lambda entry: -entry.logprob)):
            ids[number, column] = entry.token
            logprobs[number, column] = -np.inf if entry.logprob <= CENSORED_AT else entry.logprob
    return TopK(ids, logprobs)
