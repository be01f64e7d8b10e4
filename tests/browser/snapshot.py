"""Two pictures of one view compared: what differs, robust to how edges are smoothed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

# A pixel differs where some channel is further than this, of 255, from all nine around its place in the other picture.
DISTANCE = 16
# Pictures differ where this share of their pixels does. One figure of 13 px type is about a tenth of it.
SHARE = 0.0004


def pixels(png: bytes | Path) -> NDArray[np.int16]:
    """Return a picture as numbers, int16 [H, W, 3]."""
    with Image.open(io.BytesIO(png) if isinstance(png, bytes) else png) as image:
        return np.asarray(image.convert("RGB"), np.int16)


def differing(one: NDArray[np.int16], other: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Return which pixels differ, bool [H, W] of the larger height and width; what one of them lacks differs."""
    height, width = np.maximum(one.shape, other.shape)[:2]
    low = tuple(np.minimum(one.shape, other.shape)[:2])
    found = np.ones((height, width), bool)
    one, other = one[: low[0], : low[1]], other[: low[0], : low[1]]
    # an edge may be smoothed otherwise: each pixel may be found beside its place, in either picture
    found[: low[0], : low[1]] = _alone(one, other) & _alone(other, one)
    return found


def _alone(one: NDArray[np.int16], other: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Return where a pixel is like none of the nine around its place in the other picture."""
    height, width = one.shape[:2]
    around = np.pad(other, ((1, 1), (1, 1), (0, 0)), mode="edge")
    alone = np.ones((height, width), bool)
    for dy in range(3):
        for dx in range(3):
            there = around[dy : dy + height, dx : dx + width]
            alone &= np.abs(one - there).max(axis=-1) > DISTANCE
    return alone


def marked(seen: NDArray[np.int16], found: NDArray[np.bool_]) -> bytes:
    """Return a picture of what was seen, pale, with what differs in red; PNG."""
    shown = np.full((*found.shape, 3), 255, np.uint8)
    shown[: seen.shape[0], : seen.shape[1]] = 170 + seen // 3
    shown[found] = (220, 0, 0)
    file = io.BytesIO()
    Image.fromarray(shown).save(file, "PNG")
    return file.getvalue()
