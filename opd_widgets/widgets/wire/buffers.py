"""Arrays as the front end takes them: little-endian bytes, since JSON would turn NaN and infinities into strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNUSED = 0xFFFFFFFF  # an id that is not known, or an unused column


def floats(array: NDArray[Any]) -> bytes:
    """Return an array as little-endian float32."""
    return np.ascontiguousarray(array, dtype="<f4").tobytes()


def unsigned(array: NDArray[Any]) -> bytes:
    """Return ids as little-endian uint32, -1 as the mark for an unused column."""
    return np.where(array < 0, UNUSED, array).astype("<u4").tobytes()


def in_place(array: NDArray[Any]) -> memoryview:
    """Return the bytes of a contiguous array without a copy: values of a large run are hundreds of megabytes."""
    return array.reshape(-1).view(np.uint8).data
