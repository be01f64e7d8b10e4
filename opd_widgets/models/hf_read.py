"""Sequences through a backbone: in pieces where they are long, and a prefix they share only once."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from opd_widgets.models.hf_fill import filled_left, filled_right
from opd_widgets.models.hf_prefix import (
    Past,
    Prefixes,
    cache_argument,
    cache_of,
    common,
    depends_on_length,
    layers_to_share,
    past_of,
)
from opd_widgets.models.hf_weights import evaluating, fingerprint, rounding
from opd_widgets.models.memory import is_out_of_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids, Padding

SHARED = 256  # tokens that sharing a prefix must save; below, two forward passes cost more than one longer
LEAST = 16  # tokens worth going on from
PIECE = 8192  # tokens of a row read in one go
MASK = 2**24  # entries of the mask of one piece, [piece, tokens so far]
SMALLEST = 64  # tokens; memory that does not do for these does for nothing
_PROBE = 8


class Reader:
    """Hidden states of a causal backbone.

    Args:
        backbone: a decoder of transformers.
        budget: bytes that kept prefixes may take.

    """

    def __init__(self, backbone: Any, budget: int) -> None:
        self.backbone = backbone
        self.argument = cache_argument(backbone)
        self._most = math.inf  # tokens of one forward pass, lowered where memory ran out
        self._lock = threading.RLock()  # live scoring reads in its worker while a cell may score
        self._weights: tuple[float, ...] = ()
        self.prefixes = Prefixes(budget)
        self.edited = Prefixes(budget)  # apart: what is kept of edits was read in other goes, and rounds otherwise

    @torch.no_grad()
    def read(
        self, sequences: Sequence[Ids], positions: Sequence[NDArray[np.integer]], padding: Padding, *, extend: bool
    ) -> torch.Tensor:
        """Return the last hidden states at the asked positions: [sum of positions, width], sequence by sequence.

        Where memory runs out, half as much is read at a time from then on.

        Args:
            sequences: int [L] each.
            positions: rising places in each sequence.
            padding: the side on which shorter sequences are filled up; left only where the mask that takes is small.
            extend: go on from the longest prefix read before, where otherwise only an equal one is used again, so that
                the numbers do not depend on what was read earlier; and keep this one.

        """
        with self.turn():
            weights = fingerprint(self.backbone)
            if weights != self._weights:
                self._forget()
                self._weights = weights
            if self._by_length and len(sequences) > 1:
                pairs = zip(sequences, positions, strict=True)
                return torch.cat([self._fitting([ids], [at], padding, extend=extend) for ids, at in pairs])
            return self._fitting(sequences, positions, padding, extend=extend)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Have the backbone to oneself for a while, without dropout or a trainer's mixed precision."""
        with self._lock, evaluating(self.backbone):
            yield

    def release(self) -> None:
        """Give up what is kept of prompts, but for those being edited."""
        with self._lock:
            self.prefixes.clear()

    def _forget(self) -> None:
        self.prefixes.clear()
        self.edited.clear()

    def _fitting(
        self, sequences: Sequence[Ids], positions: Sequence[NDArray[np.integer]], padding: Padding, *, extend: bool
    ) -> torch.Tensor:
        """Read; where memory runs out, half as much at a time from then on."""
        while True:
            size = len(sequences) * max(len(ids) for ids in sequences)
            if size > self._most and len(sequences) > 1:
                half = len(sequences) // 2
                parts = [
                    self._fitting(sequences[here], positions[here], padding, extend=extend)
                    for here in (slice(half), slice(half, None))
                ]
                return torch.cat(parts)
            try:
                return self._read(sequences, positions, padding, extend=extend)
            except Exception as error:
                if not is_out_of_memory(error) or min(size, self._most) <= SMALLEST:
                    raise
            self._most = max(SMALLEST, min(size, self._most) // 2)
            self._forget()

    def _read(
        self, sequences: Sequence[Ids], positions: Sequence[NDArray[np.integer]], padding: Padding, *, extend: bool
    ) -> torch.Tensor:
        longest = max(len(ids) for ids in sequences)
        if padding == "left" and len(sequences) > 1 and len(sequences) * longest**2 <= MASK:
            return self._read_left(sequences, positions)
        first = min(int(at[0]) for at in positions)
        past, keep = self._past(sequences, first, extend=extend)
        start = 0 if past is None else len(past)
        rest = [ids[start:] for ids in sequences]
        rows, columns = _places(positions, -start)
        states, cache = self.through(filled_right(rest), past, rows, columns, keep=keep > 0)
        if keep:
            self.edited.put(past_of(cache, np.array(sequences[0][:keep], np.int32)))
        return states

    def _past(self, sequences: Sequence[Ids], first: int, *, extend: bool) -> tuple[Past | None, int]:
        """Return what all sequences go on from, and how many tokens of the only one to keep for later.

        Args:
            sequences: to be read.
            first: the first position asked about in any; what comes before it need not be read again.
            extend: see `read`.

        """
        shared = min([first, *(common(sequences[0], ids) for ids in sequences[1:])])
        saved = shared * (len(sequences) - 1)
        if shared < LEAST or not self.shares or not (extend or saved >= SHARED):
            return None, 0
        prefix = sequences[0][:shared]
        past = self.edited.longest(prefix, LEAST) if extend else self.prefixes.get(prefix)
        if len(sequences) == 1:
            return past, 0 if past is not None and len(past) == shared else shared
        if past is None or len(past) < shared:
            start = 0 if past is None else len(past)
            none = np.zeros(0, np.int64)
            _, cache = self.through(filled_right([prefix[start:]]), past, none, none, keep=True)
            past = past_of(cache, np.array(prefix, np.int32))
            (self.edited if extend else self.prefixes).put(past)
        return past, 0

    def through(
        self,
        tokens: torch.Tensor,
        past: Past | None,
        rows: NDArray[np.integer],
        columns: NDArray[np.integer],
        *,
        keep: bool,
    ) -> tuple[torch.Tensor, Any]:
        """Read tokens [B, L] after `past`; return the states at (row, column) in their order, and the cache."""
        count, length = tokens.shape
        size = self._piece(count, length, 0 if past is None else len(past))
        keep = keep or size < length
        cache = cache_of(past, self.layers, keep=keep) if keep or past is not None else None
        given = {} if cache is None else {self.argument: cache}
        picked: torch.Tensor | None = None
        for start in range(0, length, size):
            piece = tokens[:, start : start + size].to(self._device)
            states = self.backbone(input_ids=piece, use_cache=cache is not None, **given).last_hidden_state
            here = np.flatnonzero((columns >= start) & (columns < start + size))
            if picked is None:
                picked = states.new_empty(len(columns), states.shape[-1])
            at = (torch.from_numpy(index).to(self._device) for index in (rows[here], columns[here] - start))
            picked[torch.from_numpy(here).to(self._device)] = states[tuple(at)]
        if picked is None:
            msg = "nothing to read"
            raise ValueError(msg)
        return picked, cache

    def _read_left(self, sequences: Sequence[Ids], positions: Sequence[NDArray[np.integer]]) -> torch.Tensor:
        """Read sequences filled up on the left, which takes a mask: what comes after a filling sees it."""
        tokens, attended = filled_left(sequences)
        place = (attended.cumsum(-1) - 1).clamp(min=0)
        same = bool(attended.all())
        states = self.backbone(
            input_ids=tokens.to(self._device),
            attention_mask=None if same else attended.to(self._device),
            position_ids=None if same else place.to(self._device),  # given without need, they make a mask [L, L]
            use_cache=False,
        ).last_hidden_state
        filled = [tokens.shape[1] - len(ids) for ids in sequences]
        rows, columns = _places([np.asarray(at) + by for at, by in zip(positions, filled, strict=True)], 0)
        picked: torch.Tensor = states[
            torch.from_numpy(rows).to(self._device), torch.from_numpy(columns).to(self._device)
        ]
        return picked

    def _piece(self, count: int, length: int, past: int) -> int:
        """Return how many tokens of each row to read in one go."""
        most = min(PIECE, self._most / count)
        if not self.shares or length <= most:
            return length
        return int(max(SMALLEST, min(most, MASK / (past + length))))

    @cached_property
    def layers(self) -> int:
        """Number of layers whose past can be shared; 0 where the architecture does not allow it."""
        return 0 if self._by_length else layers_to_share(self.backbone)

    @cached_property
    def _by_length(self) -> bool:
        """Whether a token's position is encoded by the length of the whole pass: then each row is read by itself."""
        return depends_on_length(self.backbone.config.get_text_config())

    @cached_property
    @torch.no_grad()
    def shares(self) -> bool:
        """Whether reading in two goes gives what reading in one gives, tried once on a few tokens."""
        if not self.layers:
            return False
        size = min(2 * _PROBE, int(self.backbone.get_input_embeddings().weight.shape[0]))
        tokens = torch.arange(size, device=self._device)[None]
        half = size // 2
        try:
            whole = self.backbone(input_ids=tokens, use_cache=False).last_hidden_state[0, half:]
            cache = cache_of(None, self.layers, keep=True)
            for part in (tokens[:, :half], tokens[:, half:]):
                states = self.backbone(input_ids=part, use_cache=True, **{self.argument: cache}).last_hidden_state
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            return False  # an architecture whose cache is of another kind: read whole, then
        scale = max(1.0, float(whole.abs().max()))
        return bool(float((whole - states[0]).abs().max()) / scale <= rounding(self.backbone))

    @property
    def _device(self) -> torch.device:
        return self.backbone.device  # type: ignore[no-any-return]


def _places(positions: Sequence[NDArray[np.integer]], by: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = np.concatenate([np.full(len(at), row, np.int64) for row, at in enumerate(positions)])
    return rows, np.concatenate([np.asarray(at, np.int64) + by for at in positions])
