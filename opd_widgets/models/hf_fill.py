"""Sequences of unlike lengths as one array, the shorter ones filled up with id 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids


def filled_right(sequences: Sequence[Ids]) -> torch.Tensor:
    """Return sequences filled up on the right: int64 [B, L]. No mask is needed: nothing sees what follows it."""
    longest = max(len(ids) for ids in sequences)
    tokens = np.zeros((len(sequences), longest), np.int64)
    for row, ids in enumerate(sequences):
        tokens[row, : len(ids)] = ids
    return torch.from_numpy(tokens)


def filled_left(sequences: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sequences filled up on the left, and 1 where there is a token of theirs: both int64 [B, L]."""
    longest = max(len(ids) for ids in sequences)
    tokens = torch.zeros(len(sequences), longest, dtype=torch.long)
    attended = torch.zeros_like(tokens)
    for row, ids in enumerate(sequences):
        tokens[row, longest - len(ids) :] = torch.from_numpy(np.array(ids, dtype=np.int64))
        attended[row, longest - len(ids) :] = 1
    return tokens, attended
