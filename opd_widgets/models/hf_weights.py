"""A model's weights and mode, as they are now: a model that is being trained changes under its reader's hands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_SAMPLED, _ENTRIES = 8, 16
_ROUNDING, _ROUNDING_HALF = 1e-3, 0.05


def rounding(model: Any) -> float:
    """Return how far two ways to the same numbers may be apart, relative to the largest, in a model's precision."""
    return _ROUNDING if model.dtype == torch.float32 else _ROUNDING_HALF


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Turn dropout and a trainer's mixed precision off for a while, and leave every part in the mode it was in."""
    training = [part for part in model.modules() if part.training] if model.training else []
    if training:
        model.eval()
    try:
        with torch.autocast(model.device.type, enabled=False):
            yield
    finally:
        for part in training:
            part.training = True


@torch.no_grad()
def fingerprint(model: Any) -> tuple[float, ...]:
    """Return numbers that change when the weights do: how often they were written to, and a few of their entries.

    The entries tell of writes that are not counted, such as those through `.data`.
    """
    weights = [weight for weight in model.parameters() if weight.device.type != "meta"]  # not those kept elsewhere
    some = weights[:: max(1, len(weights) // _SAMPLED)]
    entries = (float(weight.flatten()[:_ENTRIES].double().sum()) for weight in some)
    writes = sum(weight._version for weight in weights)  # noqa: SLF001 - PyTorch's own count; it has no other name
    return (float(writes), *entries)
