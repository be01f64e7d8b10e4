"""One continuation of each of many prompts, each row by a seed of its own: what stands beside it changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from opd_widgets.errors import ModelLoadError
from opd_widgets.models.hf_pick import Uniforms, pick
from opd_widgets.models.hf_read import Reader
from opd_widgets.models.hf_rows import CachedRows, RereadRows, Rows
from opd_widgets.models.hf_weights import rounding
from opd_widgets.models.memory import is_out_of_memory
from opd_widgets.models.protocol import Generation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids

ROWS = 1024  # of a batch
CACHE = 2**30  # bytes of keys and values of a batch, where the device does not say what is free
SHARE = 0.4  # of a GPU's free memory for them
REREAD = 2**15  # padded tokens of a batch that is read anew each time
DROPPED = 0.25  # of a batch has ended: the others go on without it


@dataclass(frozen=True, eq=False)
class Row:
    """One continuation to draw.

    Args:
        place: in what was asked.
        prompt: int [P].
        seed: of this row.
        most: new tokens.

    """

    place: int
    prompt: Ids
    seed: int
    most: int

    @property
    def longest(self) -> int:
        """Tokens it may come to."""
        return len(self.prompt) + self.most


class Continuer:
    """Draws continuations from a local model.

    Args:
        reader: of its backbone.
        head: hidden states [n, width] -> float32 logits [n, V].
        vocab: V.
        name: what messages call the model.

    """

    def __init__(self, reader: Reader, head: Callable[[torch.Tensor], torch.Tensor], vocab: int, name: str) -> None:
        self._reader, self._head, self._vocab, self._name = reader, head, vocab, name
        self._most = math.inf  # padded tokens of a batch, lowered where memory ran out

    @torch.no_grad()
    def draw(self, rows: Sequence[Row], ends: frozenset[int]) -> list[Generation]:
        """Return the rows' continuations, by place. Where memory runs out, half as much is drawn at a time.

        Args:
            rows: at least one; places from 0 on.
            ends: ids that end a row.

        """
        # neighbours in length need little filling, and those of one prompt share its keys
        waiting = sorted(rows, key=lambda row: (len(row.prompt), row.prompt.tobytes(), row.most))
        drawn: dict[int, Generation] = {}
        while waiting:
            batch = waiting[: self._fit(waiting)]
            size = len(batch) * max(row.longest for row in batch)
            try:
                drawn.update(self._draw(batch, ends))
            except Exception as error:
                if not is_out_of_memory(error) or len(batch) == 1:
                    raise
                self._most = size // 2
                continue
            waiting = waiting[len(batch) :]
        return [drawn[place] for place in range(len(rows))]

    def _fit(self, waiting: Sequence[Row]) -> int:
        """Return how many of the next rows go together."""
        most, longest = min(self._most, self._tokens()), 0
        for count, row in enumerate(waiting[:ROWS]):
            longest = max(longest, row.longest)
            if count and (count + 1) * longest > most:
                return count
        return min(ROWS, len(waiting))

    def _tokens(self) -> float:
        """Return how many padded tokens a batch may come to."""
        if not self._bytes:
            return REREAD
        device = self._reader.backbone.device
        if device.type != "cuda":
            return CACHE / self._bytes
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # PyTorch keeps it at hand
        return SHARE * (torch.cuda.mem_get_info(device)[0] + unused) / self._bytes

    def _draw(self, batch: Sequence[Row], ends: frozenset[int]) -> Iterator[tuple[int, Generation]]:
        kind = CachedRows if self._bytes else RereadRows
        rows: Rows = kind(self._reader, [row.prompt for row in batch])
        uniforms, most = Uniforms([row.seed for row in batch]), np.array([row.most for row in batch])
        here = np.arange(len(batch))  # what rows are in the batch still, ended ones among them
        live = np.ones(len(batch), bool)
        steps: list[tuple[NDArray[Any], ...]] = []
        tokens = np.zeros(0, np.int64)
        for step in range(int(most.max())):
            with self._reader.turn():  # for one token, so that a live view has its turn
                states = rows.go_on(tokens) if step else rows.start()
                tokens, logprobs = pick(self._head, states, uniforms.at(here, step), self._vocab)
            self._check(logprobs[live])
            steps.append((here[live], tokens[live], logprobs[live]))
            live &= ~np.isin(tokens, list(ends)) & (step + 1 < most[here])
            if not live.any():
                break
            if live.mean() <= 1 - DROPPED:
                going = np.flatnonzero(live)
                rows.keep(going)
                here, tokens, live = here[going], tokens[going], live[going]
        for row, (ids, logp) in zip(batch, _by_row(steps, len(batch)), strict=True):
            yield row.place, Generation(ids, stopped=int(ids[-1]) in ends, logprobs=logp)

    def _check(self, logprobs: NDArray[np.float32]) -> None:
        if np.isnan(logprobs).any():
            dtype = str(self._reader.backbone.dtype).removeprefix("torch.")
            msg = f"{self._name!r} gives NaN in {dtype} while it goes on from a prompt; load it with dtype='float32'"
            raise ModelLoadError(msg)

    @cached_property
    @torch.no_grad()
    def _bytes(self) -> int:
        """Bytes of keys and values a token, where rows that go on with them are what they are when read whole; else 0.

        Tried once on two short rows of unlike length: an architecture may take no mask, or place tokens otherwise.
        """
        if not self._reader.shares:
            return 0
        ids = np.arange(12, dtype=np.int32) % self._vocab
        prompts, tokens = [ids[:3], ids[:8]], ids[8:].astype(np.int64)
        cached = CachedRows(self._reader, prompts)
        try:
            with self._reader.turn():
                cached.start()
                for token in tokens:
                    states = cached.go_on(np.array([token, token]))
                whole = RereadRows(self._reader, [np.append(prompt, ids[8:]) for prompt in prompts]).start()
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            return 0
        scale = max(1.0, float(whole.abs().max()))
        return cached.nbytes if float((whole - states).abs().max()) / scale <= rounding(self._reader.backbone) else 0


def _by_row(
    steps: Sequence[tuple[NDArray[Any], ...]], count: int
) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Return ids and log-probabilities by row, of what came step by step."""
    rows, tokens, logprobs = (np.concatenate(part) for part in zip(*steps, strict=True))
    order = np.argsort(rows, kind="stable")
    cuts = np.cumsum(np.bincount(rows, minlength=count))[:-1]
    parts = (np.split(values[order], cuts) for values in (tokens.astype(np.int32), logprobs.astype(np.float32)))
    return list(zip(*parts, strict=True))
