"""Sequences that grow token by token: with keys and values kept, or read anew each time where a model keeps none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

from opd_widgets.models.hf_fill import filled_right
from opd_widgets.models.hf_prefix import Past, common, past_of
from opd_widgets.models.hf_read import LEAST, SHARED, Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids

READ = 8192  # padded tokens of prompts read in one go
ROOM = 64  # columns made at a time for tokens to come: most rows end long before their limit


class Rows(Protocol):
    """Rows that go on. States are those of each row's last token: [B, width]."""

    def start(self) -> torch.Tensor:
        """Read the prompts."""

    def go_on(self, tokens: NDArray[np.int64]) -> torch.Tensor:
        """Read one more token of each row."""

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Go on with these rows alone, by their places."""


class GrowingLayer(DynamicLayer):
    """One layer's keys and values of rows that end in the same column, with room for columns to come.

    A sliding window is no matter here: all keys are there, and the model's own mask hides those too far back.

    Args:
        rows: B.
        length: columns of the prompts.
        like: keys and values [., heads, ., size] of that layer.

    """

    def __init__(self, rows: int, length: int, like: tuple[torch.Tensor, torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # transformers annotates it not
        # zeros: a masked column still enters a product, and 0 times what stands in unused memory may be NaN
        self._whole = [part.new_zeros(rows, part.shape[1], length + ROOM, part.shape[3]) for part in like]
        self.device, self.dtype = like[0].device, like[0].dtype
        self._show(length)
        self.is_initialized = True

    def put(self, rows: slice, columns: slice, given: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Write keys and values [n, heads, columns, size] of some rows."""
        for whole, part in zip(self._whole, given, strict=True):
            whole[rows, :, columns] = part

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add columns, and return the keys and values of all so far."""
        used, more = self._used, key_states.shape[-2]
        if used + more > self._whole[0].shape[2]:
            self._whole = [_wider(part, more + max(ROOM, used // 2)) for part in self._whole]
        self.put(slice(None), slice(used, used + more), (key_states, value_states))
        self._show(used + more)
        return self._keys_values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Go on with these rows alone."""
        self._whole = [part.index_select(0, indices.to(part.device)) for part in self._whole]
        self._show(self._used)

    def _show(self, used: int) -> None:
        self._used = used
        self._keys_values = (self._whole[0][:, :, :used], self._whole[1][:, :, :used])
        self.keys, self.values = self._keys_values


class CachedRows:
    """Rows whose keys and values are kept.

    Every prompt is read once however many rows it has, and what all have in common once for all. While they are read
    they are filled up on the right, which takes no mask; then each row's keys and values are moved up to one column, so
    that all go on from there, and what stands before a shorter row is masked.

    Args:
        reader: of the backbone.
        prompts: int [P] each, shorter ones first and equal ones together.

    """

    def __init__(self, reader: Reader, prompts: Sequence[Ids]) -> None:
        self._reader = reader
        places: dict[bytes, int] = {}
        self._which = np.array([places.setdefault(_key(ids), len(places)) for ids in prompts])
        self._distinct = [prompts[int(row)] for row in np.unique(self._which, return_index=True)[1]]
        self._lengths = np.array([len(ids) for ids in prompts])
        self._columns = int(self._lengths.max())
        self._layers: list[GrowingLayer] = []

    def start(self) -> torch.Tensor:
        """Read the prompts."""
        past = self._shared()
        start = 0 if past is None else len(past)
        states = []
        for part in _groups(self._distinct):
            rest = [ids[start:] for ids in self._distinct[part]]
            last = np.array([len(ids) - 1 for ids in rest])
            found, cache = self._reader.through(filled_right(rest), past, np.arange(len(rest)), last, keep=True)
            states.append(found)
            self._spread(cache, part)
        device = states[0].device
        self._cache = Cache(layers=list(self._layers))
        self._positions = torch.from_numpy(self._lengths).to(device)
        filled = self._columns - self._lengths
        seen = np.arange(self._columns + ROOM) >= filled[:, None]
        self._seen = torch.from_numpy(seen).to(device) if filled.any() else None
        return torch.cat(states).index_select(0, torch.from_numpy(self._which).to(device))

    def go_on(self, tokens: NDArray[np.int64]) -> torch.Tensor:
        """Read one more token of each row."""
        self._columns += 1
        if self._seen is not None and self._columns > self._seen.shape[1]:
            more = self._seen.new_ones(len(self._seen), max(ROOM, self._columns // 2))
            self._seen = torch.cat([self._seen, more], dim=1)
        device = self._positions.device
        states = self._reader.backbone(
            input_ids=torch.from_numpy(tokens).to(device)[:, None],
            attention_mask=None if self._seen is None else self._seen[:, : self._columns],
            position_ids=self._positions[:, None],
            use_cache=True,
            **{self._reader.argument: self._cache},
        ).last_hidden_state[:, -1]
        self._positions = self._positions + 1
        return states  # type: ignore[no-any-return]

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Go on with these rows alone, by their places."""
        chosen = torch.from_numpy(rows).to(self._positions.device)
        for layer in self._layers:
            layer.batch_select_indices(chosen)
        self._positions = self._positions[chosen]
        self._seen = None if self._seen is None else self._seen[chosen]

    @property
    def nbytes(self) -> int:
        """Bytes that keys and values of one column of one row take."""
        pairs = [part for layer in self._layers for part in (layer.keys, layer.values) if part is not None]
        return sum(part.shape[1] * part.shape[3] * part.element_size() for part in pairs)

    def _shared(self) -> Past | None:
        """Return what has been read of the tokens that all prompts begin with; at least one of each is left."""
        first = self._distinct[0]
        n = min([len(first) - 1, *(common(first, ids) for ids in self._distinct[1:])])
        if n < LEAST or n * (len(self._distinct) - 1) < SHARED:
            return None
        none = np.zeros(0, np.int64)
        _, cache = self._reader.through(filled_right([first[:n]]), None, none, none, keep=True)
        return past_of(cache, np.array(first[:n], np.int32))

    def _spread(self, cache: Cache, part: slice) -> None:
        """Move what was read of some distinct prompts to the rows that begin with them."""
        read = [(layer.keys, layer.values) for layer in cache.layers if isinstance(layer, DynamicLayer)]
        pairs = [(keys, values) for keys, values in read if keys is not None and values is not None]
        if not self._layers:
            self._layers = [GrowingLayer(len(self._which), self._columns, pair) for pair in pairs]
        low, high = np.searchsorted(self._which, [part.start, part.stop]).tolist()
        for rows in _equal(self._lengths, low, high):
            length = int(self._lengths[rows.start])
            source = torch.from_numpy(self._which[rows] - part.start)
            for layer, pair in zip(self._layers, pairs, strict=True):
                here = tuple(one.index_select(0, source.to(one.device))[:, :, :length] for one in pair)
                layer.put(rows, slice(self._columns - length, self._columns), (here[0], here[1]))


class RereadRows:
    """Rows read anew from their beginning for every token: slow, and right whatever the architecture keeps.

    Args:
        reader: of the backbone.
        prompts: int [P] each.

    """

    def __init__(self, reader: Reader, prompts: Sequence[Ids]) -> None:
        self._reader, self._sequences = reader, [np.asarray(ids, np.int32) for ids in prompts]

    def start(self) -> torch.Tensor:
        """Read the prompts."""
        states = []
        for part in _groups(self._sequences):
            last = [np.array([len(ids) - 1]) for ids in self._sequences[part]]
            states.append(self._reader.read(self._sequences[part], last, "right", extend=False))
        return torch.cat(states)

    def go_on(self, tokens: NDArray[np.int64]) -> torch.Tensor:
        """Read one more token of each row."""
        pairs = zip(self._sequences, tokens, strict=True)
        self._sequences = [np.append(ids, np.int32(token)) for ids, token in pairs]
        return self.start()

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Go on with these rows alone, by their places."""
        self._sequences = [self._sequences[row] for row in rows.tolist()]


def _key(ids: Ids) -> bytes:
    return np.ascontiguousarray(ids, np.int32).tobytes()


def _groups(sequences: Sequence[Ids]) -> Iterator[slice]:
    """Yield neighbours that are read in one go, some `READ` padded tokens of them."""
    start, longest = 0, 0
    for end, ids in enumerate(sequences):
        longest = max(longest, len(ids))
        if end > start and (end + 1 - start) * longest > READ:
            yield slice(start, end)
            start, longest = end, len(ids)
    yield slice(start, len(sequences))


def _equal(lengths: NDArray[np.int64], low: int, high: int) -> Iterator[slice]:
    """Yield neighbours of one length among the rows from `low` to `high`."""
    ends = [low, *(low + 1 + np.flatnonzero(np.diff(lengths[low:high]))).tolist(), high]
    yield from itertools.starmap(slice, itertools.pairwise(ends))


def _wider(part: torch.Tensor, more: int) -> torch.Tensor:
    """Return keys or values with as many columns more."""
    return torch.cat([part, part.new_empty(*part.shape[:2], more, part.shape[3])], dim=2)
