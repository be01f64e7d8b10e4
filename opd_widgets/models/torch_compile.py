"""PyTorch's compiler for functions over the array API."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import array_api_compat.torch as xp
import torch


@lru_cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of (array library, arrays) for torch's tensors, its operations in as few passes as may be.

    The first call takes seconds, or tens of them. On a GPU it needs Triton, on a CPU a C++ compiler.
    """
    made: Callable[..., Any] = torch.compile(partial(function, xp), dynamic=True)
    return made
