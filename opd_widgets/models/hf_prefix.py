"""Keys and values of prompts: what many rollouts have in common is read once."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids


@dataclass(frozen=True, eq=False)
class Past:
    """What a model has read: its ids, and keys and values by layer.

    Args:
        ids: int32 [P].
        layers: (keys, values) of each layer, [1, heads, P, size].

    """

    ids: Ids
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    def __len__(self) -> int:
        """Return the number of tokens read."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes its keys and values take."""
        return sum(tensor.numel() * tensor.element_size() for layer in self.layers for tensor in layer)

    def first(self, n: int) -> Past:
        """Return the first n tokens of it, without a copy."""
        if n >= len(self):
            return self
        return Past(self.ids[:n], tuple((keys[:, :, :n], values[:, :, :n]) for keys, values in self.layers))


class Layer(DynamicLayer):
    """One layer's past before what comes; what comes is kept only where it is asked for.

    The past has one row and serves every row of a batch. A sliding window is no matter here: all keys are there, and
    the model's own mask hides those too far back.
    """

    def __init__(self, past: tuple[torch.Tensor, torch.Tensor] | None, *, keep: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # transformers annotates it not
        self._keep = keep
        if past is not None:
            self.keys, self.values = past
            self.device, self.dtype = self.keys.device, self.keys.dtype
            self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the keys and values to attend to: the past's and the new ones."""
        keys, values = key_states, value_states
        if self.keys is not None and self.values is not None:
            rows = (key_states.shape[0], -1, -1, -1)
            keys = torch.cat([self.keys.expand(rows), key_states], dim=-2)
            values = torch.cat([self.values.expand(rows), value_states], dim=-2)
        if self._keep:
            self.keys, self.values = keys, values
            self.device, self.dtype = keys.device, keys.dtype
            self.is_initialized = True
        return keys, values


def cache_of(past: Past | None, layers: int, *, keep: bool) -> Cache:
    """Return a cache for a forward pass that goes on from `past`."""
    return Cache(layers=[Layer(None if past is None else past.layers[i], keep=keep) for i in range(layers)])


def past_of(cache: Cache, ids: Ids) -> Past:
    """Return what a cache that kept everything holds of the first of its tokens."""
    n = len(ids)
    held = [
        (layer.keys, layer.values)
        for layer in cache.layers
        if isinstance(layer, Layer) and layer.keys is not None and layer.values is not None
    ]
    # copies: a slice would keep the rest of the sequence alive
    return Past(ids, tuple((keys[:1, :, :n].clone(), values[:1, :, :n].clone()) for keys, values in held))


def layers_to_share(backbone: Any) -> int:
    """Return the number of layers whose past can be cut and shared; 0 where the architecture has others.

    A recurrent state is not one entry a token, and layers that borrow another's keys have none of their own.
    """
    kinds = (DynamicLayer, DynamicSlidingWindowLayer)
    try:
        layers = DynamicCache(config=backbone.config).layers
    except (AttributeError, KeyError, TypeError, ValueError):
        return 0
    return len(layers) if layers and all(type(layer) in kinds for layer in layers) else 0


def depends_on_length(config: Any) -> bool:
    """Return whether rotary positions are scaled by the longest position of a forward pass, as in Phi-3's long models.

    A prefix read by itself, a piece, or a shorter row of a batch would then be encoded otherwise than alone.
    """
    found = [getattr(config, name, None) for name in ("rope_parameters", "rope_scaling")]
    while found:
        value = found.pop()
        if isinstance(value, Mapping):
            if str(value.get("rope_type", value.get("type", ""))) in {"longrope", "dynamic", "su"}:
                return True
            found += value.values()
    return False


def cache_argument(backbone: Any) -> str:
    """Return what the backbone's forward calls its cache: transformers renamed it in 5.24."""
    return "cache" if "cache" in inspect.signature(backbone.forward).parameters else "past_key_values"


class Prefixes:
    """Pasts that may come again, the least recently used given up first.

    Args:
        budget: bytes all of them may take.

    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._kept: OrderedDict[bytes, Past] = OrderedDict()

    def get(self, ids: Ids) -> Past | None:
        """Return the past of exactly these ids."""
        key = _key(ids)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        return None

    def longest(self, ids: Ids, least: int) -> Past | None:
        """Return the past of as many of the first ids as any one covers; None below `least`."""
        best = max(self._kept.values(), key=lambda past: common(past.ids, ids), default=None)
        n = 0 if best is None else common(best.ids, ids)
        if best is None or n < least:
            return None
        self._kept.move_to_end(_key(best.ids))
        return best.first(n)

    def put(self, past: Past) -> None:
        """Keep a past, if it fits."""
        if past.nbytes > self.budget:
            return
        self._kept[_key(past.ids)] = past
        self._kept.move_to_end(_key(past.ids))
        while self._kept and sum(each.nbytes for each in self._kept.values()) > self.budget:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Give all up."""
        self._kept.clear()


def common(first: Ids, second: Ids) -> int:
    """Return how many ids two sequences have in common from their start."""
    n = min(len(first), len(second))
    apart = np.flatnonzero(first[:n] != second[:n])
    return int(apart[0]) if apart.size else n


def _key(ids: Ids) -> bytes:
    return np.ascontiguousarray(ids, np.int32).tobytes()
