"""Pictures of a view as files that stay small."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

COLOURS = 256
# A view has few colours: flat grounds, kept as they are, and type that is smoothed between two of them.
KEPT = 128


def write_small(png: bytes, path: Path) -> Path:
    """Write a screenshot with a palette of its own: its most frequent colours, and those that cover the rest best."""
    with Image.open(io.BytesIO(png)) as file:
        shot = file.convert("RGB")
    counted = sorted(shot.getcolors(shot.width * shot.height) or [], reverse=True)
    frequent = [colour for _, colour in counted[:KEPT] if isinstance(colour, tuple)]
    rest = shot.quantize(COLOURS - len(frequent), Image.Quantize.FASTOCTREE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(channel for colour in frequent for channel in colour), *rest])
    small = shot.quantize(palette=palette, dither=Image.Dither.NONE)
    path.parent.mkdir(parents=True, exist_ok=True)
    small.save(path, optimize=True)
    return path
