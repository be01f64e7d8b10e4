"""Pictures of a view as files that stay small."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = 256
# A view has few colours: flat grounds, kept as they are, and type that is smoothed between two of them.
KEPT = 128


def write_small(png: bytes, path: Path) -> Path:
    """Write a screenshot with a palette of its own: its most frequent colours, and those that cover the rest best."""
    with Image.open(io.BytesIO(png)) as file:
        shot = file.convert("RGB")
    colours, cells, counts = np.unique(np.asarray(shot).reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    frequent = colours[np.argsort(-counts)[:KEPT]]
    rest = shot.quantize(COLOURS - KEPT, Image.Quantize.FASTOCTREE).getpalette() or []
    palette = np.concatenate([frequent, np.array(rest, np.uint8).reshape(-1, 3)])
    far = np.abs(colours[:, None].astype(np.int16) - palette.astype(np.int16)).sum(axis=-1)
    nearest = far.argmin(axis=1).astype(np.uint8)
    small = Image.fromarray(nearest[cells.reshape(shot.height, shot.width)]).convert("P")
    small.putpalette(palette.tobytes())
    path.parent.mkdir(parents=True, exist_ok=True)
    small.save(path, optimize=True)
    return path
