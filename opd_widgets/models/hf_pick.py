"""Tokens by inverse CDF: a number in [0, 1) and a row of logits give one token, whatever is drawn beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 64  # numbers drawn from a row's own generator at a time
ENTRIES = 2**23  # of a table [rows, vocabulary]; some 200 MB while it is picked from


class Uniforms:
    """Numbers in [0, 1) for many rows, each row's from a generator of its own seed.

    Args:
        seeds: one a row.

    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self._generators = [np.random.default_rng(seed) for seed in seeds]
        self._block = np.empty((len(seeds), BLOCK))

    def at(self, rows: NDArray[np.int64], step: int) -> NDArray[np.float64]:
        """Return the numbers of some rows at a step: steps come in order, and a row that is left out stays out."""
        column = step % BLOCK
        if not column:
            for row in rows.tolist():
                self._block[row] = self._generators[row].random(BLOCK)
        found: NDArray[np.float64] = self._block[rows, column]
        return found


def pick(
    head: Callable[[torch.Tensor], torch.Tensor], states: torch.Tensor, uniform: NDArray[np.float64], vocab: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return one token for each hidden state, and its log-probability in nats: [n], [n].

    A token is found where the cumulated probabilities, in float64 where the device has it, first exceed the row's
    number: one of probability 0 never is.

    Args:
        head: hidden states [n, width] -> float32 logits [n, V].
        states: [n, width].
        uniform: [n], in [0, 1).
        vocab: V.

    """
    wide = torch.float32 if states.device.type == "mps" else torch.float64
    given = torch.from_numpy(uniform).to(dtype=wide).to(states.device)
    size = max(1, ENTRIES // vocab)
    parts = zip(states.split(size), given.split(size), strict=True)
    found = [_pick(head(some), numbers) for some, numbers in parts]
    tokens, logprobs = (torch.cat(part).cpu().numpy() for part in zip(*found, strict=True))
    return tokens, logprobs


def _pick(logits: torch.Tensor, given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    logprobs = torch.log_softmax(logits, dim=-1)
    chances = logprobs.to(given.dtype).exp_()
    above = chances.cumsum(-1)
    target = given[:, None] * above[:, -1:]
    tokens = torch.searchsorted(above, target, right=True).clamp_(max=logits.shape[-1] - 1)
    # rounding in a cumulated sum may land beside the row's end, or where a parallel sum is not quite monotone
    possible = chances.gather(-1, tokens) > 0
    if not possible.all():
        tokens = torch.where(possible, tokens, logits.argmax(-1, keepdim=True))
    return tokens[:, 0], logprobs.gather(-1, tokens)[:, 0]
